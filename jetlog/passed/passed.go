// Package passed is the set of messages of a consumer that its leader has looked at and passed over: they are still to be
// delivered for the first time, although later ones were. It is part of the state of a stream.
package passed

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// pageSpan is how many sequences a page stands for.
	pageSpan  = 64 * pageWords
	pageWords = 64
	// pagesMax is how many pages a set may have: 4 MB.
	pagesMax = 8192
)

// Set is a set of sequences. The nil set is empty, and may be asked everything; it cannot be added to. One goroutine may change
// it with nobody asking, or several may ask.
//
// Invariants, which Check verifies: pages ascend by their number, and each has as many bits set as it counts, at least one;
// length is their sum.
type Set struct {
	pages  []page
	length uint64
}

// page has a bit for each of the sequences from number * pageSpan on.
type page struct {
	number uint64
	words  *[pageWords]uint64
	length int
}

// find returns where the page of a sequence is, or is to be.
func (s *Set) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(s.pages, seq/pageSpan, func(p page, number uint64) int { return cmp.Compare(p.number, number) })
}

// Len returns how many sequences are in the set.
func (s *Set) Len() uint64 {
	if s == nil {
		return 0
	}
	return s.length
}

// Full reports whether the set takes more memory than it should: then no more may be passed over.
func (s *Set) Full() bool { return s != nil && len(s.pages) >= pagesMax }

// Has reports whether a sequence is in the set.
func (s *Set) Has(seq uint64) bool {
	if s == nil {
		return false
	}
	i, found := s.find(seq)
	return found && s.pages[i].words[seq%pageSpan/64]&(1<<(seq%64)) != 0
}

// Add puts a sequence in.
func (s *Set) Add(seq uint64) {
	i, found := s.find(seq)
	if !found {
		s.pages = slices.Insert(s.pages, i, page{number: seq / pageSpan, words: new([pageWords]uint64)})
	}
	p := &s.pages[i]
	word, bit := &p.words[seq%pageSpan/64], uint64(1)<<(seq%64)
	if *word&bit == 0 {
		*word |= bit
		p.length++
		s.length++
	}
}

// Remove takes a sequence out, and reports whether it was in.
func (s *Set) Remove(seq uint64) bool {
	if !s.Has(seq) {
		return false
	}
	i, _ := s.find(seq)
	p := &s.pages[i]
	p.words[seq%pageSpan/64] &^= 1 << (seq % 64)
	p.length--
	s.length--
	if p.length == 0 {
		s.pages = slices.Delete(s.pages, i, i+1)
	}
	return true
}

// RemoveUpTo takes out all up to a sequence.
func (s *Set) RemoveUpTo(seq uint64) {
	for at := s.Next(0); at != 0 && at <= seq; at = s.Next(at + 1) {
		s.Remove(at)
	}
}

// Above returns how many are above a sequence.
func (s *Set) Above(seq uint64) uint64 {
	n := uint64(0)
	for at := s.Next(seq + 1); at != 0; at = s.Next(at) {
		i, _ := s.find(at)
		if p := &s.pages[i]; at == p.number*pageSpan {
			n += uint64(p.length)
			at = (p.number + 1) * pageSpan
			continue
		}
		n++
		at++
	}
	return n
}

// Next returns the first that is at or above a sequence, 0 for none.
func (s *Set) Next(seq uint64) uint64 {
	if s == nil {
		return 0
	}
	i, _ := s.find(seq)
	for ; i < len(s.pages); i++ {
		p := &s.pages[i]
		seq = max(seq, p.number*pageSpan)
		for w := int(seq % pageSpan / 64); w < pageWords; w++ {
			if left := p.words[w] & (^uint64(0) << (seq % 64)); left != 0 {
				return seq&^63 + uint64(bits.TrailingZeros64(left))
			}
			seq = seq&^63 + 64
		}
	}
	return 0
}

// All yields all, ascending. The set must not be changed meanwhile.
func (s *Set) All(yield func(seq uint64) bool) {
	for at := s.Next(0); at != 0 && yield(at); at = s.Next(at + 1) {
	}
}

// Those returns the set of those that keep wants, nil for none. The error is that of keep, which ends it.
func (s *Set) Those(keep func(seq uint64) (bool, error)) (*Set, error) {
	var kept *Set
	for seq := range s.All {
		wanted, err := keep(seq)
		if err != nil {
			return nil, err
		}
		if wanted && kept == nil {
			kept = &Set{}
		}
		if wanted {
			kept.Add(seq)
		}
	}
	return kept, nil
}

// Check verifies the invariants, and reports through wrong each that does not hold. It changes nothing.
func (s *Set) Check(wrong func(format string, args ...any)) {
	if s == nil {
		return
	}
	length := uint64(0)
	for i, p := range s.pages {
		n := 0
		for _, word := range p.words {
			n += bits.OnesCount64(word)
		}
		if n == 0 || n != p.length || i > 0 && p.number <= s.pages[i-1].number {
			wrong("page %d of those passed over counts %d, has %d", p.number, p.length, n)
		}
		length += uint64(n)
	}
	if length != s.length {
		wrong("%d are passed over, counted %d", length, s.length)
	}
}
