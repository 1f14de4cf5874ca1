package letters

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckFinds breaks one invariant after the other. Check, on which other tests rely, has to tell each.
func TestCheckFinds(t *testing.T) {
	for name, tt := range map[string]struct {
		wreck func(*Box)
		want  string
	}{
		"nothing":     {func(*Box) {}, ""},
		"numbers":     {func(b *Box) { b.list[1].Number = 1 }, "letter 1 comes behind 1"},
		"last":        {func(b *Box) { b.last = 2 }, "the last number is 2"},
		"sequence":    {func(b *Box) { b.list[0].Sequence = 99 }, "letter 1 of message 99 is not found"},
		"place":       {func(b *Box) { b.places = b.places[1:] }, "3 letters in 2 places"},
		"places":      {func(b *Box) { b.places[0], b.places[1] = b.places[1], b.places[0] }, "comes behind that of"},
		"other place": {func(b *Box) { b.places[0].number = 1 }, "is not found"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(1)
			for _, seq := range []uint64{30, 20, 10} {
				b.Add(Letter{Sequence: seq, Reason: Expired})
			}
			tt.wreck(b)
			var found strings.Builder
			b.Check(func(format string, args ...any) { fmt.Fprintf(&found, format+"\n", args...) })
			if got := found.String(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
