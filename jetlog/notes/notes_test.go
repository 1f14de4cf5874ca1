package notes_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/notes"
)

// TestTable compares a table with plain maps, over random steps.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table := notes.New()
	first, last, resting := map[uint64]int64{}, map[uint64]int64{}, map[uint64]bool{}
	for now := range int64(20000) {
		seq := uint64(rng.IntN(50))
		_, known := first[seq]
		if rng.IntN(100) == 0 {
			table.Once()
			maps.Copy(last, first)
		}
		switch rng.IntN(5) {
		case 0:
			if !known {
				table.Begin(seq, now)
				first[seq], last[seq] = now, now
			}
		case 1, 2:
			rests := rng.IntN(2) == 0
			table.Rest(seq, rests)
			if delete(resting, seq); rests && known {
				resting[seq] = true
			}
		case 3:
			table.End(seq)
			delete(first, seq)
			delete(last, seq)
			delete(resting, seq)
		case 4:
			if table.Again(seq, now); known {
				last[seq] = now
			}
		}
		n, noted := table.Get(seq)
		if at, known := first[seq]; noted != known || n.First != at || n.Last != last[seq] || n.Resting != resting[seq] {
			t.Fatalf("step %d, message %d: got %+v %v, want since %d %v, resting %v", now, seq, n, noted, at, known, resting[seq])
		}
		if table.Len() != len(first) || table.Resting() != len(resting) {
			t.Fatalf("step %d: %d known and %d resting, want %d and %d", now, table.Len(), table.Resting(), len(first), len(resting))
		}
	}
}

func TestNil(t *testing.T) {
	var table *notes.Table
	table.Begin(1, 2)
	table.Rest(1, true)
	table.End(1)
	table.Once()
	if n, known := table.Get(1); known || n != (notes.Note{}) || table.Len() != 0 || table.Resting() != 0 {
		t.Errorf("the nil table has %+v", n)
	}
}
