package lasts_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/lasts"
)

// TestList compares a list with a plain one, over random steps.
func TestList(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var l lasts.List
		var want []uint64
		renew := func() {
			want = nil
			for seq := uint64(1); seq < 200; seq++ {
				if rng.IntN(3) == 0 {
					want = append(want, seq)
				}
			}
			l.Resume = 200
			l.Renew(want)
		}
		renew()
		for step := range 300 {
			seq := rng.Uint64N(200)
			switch n := rng.IntN(100); {
			case n < 70:
				l.Remove(seq)
				want = slices.DeleteFunc(want, func(s uint64) bool { return s == seq })
			case n < 72:
				l.Pass(seq / 4)
				want = slices.DeleteFunc(want, func(s uint64) bool { return s <= seq/4 })
			case n == 72:
				renew()
			}
			next := uint64(0)
			for _, s := range slices.Backward(want) {
				if s > seq {
					next = s
				}
			}
			if got := l.Live(); !slices.Equal(got, want) || l.Has(seq) != slices.Contains(want, seq) || l.Next(seq) != next {
				t.Fatalf("seed %d, step %d: got %v, next behind %d is %d; want %v and %d", seed, step, got, seq, l.Next(seq), want, next)
			}
		}
	}
}

// TestWith puts others between those that are left.
func TestWith(t *testing.T) {
	var l lasts.List
	l.Resume = 50
	l.Renew([]uint64{10, 20, 30})
	l.Remove(20)
	got := l.With(slices.Values([]uint64{5, 25, 51}), slices.Values([]uint64{25, 30, 50}))
	if want := []uint64{5, 10, 25, 30, 50}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestEmpty(t *testing.T) {
	var l lasts.List
	l.Pass(9)
	l.Remove(3)
	if l.Has(1) || l.Next(0) != 0 || l.Live() != nil {
		t.Errorf("there is something in %+v", l)
	}
}
