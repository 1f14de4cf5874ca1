package jetlog

import (
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// choreMax is how many messages one command looks at to remove them. What is more than that is left as a
// chore, so that no command holds up others for long.
const choreMax = 8192

// chore is what a command has decided and left to be done: the messages that go, among those from next to
// upTo. It is part of the state, so that it is done whatever happens to whoever has begun it. Messages that come
// later are not concerned.
type chore struct {
	kind   choreKind
	filter Filter // what is looked at, empty for all
	next   uint64
	upTo   uint64
	reason Reason
}

// choreKind says which of the messages go. The numbers are part of the snapshot's format.
type choreKind uint8

const (
	choreAll      choreKind = iota // all
	choreUnneeded                  // those that no consumer needs
	choreExcess                    // the oldest of subjects with more than are allowed
	choreFit                       // the oldest, until the stream keeps its limits
	choreKinds
)

// postpone adds a chore, to one like it that there is already, if any.
func (s *Stream) postpone(c chore) {
	for i := range s.chores {
		old := &s.chores[i]
		if old.kind == c.kind && old.reason == c.reason && slices.Equal(old.filter, c.filter) {
			old.next, old.upTo = min(old.next, c.next), max(old.upTo, c.upTo)
			return
		}
	}
	s.chores = append(s.chores, c)
}

// postponeAll adds the chores of a plan, and tells in the result that there are some.
func (s *Stream) postponeAll(r *Result) {
	for _, c := range s.scratch.chores {
		s.postpone(c)
		r.More = true
	}
}

// tooMany reports whether the filter matches more messages from a sequence on than one command looks at.
func tooMany(filter Filter, from uint64, m Messages) (bool, error) {
	n, err := m.Count(filter, from)
	return n > choreMax, err
}

// Unfinished reports whether commands have left something for Continue to do.
func (s *Stream) Unfinished() bool { return len(s.chores) > 0 }

// carryOn does a part of the first chore. Result.More tells that there is more to do, of this or another.
func (s *Stream) carryOn(_ *command.Continue, m Messages) (Result, error) {
	if len(s.chores) == 0 {
		return Result{}, nil
	}
	c := s.chores[0]
	done, err := s.planChore(&c, m)
	if err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	r := Result{Removed: s.remove(m)}
	if s.chores[0] = c; done {
		s.chores = slices.Delete(s.chores, 0, 1)
	}
	r.More = s.Unfinished()
	return r, nil
}

// planChore plans a part of a chore, moves it on, and reports whether nothing is left of it.
func (s *Stream) planChore(c *chore, m Messages) (bool, error) {
	if c.kind == choreFit {
		if s.config.Discard == config.DiscardNew {
			return true, nil
		}
		err := s.planOver(s.state.Messages, s.state.Bytes, nil, m)
		return len(s.scratch.removals) < choreMax, err
	}
	planned := map[string]uint64{}
	for range choreMax {
		seq, err := m.NextOf(c.filter, c.next)
		if err != nil || seq == 0 || seq > c.upTo {
			return true, err
		}
		meta, err := live(m, seq)
		if err != nil {
			return false, err
		}
		goes, err := s.goes(c, meta, planned, m)
		if err != nil {
			return false, err
		}
		if goes {
			s.scratch.plan(meta, c.reason)
		}
		c.next = seq + 1
	}
	return false, nil
}

// goes reports whether a message goes by a chore. Planned counts those that go before it, by subject.
func (s *Stream) goes(c *chore, meta Meta, planned map[string]uint64, m Messages) (bool, error) {
	switch c.kind {
	case choreUnneeded:
		return s.config.Retention == config.InterestRetention && !s.neededByOthers(meta.Sequence, meta.Subject, nil), nil
	case choreExcess:
		state, err := m.Subject(meta.Subject)
		limit := uint64(max(s.config.MaxPerSubject, 0))
		if err != nil || limit == 0 || state.Count-planned[meta.Subject] <= limit {
			return false, err
		}
		planned[meta.Subject]++
	}
	return true, nil
}

// appendChores appends all chores in their order.
func (s *Stream) appendChores(out []byte) []byte {
	out = codec.AppendUint(out, uint64(len(s.chores)))
	for i := range s.chores {
		c := &s.chores[i]
		out = append(out, byte(c.kind), byte(c.reason))
		out = codec.AppendUint(codec.AppendUint(out, c.next), c.upTo)
		out = codec.AppendUint(out, uint64(len(c.filter)))
		for _, pattern := range c.filter {
			out = codec.AppendBytes(out, pattern)
		}
	}
	return out
}

// readChores reads what appendChores has written.
func (s *Stream) readChores(r *codec.Reader) {
	for range r.Count(5) {
		c := chore{kind: choreKind(r.Byte()), reason: Reason(r.Byte()), next: r.Uint(), upTo: r.Uint()}
		for range r.Count(1) {
			c.filter = append(c.filter, r.String())
		}
		if c.kind >= choreKinds || int(c.reason) >= len(s.removed) {
			r.Fail("a chore is unknown")
		}
		s.chores = append(s.chores, c)
	}
}
