package store

// Sum is the hash of a string under a key of two words.
func Sum(a, b uint64, s string) [16]byte { return hashKey{a, b}.sum(s) }

// Set gives tests the set of removed sequences.
type Set struct{ removed }

// NewSet returns an empty set.
func NewSet() *Set { return &Set{*newRemoved()} }

// Change puts one sequence in, or all up to it.
func (s *Set) Change(seq uint64, all bool) {
	if all {
		s.raise(seq)
	} else {
		s.add(seq)
	}
}

// Has, Next, Prev and Each ask it.
func (s *Set) Has(seq uint64) bool { return s.has(seq) }

// Next returns the first sequence >= seq that is not in it.
func (s *Set) Next(seq uint64) uint64 { return s.next(seq) }

// Prev returns the last one <= seq.
func (s *Set) Prev(seq uint64) uint64 { return s.prev(seq) }

// Each calls visit with those above the floor.
func (s *Set) Each(from, to uint64, visit func(uint64) bool) { s.each(from, to, visit) }

// Floor is up to where all are in it.
func (s *Set) Floor() uint64 { return s.floor }
