package body

import (
	"cmp"
	"slices"
)

// Overlay is a body as it would be after some messages that are planned and not stored yet: what lies below
// it, less what they displace, and they themselves. It answers the questions of plans, and is never changed like a
// body: the methods that change one must not be called.
//
// Invariant: members ascend and are above base, the last sequence below.
type Overlay struct {
	Messages
	base      uint64
	members   []member
	bySubject map[string][]uint64 // live members
	gone      map[uint64]struct{} // sequences, of members too
	goneOf    map[string]uint64   // how many go below, by subject
}

// member is a planned message.
type member struct {
	meta            Meta
	header, payload []byte
}

// Over returns an overlay with nothing planned. Last is the last sequence that was given.
func Over(below Messages, last uint64) *Overlay {
	return &Overlay{
		Messages: below, base: last, bySubject: map[string][]uint64{}, gone: map[uint64]struct{}{}, goneOf: map[string]uint64{},
	}
}

// Plan adds a message behind all others.
func (o *Overlay) Plan(meta *Meta, header, payload []byte) {
	o.members = append(o.members, member{*meta, header, payload})
	o.bySubject[meta.Subject] = append(o.bySubject[meta.Subject], meta.Sequence)
}

// PlanRemoval takes out a message. Of those below, messages of a subject go from the oldest on.
func (o *Overlay) PlanRemoval(meta *Meta) {
	o.gone[meta.Sequence] = struct{}{}
	if meta.Sequence <= o.base {
		o.goneOf[meta.Subject]++
		return
	}
	list := o.bySubject[meta.Subject]
	if i, found := slices.BinarySearch(list, meta.Sequence); found {
		o.bySubject[meta.Subject] = slices.Delete(list, i, i+1)
	}
}

func (o *Overlay) has(seq uint64) bool {
	_, gone := o.gone[seq]
	return !gone
}

// find returns the position of the first member with a sequence >= seq, and whether it has it and lives.
func (o *Overlay) find(seq uint64) (int, bool) {
	i, found := slices.BinarySearchFunc(o.members, seq, func(m member, seq uint64) int { return cmp.Compare(m.meta.Sequence, seq) })
	return i, found && o.has(seq)
}

// Meta returns what is known of a live message.
func (o *Overlay) Meta(seq uint64) (Meta, error) {
	if seq > o.base {
		if i, live := o.find(seq); live {
			return o.members[i].meta, nil
		}
		return Meta{}, nil
	}
	if !o.has(seq) {
		return Meta{}, nil
	}
	return o.Messages.Meta(seq)
}

// Load returns a live message.
func (o *Overlay) Load(seq uint64) (Message, error) {
	if seq > o.base {
		if i, live := o.find(seq); live {
			m := &o.members[i]
			return Message{Sequence: seq, Time: m.meta.Time, Subject: m.meta.Subject, Header: m.header, Payload: m.payload}, nil
		}
		return Message{}, nil
	}
	if !o.has(seq) {
		return Message{}, nil
	}
	return o.Messages.Load(seq)
}

// Next returns the first live sequence >= seq.
func (o *Overlay) Next(seq uint64) (uint64, error) { return o.NextOf(nil, seq) }

// NextOf returns the first live sequence >= seq that the filter matches.
func (o *Overlay) NextOf(filter Filter, seq uint64) (uint64, error) {
	for seq <= o.base {
		next, err := o.Messages.NextOf(filter, seq)
		if err != nil || next != 0 && o.has(next) {
			return next, err
		}
		if next == 0 {
			break
		}
		seq = next + 1
	}
	for i, _ := o.find(seq); i < len(o.members); i++ {
		m := &o.members[i].meta
		if o.has(m.Sequence) && filter.Matches(m.Subject) {
			return m.Sequence, nil
		}
	}
	return 0, nil
}

// Subject returns the state of exactly this subject.
func (o *Overlay) Subject(subject string) (SubjectState, error) {
	state, err := o.Messages.Subject(subject)
	if err != nil {
		return state, err
	}
	if n := o.goneOf[subject]; n > 0 && n < state.Count {
		state.Count -= n
		if state.First, err = o.NextOf(Filter{subject}, state.First); err != nil {
			return state, err
		}
	} else if n > 0 {
		state = SubjectState{}
	}
	if list := o.bySubject[subject]; len(list) > 0 {
		if state.Count == 0 {
			state.First = list[0]
		}
		state.Last = list[len(list)-1]
		state.Count += uint64(len(list))
	}
	return state, nil
}
