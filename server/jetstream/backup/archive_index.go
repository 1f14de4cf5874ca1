package backup

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// index is what `msgs/index.db` of version 1 says of a stream. Integers are variable, signed ones
// marked with ±:
//
//	1 byte 11, 1 byte version of the index, 1 to 4
//	messages, bytes, first sequence, ±first time, last sequence, ±last time
//	number of subjects, and for each: length, subject, messages, first block,
//	    last block (before version 4 only with more than one message)
//	number of blocks, and for each: number, bytes, first sequence, first time, last sequence,
//	    last time, how many are deleted, how many have a TTL (from version 2),
//	    how many are schedules (from version 3), and which are deleted, if any
//	position and sums, which are of no use here
type index struct {
	state   State
	deleted sequences
}

const (
	storeMagic      = 11
	indexVersionMax = 4
)

// live reports whether a message is still in the stream.
func (i *index) live(seq uint64) bool {
	return seq >= i.state.FirstSequence && seq <= i.state.LastSequence && !i.deleted.has(seq)
}

// decodeIndex reads the index and adds what is deleted to the set.
func decodeIndex(data []byte, deleted sequences) (*index, error) {
	if len(data) < 2 || data[0] != storeMagic || data[1] == 0 {
		return nil, fmt.Errorf("%w: %s does not begin as one", ErrDamaged, indexName)
	}
	version := data[1]
	if version > indexVersionMax {
		return nil, fmt.Errorf("%w: %s has version %d: restore it in the nats-server that has written it, "+
			"mirror the stream from there, or take a backup with 2.15", ErrVersion, indexName, version)
	}
	d := &decoder{data: data[2:]}
	i := &index{deleted: deleted}
	s := &i.state
	s.Messages, s.Bytes = d.unsigned(), d.unsigned()
	s.FirstSequence, s.FirstTime = d.unsigned(), at(d.signed())
	s.LastSequence, s.LastTime = d.unsigned(), at(d.signed())
	s.Subjects = d.subjects(version)
	for range d.count() {
		for range 6 { // number to last time
			d.unsigned()
		}
		missing := d.unsigned()
		for range min(version, 3) - 1 { // with a TTL, schedules
			d.unsigned()
		}
		if missing > 0 {
			d.sequences(deleted)
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("%s: %w", indexName, d.err)
	}
	if s.FirstSequence > s.LastSequence && s.FirstSequence-s.LastSequence > 1 {
		return nil, fmt.Errorf("%w: %s: first sequence %d is beyond the last, %d", ErrDamaged, indexName, s.FirstSequence, s.LastSequence)
	}
	if held := s.LastSequence - s.FirstSequence + 1; held > s.Messages {
		s.Deleted = int(min(held-s.Messages, math.MaxInt))
	}
	return i, nil
}

// at is a time as a state has it; none is 0 here and the zero time there.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// sequences is a set of sequences, in groups of groupSize.
type sequences map[uint64]*[groupSize / 64]uint64

const (
	groupSize = 2048
	// maxGroups bounds the memory of a set to some 140 MiB: a billion sequences without a gap.
	maxGroups = 1 << 19
)

func (s sequences) has(seq uint64) bool {
	group := s[seq/groupSize]
	return group != nil && group[seq%groupSize/64]&(1<<(seq%64)) != 0
}

// add adds a sequence, or returns why it has no room.
func (s sequences) add(seq uint64) error {
	group := s[seq/groupSize]
	if group == nil {
		if len(s) >= maxGroups {
			return fmt.Errorf("%w: too many deleted messages: take a backup with nats-server 2.15", ErrTooLarge)
		}
		group = new([groupSize / 64]uint64)
		s[seq/groupSize] = group
	}
	group[seq%groupSize/64] |= 1 << (seq % 64)
	return nil
}

// decoder reads integers. After the first damage it gives zeros.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("%w: it ends too early or has an invalid number", ErrDamaged)
	}
	d.data = nil
}

func (d *decoder) unsigned() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) signed() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

// count reads how many of something follow, each of which has a byte at least.
func (d *decoder) count() uint64 {
	n := d.unsigned()
	if n > uint64(len(d.data)) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// subjects skips the subjects and returns how many there are.
func (d *decoder) subjects(version byte) int {
	n := d.count()
	for range n {
		d.bytes(d.unsigned())
		messages := d.unsigned()
		d.unsigned() // first block
		if version >= 4 || messages > 1 {
			d.unsigned() // last block
		}
	}
	return int(n)
}

// A set of sequences on disk, in little endian: 1 byte 22, 1 byte version 2, 4 bytes number of
// groups, 4 bytes size, and for each group its first sequence, 32 words of 64 bits, and 2 bytes
// that belong to a tree.
const (
	setFront     = 2 + 4 + 4
	setGroupSize = 8 + groupSize/8 + 2
)

// sequences adds a set that stands here to another one.
func (d *decoder) sequences(to sequences) {
	front := d.bytes(setFront)
	if front == nil || front[0] != setMagic || front[1] != setVersion {
		d.fail()
		return
	}
	for range binary.LittleEndian.Uint32(front[2:]) {
		group := d.bytes(setGroupSize)
		if group == nil {
			return
		}
		first := binary.LittleEndian.Uint64(group)
		for i := range uint64(groupSize) {
			if group[8+i/8]&(1<<(i%8)) == 0 {
				continue
			}
			if err := to.add(first + i); err != nil {
				d.err, d.data = err, nil
				return
			}
		}
	}
}

const (
	setMagic   = 22
	setVersion = 2
)
