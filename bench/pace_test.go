package bench_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"runnel/bench"
)

// TestPublishersSharePace: what several publishers send comes, all in all, at the rate that they share, one message
// after the other and evenly, however many they are.
func TestPublishersSharePace(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		publishers := 1 + random.IntN(20)
		rate := 1 + random.Float64()*100_000
		const each = 50
		var all []time.Time
		for index := range publishers {
			last := start.Add(-1)
			for i := range uint64(each) {
				due := bench.Due(start, rate, index, publishers, i)
				if !due.After(last) {
					t.Fatalf("%d publishers at %.1f/s: message %d of publisher %d is due at %v, not after %v", publishers, rate, i, index, due, last)
				}
				all, last = append(all, due), due
			}
		}
		slices.SortFunc(all, time.Time.Compare)
		for k, due := range all {
			want := start.Add(time.Duration(float64(k) / rate * float64(time.Second)))
			// A publisher's interval is rounded to a nanosecond, once for each of its messages.
			if off := due.Sub(want).Abs(); off > 2*each*time.Nanosecond {
				t.Fatalf("%d publishers at %.1f/s: message %d is due %v from when it should be", publishers, rate, k, off)
			}
		}
	}
}
