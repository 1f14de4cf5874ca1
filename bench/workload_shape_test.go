package bench_test

import (
	"slices"
	"testing"

	"runnel/bench"
)

// TestEveryMessageIsExpected: whatever a load's shape is, each case of the core delivers what it says that it will, and
// a second run over the same server starts from nothing: no subscription, no message of the first is left.
func TestEveryMessageIsExpected(t *testing.T) {
	for _, scenario := range bench.Core().Scenarios() {
		if slices.Contains([]string{"sub", "connections", "paced"}, scenario.Name) {
			continue // which need another one, or publish nothing, or take their time
		}
		t.Run(scenario.Name, func(t *testing.T) {
			f := &fake{tenants: scenario.Name == "tenants"}
			target := bench.Target{URL: startFake(t, f), Verify: true}
			c := small(t, scenario.CaseNames()[0], nil)
			var first bench.Result
			for i := range 2 {
				r := c.Run(t.Context(), target)
				if !r.OK() || r.Verdict != bench.VerdictPassed && r.Deliveries > 0 {
					t.Fatalf("run %d: got %q, %s, %q", i, r.Error, r.Verdict, r.Tally.Notes)
				}
				if i == 0 {
					first = r
				} else if r.Messages != first.Messages || r.Deliveries != first.Deliveries {
					t.Errorf("run %d: got %d messages and %d deliveries, the first %d and %d", i, r.Messages, r.Deliveries, first.Messages, first.Deliveries)
				}
				await(t, func() bool {
					f.mu.Lock()
					defer f.mu.Unlock()
					return len(f.subs) == 0
				})
			}
		})
	}
}
