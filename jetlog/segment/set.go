package segment

import (
	"math/bits"
	"slices"
	"sort"
)

// set holds the sequences of an extent that a filter selects: as a bitmap or as a list, whichever is
// smaller. Once built it is immutable.
type set struct {
	all   bool // every message of the extent; the rest is empty
	first uint64
	words []uint64 // bit n%64 of word n/64: sequence first+n
	list  []uint64 // ascending, once built
}

// setBuilder makes a set of sequences between first and last. It becomes a bitmap as soon as the list is
// as long as that would be: its memory follows from what was added, not from what a file claims.
type setBuilder struct {
	set
	last uint64
}

// newSetBuilder begins a set of sequences between first and last, which are both possible.
func newSetBuilder(first, last uint64) *setBuilder {
	return &setBuilder{set: set{first: first}, last: last}
}

// add adds a sequence that was not added before. They may come in any order.
func (b *setBuilder) add(sequence uint64) {
	if sequence < b.first || sequence > b.last {
		return // the file contradicts itself: whoever decodes it sees that in the end
	}
	if b.words == nil {
		b.list = append(b.list, sequence)
		if words := (b.last-b.first)/64 + 1; uint64(len(b.list)) > words {
			b.words = make([]uint64, words)
			for _, s := range b.list {
				b.set.mark(s)
			}
			b.list = nil
		}
		return
	}
	b.set.mark(sequence)
}

// build ends the building. A list may hold the sequences of many subjects, and so is sorted only now.
func (b *setBuilder) build() *set {
	slices.Sort(b.list)
	return &b.set
}

// mark sets the bit of a sequence.
func (s *set) mark(sequence uint64) {
	n := sequence - s.first
	s.words[n/64] |= 1 << (n % 64)
}

// bytes is about what the set takes in memory.
func (s *set) bytes() int { return 96 + 8*cap(s.words) + 8*cap(s.list) }

// next returns the first sequence that is at least from.
func (s *set) next(from uint64) (uint64, bool) {
	if s.words == nil {
		i, _ := slices.BinarySearch(s.list, from)
		if i == len(s.list) {
			return 0, false
		}
		return s.list[i], true
	}
	n := max(from, s.first) - s.first
	for w := n / 64; w < uint64(len(s.words)); w++ {
		word := s.words[w]
		if w == n/64 {
			word &= ^uint64(0) << (n % 64)
		}
		if word != 0 {
			return s.first + w*64 + uint64(bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}

// prev returns the last sequence that is at most upTo.
func (s *set) prev(upTo uint64) (uint64, bool) {
	if s.words == nil {
		i := sort.Search(len(s.list), func(i int) bool { return s.list[i] > upTo })
		if i == 0 {
			return 0, false
		}
		return s.list[i-1], true
	}
	if upTo < s.first {
		return 0, false
	}
	n := min(upTo-s.first, uint64(len(s.words))*64-1)
	for w := int(n / 64); w >= 0; w-- {
		word := s.words[w]
		if w == int(n/64) {
			word &= ^uint64(0) >> (63 - n%64)
		}
		if word != 0 {
			return s.first + uint64(w)*64 + 63 - uint64(bits.LeadingZeros64(word)), true
		}
	}
	return 0, false
}

// count returns how many sequences are at least from.
func (s *set) count(from uint64) uint64 {
	if s.words == nil {
		i, _ := slices.BinarySearch(s.list, from)
		return uint64(len(s.list) - i)
	}
	n, sum := max(from, s.first)-s.first, 0
	for w := n / 64; w < uint64(len(s.words)); w++ {
		word := s.words[w]
		if w == n/64 {
			word &= ^uint64(0) << (n % 64)
		}
		sum += bits.OnesCount64(word)
	}
	return uint64(sum)
}
