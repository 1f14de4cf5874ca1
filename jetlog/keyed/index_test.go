package keyed

import (
	"math/rand/v2"
	"testing"
)

// TestIndex compares with a map, also where all numbers want the same place.
func TestIndex(t *testing.T) {
	for _, factor := range []uint64{1, 0x9e3779b97f4a7c15} {
		rnd := rand.New(rand.NewPCG(factor, 4))
		numbers := make([]uint64, 301) // of the turns, from 1 on
		x := index{factor: factor, of: func(i uint32) uint64 { return numbers[i] }}
		want := map[uint64]uint32{}
		for step := range 20_000 {
			i := uint32(1 + rnd.IntN(300))
			switch number := numbers[i]; {
			case number != 0:
				x.remove(number)
				delete(want, number)
				numbers[i] = 0
			case rnd.IntN(3) > 0:
				number = rnd.Uint64N(1000) + 1
				if _, there := want[number]; there {
					continue
				}
				numbers[i] = number
				x.add(number, i)
				want[number] = i
			}
			number := rnd.Uint64N(1002)
			if got := x.find(number); got != want[number] {
				t.Fatalf("factor %x, step %d: %d has turn %d, want %d", factor, step, number, got, want[number])
			}
			if x.length != len(want) {
				t.Fatalf("factor %x, step %d: length %d, want %d", factor, step, x.length, len(want))
			}
		}
		for number, i := range want {
			if got := x.find(number); got != i {
				t.Errorf("factor %x: %d has turn %d, want %d", factor, number, got, i)
			}
		}
	}
}
