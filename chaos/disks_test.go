package chaos_test

import (
	"strings"
	"testing"
	"time"

	"runnel/chaos"
	"runnel/chaos/report"
)

// TestDisks harms the disk of one server after the other, in each way on its own: nothing that was acknowledged is lost, and each server
// has all of it in the end.
func TestDisks(t *testing.T) {
	for _, name := range diskFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := run(t, chaos.Options{
				Program: program(t), Workloads: []string{"W1", "W3"}, Faults: []string{name}, Length: diskLength, Fault: 4 * time.Second, Quiet: 3 * time.Second,
				Rate: diskRate, Processes: 4, Seed: 3,
			})
			if len(out.NotRunnable) > 0 {
				t.Skipf("not runnable here: %s", out.NotRunnable[0].Why)
			}
			tell(t, out)
			if len(out.Faults) == 0 {
				t.Error("nothing was done")
			}
			for _, f := range out.Faults {
				switch {
				case strings.Contains(f.Error, "nothing to damage") && out.Verdict == report.Incomplete:
					t.Skipf("not runnable here: %s of %s: %s", f.Name, f.Node, f.Error)
				case f.Error != "":
					t.Errorf("%s of %s: %s", f.Name, f.Node, f.Error)
				}
			}
			if out.Verdict != report.Passed {
				t.Errorf("got %s", out.Verdict)
			}
		})
	}
}
