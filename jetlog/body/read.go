package body

import (
	"slices"
	"sort"
	"strings"
)

// Meta returns what is known of a live message.
func (m *Memory) Meta(seq uint64) (Meta, error) {
	r := m.at(seq)
	if r == nil {
		return Meta{}, nil
	}
	return Meta{Sequence: seq, Time: r.time, Subject: r.subject.subject, Bytes: r.bytes, Expires: r.expires}, nil
}

// Load returns a live message.
func (m *Memory) Load(seq uint64) (Message, error) {
	r := m.at(seq)
	if r == nil {
		return Message{}, nil
	}
	return Message{Sequence: seq, Time: r.time, Subject: r.subject.subject, Header: r.header, Payload: r.payload}, nil
}

// Next returns the first live sequence >= seq.
func (m *Memory) Next(seq uint64) (uint64, error) { return m.next(seq), nil }

func (m *Memory) next(seq uint64) uint64 {
	i, found := m.find(seq / chunkSize)
	k := uint64(0)
	if found {
		k = seq % chunkSize
	}
	for ; i < len(m.chunks); i++ {
		for ; k < chunkSize; k++ {
			if m.chunks[i].records[k].subject != nil {
				return m.chunks[i].number*chunkSize + k
			}
		}
		k = 0
	}
	return 0
}

// Subject returns the state of exactly this subject.
func (m *Memory) Subject(subject string) (SubjectState, error) {
	if list := m.subjects[subject]; list != nil {
		return list.state(), nil
	}
	return SubjectState{}, nil
}

// NextOf returns the first live sequence >= seq that the filter matches.
func (m *Memory) NextOf(filter Filter, seq uint64) (uint64, error) {
	if filter.All() {
		return m.next(seq), nil
	}
	if subject, ok := filter.Literal(); ok {
		list := m.subjects[subject]
		if list == nil {
			return 0, nil
		}
		if i := list.from(seq); i < list.len() {
			return list.list[i], nil
		}
		return 0, nil
	}
	for seq = m.next(seq); seq != 0; seq = m.next(seq + 1) {
		if filter.Matches(m.at(seq).subject.subject) {
			return seq, nil
		}
	}
	return 0, nil
}

// LastOf returns the last live sequence <= upTo that the filter matches.
func (m *Memory) LastOf(filter Filter, upTo uint64) (uint64, error) {
	if subject, ok := filter.Literal(); ok {
		return lastUpTo(m.subjects[subject], upTo), nil
	}
	i, found := m.find(upTo / chunkSize)
	k := upTo%chunkSize + 1
	if !found {
		i--
		k = chunkSize
	}
	for ; i >= 0; i-- {
		c := m.chunks[i]
		for ; k > 0; k-- {
			if r := &c.records[k-1]; r.subject != nil && filter.Matches(r.subject.subject) {
				return c.number*chunkSize + k - 1, nil
			}
		}
		k = chunkSize
	}
	return 0, nil
}

func lastUpTo(list *sequences, upTo uint64) uint64 {
	if list == nil {
		return 0
	}
	i, found := slices.BinarySearch(list.list, upTo)
	switch {
	case found:
		return upTo
	case i > 0:
		return list.list[i-1]
	}
	return 0
}

// Count returns how many live messages >= from the filter matches.
func (m *Memory) Count(filter Filter, from uint64) (uint64, error) {
	if filter.All() {
		return m.countAll(from), nil
	}
	if subject, ok := filter.Literal(); ok {
		if list := m.subjects[subject]; list != nil {
			return uint64(list.len() - list.from(from)), nil
		}
		return 0, nil
	}
	n := uint64(0)
	for subject, list := range m.subjects { // a sum does not depend on the order
		if list.list[list.len()-1] >= from && filter.Matches(subject) {
			n += uint64(list.len() - list.from(from))
		}
	}
	return n, nil
}

func (m *Memory) countAll(from uint64) uint64 {
	n := uint64(0)
	i, found := m.find(from / chunkSize)
	if found {
		for k := from % chunkSize; k < chunkSize; k++ {
			if m.chunks[i].records[k].subject != nil {
				n++
			}
		}
		i++
	}
	for ; i < len(m.chunks); i++ {
		n += uint64(m.chunks[i].live)
	}
	return n
}

// Size returns the number and the bytes of the live messages from..to.
func (m *Memory) Size(from, to uint64) (messages, bytes uint64, err error) {
	for seq := m.next(from); seq != 0 && seq <= to; seq = m.next(seq + 1) {
		messages++
		bytes += m.at(seq).bytes
	}
	return messages, bytes, nil
}

// Subjects calls yield for every subject that the filter matches.
func (m *Memory) Subjects(filter Filter, yield func(string, SubjectState) bool) error {
	if subject, ok := filter.Literal(); ok {
		if list := m.subjects[subject]; list != nil {
			yield(subject, list.state())
		}
		return nil
	}
	var found []*sequences
	for subject, list := range m.subjects {
		if filter.Matches(subject) {
			found = append(found, list)
		}
	}
	slices.SortFunc(found, func(a, b *sequences) int { return strings.Compare(a.subject, b.subject) })
	for _, list := range found {
		if !yield(list.subject, list.state()) {
			break
		}
	}
	return nil
}

// SubjectCount returns how many subjects have live messages. It goes through nothing.
func (m *Memory) SubjectCount() int { return len(m.subjects) }

// AppendSubjects appends all subjects with live messages to a list, in no order.
func (m *Memory) AppendSubjects(list []string) []string {
	for subject := range m.subjects {
		list = append(list, subject)
	}
	return list
}

// States calls yield for every subject with live messages, in no order.
func (m *Memory) States(yield func(subject string, state SubjectState)) {
	for subject, list := range m.subjects {
		yield(subject, list.state())
	}
}

// MessageID returns the sequence and time that were remembered for id.
func (m *Memory) MessageID(id []byte) (seq uint64, time int64, err error) {
	n := m.ids[string(id)]
	return n.seq, n.time, nil
}

// FirstAfter returns the first live sequence with a time >= time.
func (m *Memory) FirstAfter(time int64) (uint64, error) {
	i := sort.Search(len(m.chunks), func(i int) bool { return m.chunks[i].latest() >= time })
	if i == len(m.chunks) {
		return 0, nil
	}
	c := m.chunks[i]
	k := 0
	for c.records[k].subject == nil || c.records[k].time < time {
		k++
	}
	return c.number*chunkSize + uint64(k), nil
}

// latest returns the time of the last live message, which a chunk has.
func (c *chunk) latest() int64 {
	k := chunkSize - 1
	for c.records[k].subject == nil {
		k--
	}
	return c.records[k].time
}
