package deliveries

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckFinds breaks one invariant after the other. Check, on which other tests rely, has to tell each.
func TestCheckFinds(t *testing.T) {
	for name, tt := range map[string]struct {
		wreck func(*Table)
		want  string
	}{
		"nothing":         {func(*Table) {}, ""},
		"timers":          {func(t *Table) { t.coming.timers[0].At = 1 << 60 }, "deadlines are out of order"},
		"no timer":        {func(t *Table) { t.coming.timers = nil }, "message 1 has no deadline"},
		"queue":           {func(t *Table) { t.coming.queue.tickets = nil }, "message 3 is not in the redelivery queue"},
		"counted":         {func(t *Table) { t.live++ }, "5 wait for an answer, counted 4"},
		"order":           {func(t *Table) { t.list[1].Sequence = 1 }, "delivery 2 of message 1 comes behind delivery 1 of message 1"},
		"settled first":   {func(t *Table) { t.mark(&t.list[0]) }, "3 wait for an answer, counted 3"},
		"not noted":       {func(t *Table) { t.notes.End(2) }, "message 2 waits for an answer, but is not noted"},
		"noted, not here": {func(t *Table) { t.notes.Begin(9, 1) }, "5 are noted and 1 rest, want 4 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var table Table
			table.Note(true, 0)
			for seq := uint64(1); seq <= 4; seq++ {
				table.Expect(table.Add(Delivery{Sequence: seq, Consumer: seq, Count: 1}, 5), 5, 5)
			}
			table.Queue(table.Find(3))
			table.Rest(table.Find(4), 6, 9)
			tt.wreck(&table)
			var found strings.Builder
			table.Check(func(format string, args ...any) { fmt.Fprintf(&found, format+"\n", args...) })
			if got := found.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
