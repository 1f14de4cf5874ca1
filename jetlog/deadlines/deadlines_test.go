package deadlines_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/deadlines"
)

// TestHeap pushes and pops at random: what comes out is always the earliest of what is in.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var heap deadlines.Heap
	var want []deadlines.Deadline
	for step := range 5000 {
		if len(want) == 0 || rng.IntN(5) < 3 {
			d := deadlines.Deadline{At: int64(rng.IntN(50)), Sequence: uint64(step)}
			heap.Push(d)
			want = append(want, d)
			slices.SortFunc(want, deadlines.Compare)
		} else {
			if first := heap.First(); first != want[0].At {
				t.Fatalf("step %d: the first is at %d, want %d", step, first, want[0].At)
			}
			if got := heap.Pop(); got != want[0] {
				t.Fatalf("step %d: got %+v, want %+v", step, got, want[0])
			}
			want = want[1:]
		}
		if !heap.Ordered() || len(heap) != len(want) {
			t.Fatalf("step %d: %d entries, ordered %v", step, len(heap), heap.Ordered())
		}
	}
	slices.Reverse(heap)
	heap.Rebuild()
	if !heap.Ordered() {
		t.Error("a heap that was rebuilt is none")
	}
	if deadlines.Heap(nil).First() != 0 {
		t.Error("an empty heap has a first")
	}
}

// TestExpiries compares expiries with a plain list of what holds.
func TestExpiries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var e deadlines.Expiries
	var want []deadlines.Deadline
	for step := range 6000 {
		switch n := rng.IntN(20); {
		case n < 11:
			d := deadlines.Deadline{At: int64(1 + rng.IntN(100)), Sequence: uint64(step + 1)}
			e.Add(d.At, d.Sequence)
			want = append(want, d)
			slices.SortFunc(want, deadlines.Compare)
		case n < 19 && len(want) > 0:
			i := rng.IntN(len(want))
			e.Cancel(want[i].At, want[i].Sequence)
			want = slices.Delete(want, i, i+1)
		case n == 19 && rng.IntN(20) == 0:
			upTo := uint64(step - 50)
			e.Drop(0, upTo)
			want = slices.DeleteFunc(want, func(d deadlines.Deadline) bool { return d.Sequence <= upTo })
		}
		next, ok := e.Next()
		if ok != (len(want) > 0) || ok && next != want[0] {
			t.Fatalf("step %d: next is %+v %v, want the first of %d", step, next, ok, len(want))
		}
		now, limit := int64(rng.IntN(20)), rng.IntN(8)
		due := e.Due(now, limit, nil)
		n := 0
		for n < len(want) && n < limit && want[n].At <= now {
			n++
		}
		if !slices.Equal(due, want[:n]) {
			t.Fatalf("step %d: due are %v, want %v", step, due, want[:n])
		}
	}
	if !e.Ordered() || !slices.Equal(e.Sorted(), deadlines.Heap(want)) {
		t.Errorf("at the end %d hold, want %d", len(e.Sorted()), len(want))
	}
	again := deadlines.Of(e.Sorted())
	if next, _ := again.Next(); next != want[0] {
		t.Errorf("made of what holds: next is %+v, want %+v", next, want[0])
	}
}
