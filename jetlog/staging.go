package jetlog

import (
	"cmp"
	"slices"
)

// staging is a body as it would be after some messages that are planned and not stored yet: what lies
// below it, less what they displace, and they themselves. It answers the questions of plans. It is never
// changed like a body.
//
// Invariant: members ascend and are above base, the last sequence below.
type staging struct {
	Messages
	base      uint64
	members   []member
	bySubject map[string][]uint64 // live members
	removals  []removal           // what goes, members included
	gone      map[uint64]struct{} // the same as sequences
	goneOf    map[string]uint64   // how many go below, by subject
}

// member is a planned message.
type member struct {
	meta            Meta
	header, payload []byte
}

func newStaging(below Messages, last uint64) *staging {
	return &staging{
		Messages: below, base: last, bySubject: map[string][]uint64{}, gone: map[uint64]struct{}{}, goneOf: map[string]uint64{},
	}
}

// add plans a message behind all others.
func (b *staging) add(meta *Meta, header, payload []byte) {
	b.members = append(b.members, member{*meta, header, payload})
	b.bySubject[meta.Subject] = append(b.bySubject[meta.Subject], meta.Sequence)
}

// remove plans that messages go.
func (b *staging) remove(removals []removal) {
	for i := range removals {
		r := &removals[i]
		b.gone[r.Sequence] = struct{}{}
		if r.Sequence <= b.base {
			b.goneOf[r.Subject]++
			continue
		}
		list := b.bySubject[r.Subject]
		if k, found := slices.BinarySearch(list, r.Sequence); found {
			b.bySubject[r.Subject] = slices.Delete(list, k, k+1)
		}
	}
	b.removals = append(b.removals, removals...)
}

func (b *staging) has(seq uint64) bool {
	_, gone := b.gone[seq]
	return !gone
}

// find returns the position of the first member with a sequence >= seq, and whether it has it and lives.
func (b *staging) find(seq uint64) (int, bool) {
	i, found := slices.BinarySearchFunc(b.members, seq, func(m member, seq uint64) int { return cmp.Compare(m.meta.Sequence, seq) })
	return i, found && b.has(seq)
}

// Meta returns what is known of a live message.
func (b *staging) Meta(seq uint64) (Meta, error) {
	if seq > b.base {
		if i, live := b.find(seq); live {
			return b.members[i].meta, nil
		}
		return Meta{}, nil
	}
	if !b.has(seq) {
		return Meta{}, nil
	}
	return b.Messages.Meta(seq)
}

// Load returns a live message.
func (b *staging) Load(seq uint64) (Message, error) {
	if seq > b.base {
		if i, live := b.find(seq); live {
			m := &b.members[i]
			return Message{Sequence: seq, Time: m.meta.Time, Subject: m.meta.Subject, Header: m.header, Payload: m.payload}, nil
		}
		return Message{}, nil
	}
	if !b.has(seq) {
		return Message{}, nil
	}
	return b.Messages.Load(seq)
}

// Next returns the first live sequence >= seq.
func (b *staging) Next(seq uint64) (uint64, error) { return b.NextOf(nil, seq) }

// NextOf returns the first live sequence >= seq that the filter matches.
func (b *staging) NextOf(filter Filter, seq uint64) (uint64, error) {
	for seq <= b.base {
		next, err := b.Messages.NextOf(filter, seq)
		if err != nil || next != 0 && b.has(next) {
			return next, err
		}
		if next == 0 {
			break
		}
		seq = next + 1
	}
	for i, _ := b.find(seq); i < len(b.members); i++ {
		m := &b.members[i].meta
		if b.has(m.Sequence) && filter.Matches(m.Subject) {
			return m.Sequence, nil
		}
	}
	return 0, nil
}

// Subject returns the state of exactly this subject. Below, messages of a subject go from the oldest on.
func (b *staging) Subject(subject string) (SubjectState, error) {
	state, err := b.Messages.Subject(subject)
	if err != nil {
		return state, err
	}
	if n := b.goneOf[subject]; n > 0 && n < state.Count {
		state.Count -= n
		if state.First, err = b.NextOf(Filter{subject}, state.First); err != nil {
			return state, err
		}
	} else if n > 0 {
		state = SubjectState{}
	}
	if list := b.bySubject[subject]; len(list) > 0 {
		if state.Count == 0 {
			state.First = list[0]
		}
		state.Last = list[len(list)-1]
		state.Count += uint64(len(list))
	}
	return state, nil
}
