package body

import (
	"cmp"
	"slices"
)

// chunkSize is how many sequences share a chunk. A chunk without live messages is freed, so that
// holes between live messages cost nothing however long they are.
const chunkSize = 64

// Memory is a body that is nothing but memory, with exact tables: for memory streams, and as what
// other bodies are compared with.
//
// Invariants: chunks have a live record each and are in the order of their numbers; every live record
// is in the list of its subject; every subject in the table has a live record.
type Memory struct {
	chunks   []*chunk
	subjects map[string]*sequences
	ids      map[string]noted
	// order has the ids by the time at which they were noted, oldest first. One that was noted
	// again occurs twice.
	order []notedID
}

// chunk has the sequences from number*chunkSize on.
type chunk struct {
	number  uint64
	records [chunkSize]record
	live    int
}

// record is a message; it lives when it has a subject.
type record struct {
	subject         *sequences
	header, payload []byte
	time, expires   int64
	bytes           uint64
}

type noted struct {
	seq  uint64
	time int64
}

type notedID struct {
	noted
	id string
}

// NewMemory returns an empty body.
func NewMemory() *Memory {
	return &Memory{subjects: map[string]*sequences{}, ids: map[string]noted{}}
}

// find returns the position of the first chunk with a number >= the given one, and whether it is
// that one. Without holes it is found at once.
func (m *Memory) find(number uint64) (int, bool) {
	if len(m.chunks) == 0 || number <= m.chunks[0].number {
		return 0, len(m.chunks) > 0 && number == m.chunks[0].number
	}
	if i := number - m.chunks[0].number; i < uint64(len(m.chunks)) && m.chunks[i].number == number {
		return int(i), true
	}
	return slices.BinarySearchFunc(m.chunks, number, func(c *chunk, n uint64) int { return cmp.Compare(c.number, n) })
}

// at returns the live record of seq, nil if there is none.
func (m *Memory) at(seq uint64) *record {
	i, found := m.find(seq / chunkSize)
	if !found {
		return nil
	}
	r := &m.chunks[i].records[seq%chunkSize]
	if r.subject == nil {
		return nil
	}
	return r
}

// Append adds a message behind all others.
func (m *Memory) Append(message *Message, meta *Meta) {
	list := m.subjects[message.Subject]
	if list == nil {
		list = newSequences(message.Subject)
		m.subjects[message.Subject] = list
	}
	list.add(message.Sequence)
	number := message.Sequence / chunkSize
	n := len(m.chunks)
	if n == 0 || m.chunks[n-1].number != number {
		m.chunks = append(m.chunks, &chunk{number: number})
		n++
	}
	c := m.chunks[n-1]
	c.live++
	c.records[message.Sequence%chunkSize] = record{
		subject: list, header: message.Header, payload: message.Payload,
		time: message.Time, expires: meta.Expires, bytes: meta.Bytes,
	}
}

// Remove removes a live message.
func (m *Memory) Remove(meta *Meta, _ Reason) {
	m.remove(meta.Sequence)
}

// RemoveRange removes all live messages from..to.
func (m *Memory) RemoveRange(from, to uint64, _ Reason) {
	for seq := m.next(from); seq != 0 && seq <= to; seq = m.next(seq + 1) {
		m.remove(seq)
	}
}

// remove removes a message, and its chunk when that was its last.
func (m *Memory) remove(seq uint64) {
	i, found := m.find(seq / chunkSize)
	if !found {
		return
	}
	c := m.chunks[i]
	list := c.records[seq%chunkSize].subject
	if list == nil {
		return
	}
	list.remove(seq)
	if list.len() == 0 {
		delete(m.subjects, list.subject)
	}
	c.records[seq%chunkSize] = record{}
	c.live--
	switch {
	case c.live > 0:
	case i == 0:
		m.chunks[0] = nil
		m.chunks = m.chunks[1:]
	default:
		m.chunks = slices.Delete(m.chunks, i, i+1)
	}
}

// Remember notes a message id.
func (m *Memory) Remember(id []byte, seq uint64, time int64) {
	key := string(id)
	n := noted{seq, time}
	m.ids[key] = n
	m.order = append(m.order, notedID{n, key})
}

// MessageIDs calls yield for all ids that are remembered, in any order.
func (m *Memory) MessageIDs(yield func(id string, seq uint64, time int64)) {
	for id, n := range m.ids {
		yield(id, n.seq, n.time)
	}
}

// Forget drops all ids with a time < before.
func (m *Memory) Forget(before int64) {
	n := 0
	for ; n < len(m.order) && m.order[n].time < before; n++ {
		// An id that was noted again since then stays.
		if id := m.order[n].id; m.ids[id].time < before {
			delete(m.ids, id)
		}
		m.order[n] = notedID{}
	}
	m.order = m.order[n:]
}

// sequences are the live sequences of a subject, ascending.
type sequences struct {
	subject string
	list    []uint64
	// few is where the list is while it is short.
	few [2]uint64
}

// movedAtMost is up to which length a list is moved down when its front goes, so that it stays where
// it is; longer ones are cut instead.
const movedAtMost = 32

func newSequences(subject string) *sequences {
	s := &sequences{subject: subject}
	s.list = s.few[:0]
	return s
}

func (s *sequences) len() int { return len(s.list) }

func (s *sequences) add(seq uint64) { s.list = append(s.list, seq) }

// remove takes seq out by moving the shorter side.
func (s *sequences) remove(seq uint64) {
	i, found := slices.BinarySearch(s.list, seq)
	if !found {
		return
	}
	if i < len(s.list)/2 && len(s.list) > movedAtMost {
		copy(s.list[1:i+1], s.list[:i])
		s.list = s.list[1:]
		return
	}
	s.list = slices.Delete(s.list, i, i+1)
}

// from returns the position of the first sequence >= seq.
func (s *sequences) from(seq uint64) int {
	i, _ := slices.BinarySearch(s.list, seq)
	return i
}

func (s *sequences) state() SubjectState {
	return SubjectState{First: s.list[0], Last: s.list[len(s.list)-1], Count: uint64(len(s.list))}
}
