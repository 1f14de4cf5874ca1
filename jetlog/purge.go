package jetlog

import (
	"strconv"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// deleteMessage removes one message.
func (s *Stream) deleteMessage(c *command.Delete, m Messages) (Result, error) {
	switch {
	case s.config.Sealed:
		return refused(config.Sealed), nil
	case s.config.DenyDelete:
		return refusedWith(config.MessageDeleteRefused, "message delete not permitted"), nil
	}
	meta, err := m.Meta(c.Sequence)
	if err != nil {
		return Result{}, err
	}
	if meta.Sequence == 0 {
		return refusedWith(config.SequenceNotFound, strconv.FormatUint(c.Sequence, 10)), nil
	}
	s.scratch.plan(meta, Deleted)
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	return Result{Sequence: c.Sequence, Removed: s.remove(m)}, nil
}

// purge removes the messages that a filter matches, all but the newest, or all below a sequence.
func (s *Stream) purge(c *command.Purge, m Messages) (Result, error) {
	switch {
	case s.config.Sealed:
		return refused(config.Sealed), nil
	case s.config.DenyPurge:
		return refusedWith(config.PurgeRefused, "stream purge not permitted"), nil
	case c.Sequence > 0 && c.Keep > 0:
		return refused(config.BadRequest), nil
	}
	filter := Filter{c.Filter}
	if c.Filter != "" && !filter.All() {
		return s.purgeMatching(filter, c, m)
	}
	upTo := s.state.Last
	switch {
	case c.Sequence > command.SequenceMax:
		return refused(config.BadRequest), nil
	case c.Sequence > 0:
		upTo = c.Sequence - 1
	case c.Keep > 0:
		if c.Keep >= s.state.Messages {
			return Result{}, nil
		}
		last, err := s.lastToGo(nil, s.state.First, s.state.Messages-c.Keep, c.Keep, m)
		if err != nil {
			return Result{}, err
		}
		upTo = last
	}
	return s.purgeBelow(upTo, m)
}

// lastToGo returns the sequence up to which n that match go, with the first of them, so that some of the newest
// that match are kept, at least one. It counts from the nearer end.
func (s *Stream) lastToGo(filter Filter, first, n, keep uint64, m Messages) (uint64, error) {
	var err error
	if keep < n {
		seq := s.state.Last + 1
		for ; err == nil && keep > 0; keep-- {
			seq, err = m.LastOf(filter, seq-1)
		}
		return seq - 1, err
	}
	seq := first
	for ; err == nil && n > 0; n-- {
		seq, err = m.NextOf(filter, seq+1)
	}
	return seq - 1, err
}

// purgeMatching removes messages one by one.
func (s *Stream) purgeMatching(filter Filter, c *command.Purge, m Messages) (Result, error) {
	n, first, err := matchesOf(filter, m)
	if err != nil {
		return Result{}, err
	}
	n -= min(n, c.Keep)
	upTo := s.state.Last
	if c.Sequence > 0 {
		kept, err := m.Count(filter, c.Sequence)
		if err != nil {
			return Result{}, err
		}
		n -= min(n, kept)
		upTo = min(upTo, c.Sequence-1)
	}
	if n > choreMax {
		if c.Keep > 0 {
			if upTo, err = s.lastToGo(filter, first, n, c.Keep, m); err != nil {
				return Result{}, err
			}
		}
		s.postpone(chore{kind: choreAll, filter: filter, next: first, upTo: upTo, reason: Purged})
		return Result{More: true}, nil
	}
	if err := s.planOldest(filter, first, n, Purged, m); err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	return Result{Removed: s.remove(m)}, nil
}

// matchesOf returns how many messages match, and the first of them. Of one subject that is known without counting.
func matchesOf(filter Filter, m Messages) (n, first uint64, err error) {
	if subject, ok := filter.Literal(); ok {
		state, err := m.Subject(subject)
		return state.Count, state.First, err
	}
	if n, err = m.Count(filter, 0); err != nil {
		return 0, 0, err
	}
	first, err = m.NextOf(filter, 0)
	return n, first, err
}

// purgeBelow removes all messages up to a sequence at once. Beyond the last sequence, those between
// are passed over and never given. Consumers are moved behind it, so that what they have still to come
// is counted afresh.
func (s *Stream) purgeBelow(upTo uint64, m Messages) (Result, error) {
	if upTo == 0 {
		return Result{}, nil
	}
	messages, bytes, err := m.Size(0, upTo)
	if err != nil {
		return Result{}, err
	}
	next, err := m.Next(upTo + 1)
	if err != nil {
		return Result{}, err
	}
	var meta Meta
	if next > 0 {
		if meta, err = live(m, next); err != nil {
			return Result{}, err
		}
	}
	if err := s.planCounts(upTo, m); err != nil {
		return Result{}, err
	}
	m.RemoveRange(0, upTo, Purged)
	s.ttl.Drop(0, upTo)
	s.kept.Retain(func(seq uint64) bool { return seq > upTo })
	s.schedules.GoneUpTo(upTo)
	s.state.Messages -= messages
	s.state.Bytes -= bytes
	s.removed[Purged] += messages
	s.state.Last = max(s.state.Last, upTo)
	s.state.First, s.state.FirstTime = s.state.Last+1, 0
	if next > 0 {
		s.state.First, s.state.FirstTime = next, meta.Time
	}
	s.withdrawBelow(upTo)
	return Result{Removed: messages}, nil
}
