package keyed

import "math/bits"

// index finds turns by a number that each has. It keeps only the numbers of the turns, in open addressing with
// linear probing, and asks the turns for theirs: a tenth of what a map takes. It is in shards that grow one at a
// time, so that an index of a million never stops to be copied as a whole.
type index struct {
	factor uint64              // odd; secret, so that nobody can choose numbers that collide
	of     func(uint32) uint64 // the number of a turn
	shards [1 << shardBits]shard
	length int
}

// shard is a part of an index: a power of two of slots, at most three quarters of them used.
type shard struct {
	slots []uint32 // turns; 0 is free
	used  int
}

const (
	shardBits = 6
	slotsMin  = 4
)

// place returns the shard of a number, and the slot where looking for it begins.
func (x *index) place(number uint64) (*shard, int) {
	h := number * x.factor
	s := &x.shards[h>>(64-shardBits)]
	if len(s.slots) == 0 {
		return s, 0
	}
	return s, int(h << shardBits >> (64 - bits.Len(uint(len(s.slots)-1))))
}

// find returns the turn with a number, 0 if there is none.
func (x *index) find(number uint64) uint32 {
	s, at := x.place(number)
	if len(s.slots) == 0 {
		return 0
	}
	for ; s.slots[at] != 0; at = s.after(at) {
		if i := s.slots[at]; x.of(i) == number {
			return i
		}
	}
	return 0
}

// add adds a turn with a number that is not there yet.
func (x *index) add(number uint64, i uint32) {
	s, at := x.place(number)
	if 4*(s.used+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]uint32, max(slotsMin, 2*len(old)))
		for _, turn := range old {
			if turn != 0 {
				_, at := x.place(x.of(turn))
				s.put(at, turn)
			}
		}
		_, at = x.place(number)
	}
	s.put(at, i)
	s.used++
	x.length++
}

// remove removes the turn with a number, which must be there. What was put behind it for want of a better place
// moves up.
func (x *index) remove(number uint64) {
	s, hole := x.place(number)
	for x.of(s.slots[hole]) != number {
		hole = s.after(hole)
	}
	for at := s.after(hole); s.slots[at] != 0; at = s.after(at) {
		_, begin := x.place(x.of(s.slots[at]))
		if mask := len(s.slots) - 1; (at-begin)&mask >= (at-hole)&mask {
			s.slots[hole] = s.slots[at]
			hole = at
		}
	}
	s.slots[hole] = 0
	s.used--
	x.length--
}

// put puts a turn into the first free slot from a place on.
func (s *shard) put(at int, i uint32) {
	for s.slots[at] != 0 {
		at = s.after(at)
	}
	s.slots[at] = i
}

func (s *shard) after(at int) int { return (at + 1) & (len(s.slots) - 1) }
