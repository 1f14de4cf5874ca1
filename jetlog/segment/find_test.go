package segment_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// TestFindFacts looks for many facts at once, of which some are there: it finds the same as one look for each.
func TestFindFacts(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := random(r, shape{streams: 2, messages: 3, subjects: 2, facts: 2000})
		fs := vfs.NewMemory()
		d.write(t, fs, segment.WriterConfig{})
		s := open(t, fs, segment.Config{})
		for i := range d.tables {
			x := &d.tables[i]
			hashes, want := x.some(r)
			got := map[segment.Hash]segment.Value{}
			ok(t, s.FindFacts(x.stream, x.kind, hashes, func(i int, v segment.Value) { got[hashes[i]] = v }))
			if !maps.Equal(got, want) {
				t.Errorf("seed %d, table %d: got %d facts of %d, want %d", seed, i, len(got), len(hashes), len(want))
			}
			if n := s.FactCount(x.stream, x.kind); n != uint64(len(x.facts)) {
				t.Errorf("seed %d, table %d: %d facts, want %d", seed, i, n, len(x.facts))
			}
		}
		ok(t, s.FindFacts(99, 1, []segment.Hash{{1}}, func(int, segment.Value) { t.Error("found in a table that is not there") }))
	}
}

// some returns hashes of most facts, and of others between them, and the values of those that are there.
func (t *table) some(r *rand.Rand) ([]segment.Hash, map[segment.Hash]segment.Value) {
	hashes, want, all := map[segment.Hash]bool{}, map[segment.Hash]segment.Value{}, map[segment.Hash]segment.Value{}
	for _, f := range t.facts {
		all[f.Hash] = f.Value
	}
	for _, f := range t.facts {
		h := f.Hash
		if r.IntN(3) == 0 {
			h[r.IntN(16)]++
		}
		hashes[h] = true
		if v, ok := all[h]; ok {
			want[h] = v
		}
	}
	return slices.SortedFunc(maps.Keys(hashes), func(a, b segment.Hash) int { return slices.Compare(a[:], b[:]) }), want
}
