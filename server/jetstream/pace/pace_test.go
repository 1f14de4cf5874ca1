package pace_test

import (
	"math"
	"testing"
	"time"

	"runnel/server/jetstream/pace"
)

const begin = int64(1_700_000_000_000_000_000)

// add is n things some time after the beginning.
type add struct {
	after time.Duration
	n     uint64
}

func TestPerSecond(t *testing.T) {
	tests := []struct {
		name string
		adds []add
		at   time.Duration
		want float64
	}{
		{"nothing", nil, 0, 0},
		{"at once", []add{{0, 10}}, 0, 10},
		{"after two seconds", []add{{0, 10}, {time.Second, 10}}, 2 * time.Second, 10},
		{"nothing more", []add{{0, 100}}, 9 * time.Second, 100.0 / 9},
		{"the window is over", []add{{0, 100}}, 10 * time.Second, 10},
		{"half of the next", []add{{0, 100}}, 15 * time.Second, 5},
		{"both windows", []add{{0, 100}, {12 * time.Second, 20}}, 15 * time.Second, 7},
		{"forgotten", []add{{0, 100}}, 20 * time.Second, 0},
		{"begun again", []add{{0, 100}, {time.Hour, 6}}, time.Hour + 2*time.Second, 3},
		{"time goes back", []add{{5 * time.Second, 10}, {time.Second, 10}}, 5 * time.Second, 20},
		{"asked for the past", []add{{5 * time.Second, 10}}, 0, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p pace.Pace
			for _, a := range tt.adds {
				p.Add(a.n, begin+int64(a.after))
			}
			for range 2 { // to ask changes nothing
				if got := p.PerSecond(begin + int64(tt.at)); math.Abs(got-tt.want) > 1e-9 {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// TestSteady: what happens evenly has that rate from the first second on, whenever one asks.
func TestSteady(t *testing.T) {
	var p pace.Pace
	for i := range int64(60_000) { // each millisecond, for a minute
		at := begin + i*int64(time.Millisecond)
		if p.Add(3, at); i < 1000 {
			continue
		}
		if got := p.PerSecond(at + int64(time.Millisecond)); math.Abs(got-3000) > 1 {
			t.Fatalf("after %d ms: got %v, want 3000", i, got)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	var p pace.Pace
	b.ReportAllocs()
	at := begin
	for b.Loop() {
		p.Add(16, at)
		at += 10_000
	}
}
