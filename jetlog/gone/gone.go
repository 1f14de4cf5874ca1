// Package gone is the set of sequences, of those below a stream's memory table, whose messages have gone
// although a file may still have them. Sequences that never were in a file may be in it or not.
package gone

import (
	"maps"
	"math/bits"
	"slices"

	"runnel/jetlog/manifest"
)

// Set is a set of sequences. It is changed by one goroutine, with nobody reading; readers may be many.
//
// Invariant: no page lies wholly at or below floor.
type Set struct {
	floor   uint64 // every sequence up to here is in the set
	pages   map[uint64]*manifest.Page
	touched map[uint64]struct{} // pages that the manifest does not have like this
}

// New returns an empty set.
func New() *Set { return Of(0, nil) }

// Of returns the set that has every sequence up to floor and those of the pages, which it copies.
func Of(floor uint64, pages map[uint64]*manifest.Page) *Set {
	r := &Set{floor: floor, pages: map[uint64]*manifest.Page{}, touched: map[uint64]struct{}{}}
	for n, p := range pages {
		q := *p
		r.pages[n] = &q
	}
	return r
}

// Floor is up to where every sequence is in the set.
func (r *Set) Floor() uint64 { return r.floor }

// NoneFrom reports whether no sequence from seq on is in the set; it may be false although that is so.
func (r *Set) NoneFrom(seq uint64) bool { return len(r.pages) == 0 && seq > r.floor }

// Freeze returns a copy that nobody changes, and what is new since the last Freeze: pages of that copy, and
// the numbers of pages that are no more.
func (r *Set) Freeze() (frozen *Set, changed map[uint64]*manifest.Page, cleared []uint64) {
	frozen, changed = r.clone(), map[uint64]*manifest.Page{}
	for n := range r.touched {
		if p := frozen.pages[n]; p != nil {
			changed[n] = p
		} else {
			cleared = append(cleared, n)
		}
	}
	clear(r.touched)
	return frozen, changed, cleared
}

// Has reports whether a sequence is in the set.
func (r *Set) Has(seq uint64) bool {
	if seq <= r.floor {
		return true
	}
	p := r.pages[seq/manifest.PageSpan]
	return p != nil && p[seq%manifest.PageSpan/64]&(1<<(seq%64)) != 0
}

// Add puts one sequence in.
func (r *Set) Add(seq uint64) {
	if seq <= r.floor {
		return
	}
	if seq == r.floor+1 {
		r.Raise(seq)
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

// Raise puts in every sequence up to one.
func (r *Set) Raise(floor uint64) {
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

// Next returns the first sequence >= seq that is not in the set.
func (r *Set) Next(seq uint64) uint64 {
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

// Prev returns the last sequence <= seq that is not in the set, 0 if there is none.
func (r *Set) Prev(seq uint64) uint64 {
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

// Each calls visit with the sequences from..to in the set, without those up to the floor, until it
// returns false.
func (r *Set) Each(from, to uint64, visit func(seq uint64) bool) {
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
func (r *Set) numbers() []uint64 { return slices.Sorted(maps.Keys(r.pages)) }

// clone returns a copy in which nothing is touched.
func (r *Set) clone() *Set { return Of(r.floor, r.pages) }

// Drop takes out the sequences from..to that other has: the files have them no more.
func (r *Set) Drop(other *Set, from, to uint64) {
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
