package jetlog

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/passed"
)

// Passed returns the messages that the leader has passed over, which are still to be delivered for the first time. It must
// not be changed, and may be nil, which is empty.
func (c *Consumer) Passed() *passed.Set { return c.passed }

// skipOver notes what the leader has looked at. What the consumer does not want counts as settled.
func (s *Stream) skipOver(k *command.Skip, m Messages) (Result, error) {
	c := s.Consumer(k.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound), nil
	}
	if k.Incarnation != c.incarnation || k.Above > c.delivered.Stream || k.UpTo > s.state.Last {
		return refusedWith(config.BadRequest, "the consumer has begun again since"), nil
	}
	settled, err := s.planSkip(c, k, m)
	if err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	for _, seq := range s.scratch.counts {
		c.pass(seq)
	}
	c.buryFailed(s.scratch.failed, s.clock)
	c.pending -= settled
	if k.UpTo > c.delivered.Stream {
		c.delivered.Stream = k.UpTo
		c.initial.Pass(k.UpTo)
		c.settleFloor()
	}
	return Result{Removed: s.remove(m)}, nil
}

// planSkip finds out which messages are passed over, plans that those go which nobody wants any more, and returns how many
// the consumer does not want. A purge may have taken it further than where the leader began: what is below is done.
func (s *Stream) planSkip(c *Consumer, k *command.Skip, m Messages) (settled uint64, err error) {
	later, failed := k.Passed, k.Failed
	seq, err := c.following(c.delivered.Stream, m)
	for ; err == nil && seq != 0 && seq <= k.UpTo; seq, err = c.following(seq, m) {
		if later = from(later, seq); len(later) > 0 && later[0] == seq {
			s.scratch.counts = append(s.scratch.counts, seq)
			continue
		}
		settled++
		if failed = from(failed, seq); len(failed) > 0 && failed[0] == seq && c.letters != nil {
			s.scratch.failed = append(s.scratch.failed, seq)
			continue
		}
		if c.letters.Has(seq) {
			continue
		}
		if s.config.Retention != config.LimitsRetention {
			if err := s.planIfUnneeded(seq, c, m); err != nil {
				return 0, err
			}
		}
	}
	return settled, err
}

// from returns those of ascending sequences that are not below a given one.
func from(list []uint64, seq uint64) []uint64 {
	for len(list) > 0 && list[0] < seq {
		list = list[1:]
	}
	return list
}

// pass notes that a message comes later.
func (c *Consumer) pass(seq uint64) {
	if c.passed == nil {
		c.passed = &passed.Set{}
	}
	c.passed.Add(seq)
}

// unpass forgets a message that was passed over, and reports whether it was.
func (c *Consumer) unpass(seq uint64) bool {
	was := c.passed.Remove(seq)
	if was {
		c.pending--
	}
	return was
}

// stillPassed returns those of the messages that were passed over that another filter matches too.
func (c *Consumer) stillPassed(filter Filter, m Messages) (*passed.Set, error) {
	return c.passed.Those(func(seq uint64) (bool, error) {
		meta, err := live(m, seq)
		return err == nil && filter.Matches(meta.Subject), err
	})
}

// passing returns the consumers of which messages were passed over.
func (s *Stream) passing() []*Consumer {
	var list []*Consumer
	for _, c := range s.consumers {
		if c.passed.Len() > 0 {
			list = append(list, c)
		}
	}
	return list
}

// appendAllPassed appends what was passed over of all consumers, by name.
func (s *Stream) appendAllPassed(out []byte) []byte {
	list := s.passing()
	out = codec.AppendUint(out, uint64(len(list)))
	for _, c := range list {
		out = c.passed.AppendSnapshot(codec.AppendBytes(out, c.name))
	}
	return out
}

// readAllPassed reads what appendAllPassed has written, and reports whether it fits the consumers.
func (s *Stream) readAllPassed(r *codec.Reader) bool {
	last := ""
	for range r.Count(3) {
		name := r.String()
		c := s.Consumer(name)
		if c == nil || name <= last {
			return false
		}
		c.passed = passed.Read(r)
		last = name
		if r.Err() == nil && c.passed.Len() == 0 {
			return false
		}
	}
	return true
}

// checkPassed verifies what was passed over of a consumer, and returns how much that is.
func (c *Consumer) checkPassed(live map[uint64]bool, wrong func(string, ...any)) uint64 {
	c.passed.Check(wrong)
	for seq := range c.passed.All {
		if !live[seq] || seq > c.delivered.Stream || seq <= c.floor.Stream || c.waits(seq) {
			wrong("message %d was passed over", seq)
		}
	}
	return c.passed.Len()
}

// Exhausted returns, ascending, the messages that were delivered as often as allowed, or have failed for good and keep their
// place, and are not settled. The slice must not be changed.
func (c *Consumer) Exhausted() []uint64 { return c.exhausted }

// Due returns when the answer to a delivery is due, or when it has rested, in nanoseconds since 1970; 0 for never, and for what
// is to be delivered again now.
func (c *Consumer) Due(seq uint64) int64 {
	if d := c.acks.Find(seq); d != nil {
		return d.Deadline
	}
	return 0
}

// GivenUp reports whether a message is one of these.
func (c *Consumer) GivenUp(seq uint64) bool { return c.exhausted.Has(seq) }

// Unanswered calls yield for the messages that wait for an answer, in the order of their sequences, until it returns false.
func (c *Consumer) Unanswered(yield func(seq uint64) bool) {
	for d := range c.acks.All() {
		if !yield(d.Sequence) {
			return
		}
	}
}
