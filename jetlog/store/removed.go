package store

import (
	"maps"
	"math/bits"
	"slices"

	"runnel/jetlog/manifest"
)

// removed is the set of sequences, of those below the memory table, whose messages have gone although
// a file may still have them. Sequences that never were in a file may be in it or not.
//
// Invariant: no page lies wholly at or below floor.
type removed struct {
	floor   uint64 // every sequence up to here is in the set
	pages   map[uint64]*manifest.Page
	touched map[uint64]struct{} // pages that the manifest does not have like this
}

func newRemoved() *removed {
	return &removed{pages: map[uint64]*manifest.Page{}, touched: map[uint64]struct{}{}}
}

// has reports whether a sequence is in the set.
func (r *removed) has(seq uint64) bool {
	if seq <= r.floor {
		return true
	}
	p := r.pages[seq/manifest.PageSpan]
	return p != nil && p[seq%manifest.PageSpan/64]&(1<<(seq%64)) != 0
}

// add puts one sequence in.
func (r *removed) add(seq uint64) {
	if seq <= r.floor {
		return
	}
	if seq == r.floor+1 {
		r.raise(seq)
		return
	}
	n := seq / manifest.PageSpan
	p := r.pages[n]
	if p == nil {
		p = &manifest.Page{}
		r.pages[n] = p
	}
	p[seq%manifest.PageSpan/64] |= 1 << (seq % 64)
	r.touched[n] = struct{}{}
}

// raise puts in every sequence up to one.
func (r *removed) raise(floor uint64) {
	if floor <= r.floor {
		return
	}
	before := r.floor / manifest.PageSpan
	r.floor = floor
	if len(r.pages) == 0 && len(r.touched) == 0 {
		return
	}
	// A page that is passed one by one costs one look-up; a long jump looks at what is there.
	end := (floor + 1) / manifest.PageSpan
	if end-before <= uint64(len(r.pages)+len(r.touched)) {
		for n := before; n < end; n++ {
			delete(r.pages, n)
			delete(r.touched, n)
		}
		return
	}
	maps.DeleteFunc(r.pages, func(n uint64, _ *manifest.Page) bool { return n < end })
	maps.DeleteFunc(r.touched, func(n uint64, _ struct{}) bool { return n < end })
}

// next returns the first sequence >= seq that is not in the set.
func (r *removed) next(seq uint64) uint64 {
	seq = max(seq, r.floor+1)
	for {
		p := r.pages[seq/manifest.PageSpan]
		if p == nil {
			return seq
		}
		for w := seq % manifest.PageSpan / 64; w < manifest.PageWords; w++ {
			free := ^p[w] & (^uint64(0) << (seq % 64))
			if free != 0 {
				return seq&^63 + uint64(bits.TrailingZeros64(free))
			}
			seq = seq&^63 + 64
		}
	}
}

// prev returns the last sequence <= seq that is not in the set, 0 if there is none.
func (r *removed) prev(seq uint64) uint64 {
	for seq > r.floor {
		p := r.pages[seq/manifest.PageSpan]
		if p == nil {
			return seq
		}
		free := ^p[seq%manifest.PageSpan/64] & (^uint64(0) >> (63 - seq%64))
		if free != 0 {
			found := seq&^63 + 63 - uint64(bits.LeadingZeros64(free))
			if found <= r.floor {
				return 0
			}
			return found
		}
		if seq < 64 {
			return 0
		}
		seq = seq&^63 - 1
	}
	return 0
}

// each calls visit with the sequences from..to in the set, without those up to the floor, until it
// returns false.
func (r *removed) each(from, to uint64, visit func(seq uint64) bool) {
	from = max(from, r.floor+1)
	if from > to {
		return
	}
	for _, n := range r.numbers() {
		if n < from/manifest.PageSpan || n > to/manifest.PageSpan {
			continue
		}
		for w, word := range r.pages[n] {
			for ; word != 0; word &= word - 1 {
				seq := n*manifest.PageSpan + uint64(w)*64 + uint64(bits.TrailingZeros64(word))
				if seq >= from && seq <= to && !visit(seq) {
					return
				}
			}
		}
	}
}

// numbers returns which pages there are, ascending.
func (r *removed) numbers() []uint64 { return slices.Sorted(maps.Keys(r.pages)) }

// clone returns a copy in which nothing is touched.
func (r *removed) clone() *removed {
	c := newRemoved()
	c.floor = r.floor
	for n, p := range r.pages {
		q := *p
		c.pages[n] = &q
	}
	return c
}

// drop takes out the sequences from..to that other has: the files have them no more.
func (r *removed) drop(other *removed, from, to uint64) {
	for n, p := range other.pages {
		mine := r.pages[n]
		if mine == nil || n < from/manifest.PageSpan || n > to/manifest.PageSpan {
			continue
		}
		empty := true
		for w := range mine {
			at := n*manifest.PageSpan + uint64(w)*64
			mine[w] &^= p[w] & between(at, from, to)
			empty = empty && mine[w] == 0
		}
		if empty {
			delete(r.pages, n)
		}
		r.touched[n] = struct{}{}
	}
}

// between has a bit for each of the 64 sequences from at on that are from..to.
func between(at, from, to uint64) uint64 {
	if to < at || from > at+63 {
		return 0
	}
	mask := ^uint64(0)
	if from > at {
		mask <<= from - at
	}
	if to < at+63 {
		mask &= ^uint64(0) >> (at + 63 - to)
	}
	return mask
}
