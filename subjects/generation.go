package subjects

import (
	"hash/maphash"
	"sync/atomic"
)

// The number of counters per table: few until a tree has many entries, since
// there may be thousands of trees (one per account).
const (
	fewCounters  = 64
	manyCounters = 4096
	// manyEntries is the size of a tree from which on it gets manyCounters.
	manyEntries = 512
)

// hashSeed is the same for all trees of a process, and another in the next.
var hashSeed = maphash.MakeSeed()

// Hash is a fast hash of b. It differs from process to process.
func Hash(b []byte) uint64 {
	return maphash.Bytes(hashSeed, b)
}

// generations counts the changes of a tree, split by the subjects that a change
// can concern:
//
//   - global: patterns with a wildcard as first token,
//   - first, by the hash of the first token: patterns that have only one token
//     or a wildcard as second,
//   - second, by the hash of the first two tokens: all others.
//
// So the matches of one subject depend on exactly three counters, and a change
// elsewhere rarely touches them.
type generations struct {
	global        atomic.Uint64
	first, second []atomic.Uint64
}

func newGenerations(counters int) *generations {
	all := make([]atomic.Uint64, 2*counters)
	return &generations{first: all[:counters], second: all[counters:]}
}

// counter returns the one counter that an entry with this pattern changes.
func (g *generations) counter(pattern string) *atomic.Uint64 {
	first, rest, more := cut(pattern)
	if first == star || first == tail {
		return &g.global
	}
	second, _, _ := cut(rest)
	if !more || second == star || second == tail {
		return slot(g.first, maphash.String(hashSeed, first))
	}
	return slot(g.second, maphash.String(hashSeed, pattern[:len(first)+1+len(second)]))
}

// stamp reads the three counters that the matches of subject depend on.
func (g *generations) stamp(subject []byte) Stamp {
	first, rest, _ := cut(subject)
	second, _, _ := cut(rest)
	two := subject[:min(len(subject), len(first)+1+len(second))]
	s := Stamp{
		global: &g.global,
		first:  slot(g.first, Hash(first)),
		second: slot(g.second, Hash(two)),
	}
	s.sum = s.now()
	return s
}

// slot picks a counter of a table, whose length is a power of two.
func slot(counters []atomic.Uint64, hash uint64) *atomic.Uint64 {
	return &counters[hash&uint64(len(counters)-1)]
}

// Stamp is a moment in the life of a Tree, as far as one subject is concerned:
// what was found for the subject after the stamp was taken still holds while the
// stamp is valid. The zero value is not valid.
type Stamp struct {
	global, first, second *atomic.Uint64
	sum                   uint64
}

// Valid reports whether no entry that concerns the subject was inserted or
// removed since the stamp was taken. It takes no lock. It may report false
// without need, since subjects share counters.
func (s *Stamp) Valid() bool {
	return s.global != nil && s.now() == s.sum
}

// now is the sum of the counters. They only grow, so an unchanged sum means
// that none of them has changed.
func (s *Stamp) now() uint64 {
	return s.global.Load() + s.first.Load() + s.second.Load()
}
