package segment

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Bloom filters have ten bits a key and set seven, so that one key in about 120 that was not added
// seems to be there.
const (
	bloomBitsPerKey = 10
	bloomProbes     = 7
)

// bloom is a filter: bit n is bit n%8 of byte n/8. An empty one has every key.
type bloom []byte

// bloomBytes is the length of a filter for so many keys.
func bloomBytes(keys int) int { return (keys*bloomBitsPerKey + 7) / 8 }

// bloomBit is the nth bit of a hash in a filter of so many bits.
func bloomBit(hash uint64, n uint32, size uint64) uint64 {
	probe := uint32(hash) + n*(uint32(hash>>32)|1)
	return uint64(probe) * size >> 32
}

// add adds the hash of a key. The filter must have been made for at least one.
func (b bloom) add(hash uint64) {
	size := uint64(len(b)) * 8
	for n := range uint32(bloomProbes) {
		bit := bloomBit(hash, n, size)
		b[bit/8] |= 1 << (bit % 8)
	}
}

// has is false only for a key that was not added.
func (b bloom) has(hash uint64) bool {
	if len(b) == 0 {
		return true
	}
	size := uint64(len(b)) * 8
	for n := range uint32(bloomProbes) {
		bit := bloomBit(hash, n, size)
		if b[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// Constants of hashText. They are part of the format.
const (
	hashWord = 0x9e3779b97f4a7c15
	hashEnd  = 0xd6e8feb86659fd93
)

// hashText is a fast hash that is the same everywhere and always, unlike those of the standard library that are
// as fast. It is not keyed: who knows it can make subjects that spoil a filter, which costs reads
// and changes no answer. Tables that would become slow use other hashes, with a random seed.
//
// It is the hash of subjects (salt 0) and of tokens (salt: position from 1) for filters.
func hashText[T string | []byte](salt uint64, text T) uint64 {
	h := fold(salt^hashEnd, uint64(len(text))^hashWord)
	for len(text) >= 8 {
		h = fold(h^wordOf(text), hashWord)
		text = text[8:]
	}
	var tail [8]byte
	copy(tail[:], text)
	h = fold(h^binary.LittleEndian.Uint64(tail[:]), hashWord)
	return fold(h^hashEnd, hashEnd)
}

// wordOf is the first eight bytes as a number; it compiles to one load.
func wordOf[T string | []byte](text T) uint64 {
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

// fold multiplies to 128 bits and folds them.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// hashSet is a set of hashes, by open addressing.
type hashSet struct {
	seed  uint64   // random: nobody can choose tokens that collide
	slots []uint64 // 0 is free; a power of two, at most half full
	count int
	zero  bool // 0 is in the set
}

// newHashSet returns an empty set.
func newHashSet() *hashSet { return &hashSet{seed: rand.Uint64(), slots: make([]uint64, 64)} }

// add adds a hash that may be in the set already.
func (s *hashSet) add(hash uint64) {
	if hash == 0 {
		s.zero = true
		return
	}
	if 2*s.count >= len(s.slots) {
		old := s.slots
		s.slots, s.count = make([]uint64, 2*len(old)), 0
		for _, h := range old {
			if h != 0 {
				s.add(h)
			}
		}
	}
	mask := uint64(len(s.slots) - 1)
	i := fold(hash^s.seed, hashWord) & mask
	for s.slots[i] != 0 {
		if s.slots[i] == hash {
			return
		}
		i = (i + 1) & mask
	}
	s.slots[i] = hash
	s.count++
}

// bloom returns a filter of what is in the set.
func (s *hashSet) bloom() bloom {
	n := s.count
	if s.zero {
		n++
	}
	b := make(bloom, bloomBytes(n))
	if s.zero {
		b.add(0)
	}
	for _, h := range s.slots {
		if h != 0 {
			b.add(h)
		}
	}
	return b
}

// eachToken calls visit with the tokens of a subject that begin at or after byte from, with their positions
// from 1.
func eachToken(subject string, from int, visit func(position uint64, token string)) {
	position, start := uint64(1), 0
	for {
		end := strings.IndexByte(subject[start:], '.')
		if end < 0 {
			break
		}
		if start >= from {
			visit(position, subject[start:start+end])
		}
		start += end + 1
		position++
	}
	if start >= from {
		visit(position, subject[start:])
	}
}
