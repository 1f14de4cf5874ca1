package jetlog

import "slices"

// chunkSize is how many sequences share a chunk. A chunk without live messages is freed, so that a
// hole between live messages costs a pointer for so many sequences.
const chunkSize = 256

// Memory is a body that is nothing but memory, with exact tables: for memory streams, and as what
// other bodies are compared with.
//
// Invariants: chunks[i] holds the sequences (base+i)*chunkSize and so on, and is nil when none of
// them lives; the last chunk is not nil; every live record is in the list of its subject; every
// subject in the table has a live record.
type Memory struct {
	chunks   []*chunk
	base     uint64
	subjects map[string]*sequences
	ids      map[string]noted
	// order has the ids by the time at which they were noted, oldest first. One that was noted
	// again occurs twice.
	order []notedID
}

type chunk struct {
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
	id   string
	time int64
}

// NewMemory returns an empty body.
func NewMemory() *Memory {
	return &Memory{subjects: map[string]*sequences{}, ids: map[string]noted{}}
}

// at returns the live record of seq, nil if there is none.
func (m *Memory) at(seq uint64) *record {
	i := seq/chunkSize - m.base
	if i >= uint64(len(m.chunks)) || m.chunks[i] == nil {
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
	n := message.Sequence / chunkSize
	if len(m.chunks) == 0 {
		m.base = n
	}
	for n-m.base >= uint64(len(m.chunks)) {
		m.chunks = append(m.chunks, nil)
	}
	c := m.chunks[n-m.base]
	if c == nil {
		c = &chunk{}
		m.chunks[n-m.base] = c
	}
	c.live++
	c.records[message.Sequence%chunkSize] = record{
		subject: list, header: message.Header, payload: message.Payload,
		time: message.Time, expires: meta.Expires, bytes: meta.Bytes,
	}
}

// Remove removes a live message.
func (m *Memory) Remove(meta *Meta, _ Reason) {
	m.remove(meta.Sequence)
	m.trim()
}

// RemoveRange removes all live messages from..to.
func (m *Memory) RemoveRange(from, to uint64, _ Reason) {
	for seq := m.next(from); seq != 0 && seq <= to; seq = m.next(seq + 1) {
		m.remove(seq)
	}
	m.trim()
}

// remove removes a message and may leave nil chunks at both ends.
func (m *Memory) remove(seq uint64) {
	r := m.at(seq)
	if r == nil {
		return
	}
	list := r.subject
	list.remove(seq)
	if list.len() == 0 {
		delete(m.subjects, list.subject)
	}
	*r = record{}
	c := &m.chunks[seq/chunkSize-m.base]
	(*c).live--
	if (*c).live == 0 {
		*c = nil
	}
}

// trim drops nil chunks at both ends.
func (m *Memory) trim() {
	for len(m.chunks) > 0 && m.chunks[0] == nil {
		m.chunks = m.chunks[1:]
		m.base++
	}
	for n := len(m.chunks); n > 0 && m.chunks[n-1] == nil; n-- {
		m.chunks = m.chunks[:n-1]
	}
}

// Remember notes a message id.
func (m *Memory) Remember(id []byte, seq uint64, time int64) {
	key := string(id)
	m.ids[key] = noted{seq, time}
	m.order = append(m.order, notedID{key, time})
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
