package segment

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// roster gathers the subjects of an extent and the sequences under each, in memory without pointers: a
// table of subjects with open addressing, and per message its sequence and the message that follows it under
// the same subject. So a message costs 12 bytes, whatever its subject.
type roster struct {
	seed      maphash.Seed // random: nobody can choose subjects that collide
	slots     []uint32     // number of a row + 1; 0 is free; a power of two, at most half full
	rows      []row
	names     []byte
	sequences []uint64 // of each message
	follows   []uint32 // of each message: number of the next with its subject; see row.last
	latest    uint32   // row of the last message, if there is one
}

// row is a subject.
type row struct {
	name      int // where it begins in names
	nameBytes int
	hash      uint32
	first     uint32 // number of its first message
	last      uint32 // number of its last; follows says nothing for it
	count     uint32
	block     uint32 // the last block that it occurred in
	inBlock   uint32 // its number there
}

const rosterSlots = 64

// newRoster returns an empty roster.
func newRoster() *roster {
	return &roster{seed: maphash.MakeSeed(), slots: make([]uint32, rosterSlots)}
}

// reset empties the roster. A large table of slots is given back, since clearing it for each of many small
// extents would cost more than they do.
func (r *roster) reset() {
	r.rows, r.names = r.rows[:0], r.names[:0]
	r.sequences, r.follows = r.sequences[:0], r.follows[:0]
	if len(r.slots) > rosterSlots {
		r.slots = make([]uint32, rosterSlots)
	} else {
		clear(r.slots)
	}
}

// add notes a message and returns its subject. The row may be used until the next add.
func (r *roster) add(subject string, sequence uint64) *row {
	message := uint32(len(r.sequences))
	r.sequences = append(r.sequences, sequence)
	r.follows = append(r.follows, 0)
	if message == 0 || string(r.name(&r.rows[r.latest])) != subject {
		r.latest = r.find(subject)
	}
	w := &r.rows[r.latest]
	if w.count == 0 {
		w.first = message
	} else {
		r.follows[w.last] = message
	}
	w.last = message
	w.count++
	return w
}

// find returns the row of a subject, which is a new one if need be.
func (r *roster) find(subject string) uint32 {
	if 2*len(r.rows) >= len(r.slots) {
		r.grow()
	}
	hash := uint32(maphash.String(r.seed, subject))
	mask := uint32(len(r.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := r.slots[i]
		if slot == 0 {
			r.slots[i] = uint32(len(r.rows)) + 1
			r.rows = append(r.rows, row{name: len(r.names), nameBytes: len(subject), hash: hash})
			r.names = append(r.names, subject...)
			return uint32(len(r.rows)) - 1
		}
		if w := &r.rows[slot-1]; w.hash == hash && string(r.name(w)) == subject {
			return slot - 1
		}
	}
}

// grow doubles the slots. Hashes are kept in the rows, so no subject is looked at.
func (r *roster) grow() {
	r.slots = make([]uint32, 2*len(r.slots))
	mask := uint32(len(r.slots) - 1)
	for n := range r.rows {
		i := r.rows[n].hash & mask
		for r.slots[i] != 0 {
			i = (i + 1) & mask
		}
		r.slots[i] = uint32(n) + 1
	}
}

// name is the subject of a row, as part of names.
func (r *roster) name(w *row) []byte { return r.names[w.name : w.name+w.nameBytes] }

// each calls visit with the sequences under a subject, ascending.
func (r *roster) each(w *row, visit func(sequence uint64)) {
	message := w.first
	for range w.count {
		visit(r.sequences[message])
		message = r.follows[message]
	}
}

// sorted returns the numbers of the rows in the order of their subjects. Comparing whole names would
// wait for memory at each step: so those are sorted by eight bytes, taken from where names begin to differ.
func (r *roster) sorted() []uint32 {
	type key struct {
		part uint64
		row  uint32
	}
	keys := make([]key, len(r.rows))
	common := r.commonPrefix()
	for i := range r.rows {
		var part [8]byte
		copy(part[:], r.name(&r.rows[i])[common:])
		keys[i] = key{part: binary.BigEndian.Uint64(part[:]), row: uint32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.part < b.part:
			return -1
		case a.part > b.part:
			return 1
		default:
			return bytes.Compare(r.name(&r.rows[a.row]), r.name(&r.rows[b.row]))
		}
	})
	order := make([]uint32, len(keys))
	for i := range keys {
		order[i] = keys[i].row
	}
	return order
}

// commonPrefix is how many bytes all subjects begin with alike.
func (r *roster) commonPrefix() int {
	first := r.name(&r.rows[0])
	for i := range r.rows {
		first = first[:sharedBytes(first, r.name(&r.rows[i]))]
	}
	return len(first)
}

// sharedBytes is how many bytes a and b begin with alike.
func sharedBytes(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
