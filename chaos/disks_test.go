package chaos_test

import (
	"testing"
	"time"

	"runnel/chaos"
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
			tell(t, out)
			for _, f := range out.Faults {
				if f.Error != "" {
					t.Errorf("%s of %s: %s", f.Name, f.Node, f.Error)
				}
			}
			wantPassed(t, out)
		})
	}
}
