package chaos_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/chaos"
	"runnel/chaos/process"
	"runnel/chaos/report"
)

// otherServer is the name of the environment variable with the path of a server of another make, such as nats-server, for the conditions to be
// tried with as well.
const otherServer = "CHAOS_SERVER"

// condition tries a condition with the server of this module, of which nothing may be wrong then, and with another one if there is one, of
// which it tells what was found.
func condition(t *testing.T, name string) {
	t.Parallel() // mostly they wait
	o := chaos.Options{Condition: name, Rounds: conditionRounds, Fault: conditionFault, Rate: 40, Processes: 4, Seed: 1, Liveness: 20 * time.Second}
	t.Run("runnel", func(t *testing.T) {
		t.Parallel()
		o.Program = program(t)
		out := run(t, o)
		tell(t, out)
		wantPassed(t, out)
	})
	for _, always := range []bool{false, true} {
		title := "other"
		if always {
			title += ", sync always"
		}
		t.Run(title, func(t *testing.T) {
			path := os.Getenv(otherServer)
			if path == "" {
				t.Skipf("this runs with %s=PATH of a nats-server", otherServer)
			}
			p, err := process.Find(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			other := o
			other.Program, other.SyncAlways = p, always
			out := run(t, other)
			tell(t, out)
			if len(out.Faults) == 0 {
				t.Errorf("nothing was done: %v", out.NotRunnable)
			}
		})
	}
}

// wantPassed wants a campaign to have harmed the cluster and found nothing. If some of it is not runnable here the test is skipped, but only once
// what was done is judged.
func wantPassed(t *testing.T, out *report.Run) {
	t.Helper()
	if out.Verdict == report.Violated || len(out.Findings) > 0 {
		t.Errorf("got %s with %d findings after %d faults", out.Verdict, len(out.Findings), len(out.Faults))
	}
	if len(out.NotRunnable) > 0 {
		t.Skipf("not runnable here: %s: %s", out.NotRunnable[0].What, out.NotRunnable[0].Why)
	}
	if out.Verdict != report.Passed || len(out.Faults) == 0 {
		t.Errorf("got %s after %d faults", out.Verdict, len(out.Faults))
	}
}

// tell writes what came of a campaign into the log of the test.
func tell(t *testing.T, out *report.Run) {
	t.Helper()
	var text strings.Builder
	chaos.Print(&text, out)
	t.Log(text.String())
	for _, f := range out.Faults {
		t.Logf("%s of %s: %s %s", f.Name, f.Node, f.What, f.Error)
	}
}

func TestConditionForgetfulMajority(t *testing.T) { condition(t, "forgetful-majority") }
func TestConditionAllForget(t *testing.T)         { condition(t, "all-forget") }
func TestConditionDamage(t *testing.T)            { condition(t, "damage") }
func TestConditionMembership(t *testing.T)        { condition(t, "membership") }
func TestConditionDiskFails(t *testing.T)         { condition(t, "disk-fails") }

// TestFindCondition finds each by its name and its number.
func TestFindCondition(t *testing.T) {
	all := chaos.Conditions()
	if len(all) != 5 {
		t.Fatalf("there are %d conditions, want 5", len(all))
	}
	for i, c := range all {
		for _, name := range []string{c.Name, string(rune('1' + i))} {
			if got, err := chaos.FindCondition(name); err != nil || got.Name != c.Name || c.Text == "" {
				t.Errorf("%s: got %q (%q), %v", name, got.Name, got.Text, err)
			}
		}
	}
	for _, name := range []string{"0", "6", "damages", ""} {
		if _, err := chaos.FindCondition(name); err == nil || !strings.Contains(err.Error(), "forgetful-majority") {
			t.Errorf("%q: got error %v, want one with what there is", name, err)
		}
	}
}

// TestPlansOfConditions: a plan is always the same, one fault comes after the other, and there is damage of each form to each class of files.
func TestPlansOfConditions(t *testing.T) {
	damages := make(map[string]bool)
	for _, c := range chaos.Conditions() {
		plan := chaos.PlanOf(c, 3)
		if again := chaos.PlanOf(c, 3); !reflect.DeepEqual(again, plan) {
			t.Errorf("%s: got %v and %v, want the same plan", c.Name, plan, again)
		}
		var free time.Duration // when the fault before is over
		for _, s := range plan {
			if s.At < free || s.For <= 0 {
				t.Errorf("%s: %s begins at %v and lasts %v, the one before ends at %v", c.Name, s.Kind, s.At, s.For, free)
			}
			free = s.At + s.For
			for i, place := range s.Servers {
				if place < 0 || place >= c.Servers || i > 0 && place == s.Servers[i-1] {
					t.Errorf("%s: %s is done to %v of %d", c.Name, s.Kind, s.Servers, c.Servers)
				}
			}
			if s.Form != "" {
				damages[s.Kind+" "+s.Form] = true
			}
		}
		if len(plan) == 0 {
			t.Errorf("%s does nothing", c.Name)
		}
	}
	if len(damages) != 15 {
		t.Errorf("there are %d sorts of damage, want 15: %v", len(damages), damages)
	}
}
