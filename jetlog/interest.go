package jetlog

import (
	"cmp"
	"slices"
)

// enter lets a consumer be found by what it wants.
func (s *Stream) enter(c *Consumer) { s.interest.Enter(&c.member, c, c.filter) }

// leave ends that.
func (s *Stream) leave(c *Consumer) { s.interest.Leave(&c.member) }

// matching calls do for every consumer whose filter matches the subject, once each. What is done
// must not depend on the order.
func (s *Stream) matching(subject string, do func(*Consumer) bool) { s.interest.Matching(subject, do) }

// wanted reports whether some consumer is to get a message with the sequence on the subject.
func (s *Stream) wanted(subject string, seq uint64) bool {
	found := false
	s.matching(subject, func(c *Consumer) bool {
		found = c.delivered.Stream < seq
		return !found
	})
	return found
}

// Matching appends to out the consumers whose filter matches the subject, in the order in which they
// were created or reset: those that may have something to do after a publish.
func (s *Stream) Matching(subject string, out []*Consumer) []*Consumer {
	start := len(out)
	s.matching(subject, func(c *Consumer) bool {
		out = append(out, c)
		return true
	})
	slices.SortFunc(out[start:], func(a, b *Consumer) int { return cmp.Compare(a.incarnation, b.incarnation) })
	return out
}

// arrived tells consumers of a message that was stored.
func (s *Stream) arrived(seq uint64, subject string) {
	s.matching(subject, func(c *Consumer) bool {
		if seq > c.delivered.Stream {
			c.pending++
		}
		return true
	})
}

// withdraw tells consumers that a message has gone.
func (s *Stream) withdraw(r *removal) {
	s.matching(r.Subject, func(c *Consumer) bool {
		s.noteWithdrawn(c, r)
		c.withdraw(r.Sequence)
		return true
	})
	for i := 0; s.strays > 0 && i < len(s.consumers); i++ {
		if c := s.consumers[i]; c.stray {
			s.noteWithdrawn(c, r)
			c.withdrawDelivered(r.Sequence)
			s.unstray(c)
		}
	}
}

// noteWithdrawn notes for the result that a message goes for whose delivery an answer is awaited.
func (s *Stream) noteWithdrawn(c *Consumer, r *removal) {
	if r.reason == Acked {
		return
	}
	if d := c.acks.Find(r.Sequence); d != nil {
		s.scratch.withdrawn = append(s.scratch.withdrawn, Withdrawn{
			Consumer: c.name, Sequence: d.Sequence, ConsumerSequence: d.Consumer, Deliveries: d.Count,
		})
	}
}

// unstray ends the time as a stray of a consumer that has nothing left of its former filter.
func (s *Stream) unstray(c *Consumer) {
	if c.stray && !c.unsettling() {
		c.stray = false
		s.strays--
	}
}

// unsettling reports whether something is not settled that was delivered.
func (c *Consumer) unsettling() bool {
	return c.acks.Len() > 0 || len(c.exhausted) > 0 || c.letters.Len() > 0
}

// withdraw forgets a message that the filter matches.
func (c *Consumer) withdraw(seq uint64) {
	if seq <= c.delivered.Stream {
		c.withdrawDelivered(seq)
		return
	}
	c.letters.Remove(seq)
	if c.wants(seq) {
		c.pending--
		c.initial.Remove(seq)
	}
}

func (c *Consumer) withdrawDelivered(seq uint64) {
	letter := c.letters.Remove(seq)
	if c.acks.Settle(seq) || c.unpass(seq) || letter {
		c.settleFloor()
	}
	c.exhausted.Remove(seq)
}

// planCounts finds out what every consumer will have pending when all up to a sequence has gone.
func (s *Stream) planCounts(upTo uint64, m Messages) error {
	for _, c := range s.consumers {
		n, err := c.count(max(upTo, c.delivered.Stream), m)
		if err != nil {
			return err
		}
		s.scratch.counts = append(s.scratch.counts, n+c.passed.Above(upTo))
	}
	return nil
}

// count returns how many messages above a sequence are to be delivered, without those that were passed over.
func (c *Consumer) count(above uint64, m Messages) (uint64, error) {
	n, err := m.Count(c.filter, max(above, c.initial.Resume)+1)
	for _, seq := range c.initial.Live() {
		if seq > above {
			n++
		}
	}
	return n, err
}

// withdrawBelow tells consumers that all up to a sequence has gone, by the counts of planCounts.
func (s *Stream) withdrawBelow(upTo uint64) {
	for i, c := range s.consumers {
		c.pending = s.scratch.counts[i]
		c.delivered.Stream = max(c.delivered.Stream, upTo)
		c.initial.Pass(upTo)
		c.acks.SettleUpTo(upTo)
		c.passed.RemoveUpTo(upTo)
		c.exhausted.RemoveUpTo(upTo)
		c.letters.Retain(func(seq uint64) bool { return seq > upTo })
		c.settleFloor()
		s.unstray(c)
	}
}

// neededByOthers reports whether a consumer other than the given one has not settled a message.
func (s *Stream) neededByOthers(seq uint64, subject string, but *Consumer) bool {
	needed := false
	s.matching(subject, func(c *Consumer) bool {
		needed = c != but && c.needs(seq, subject)
		return !needed
	})
	if needed || s.strays == 0 {
		return needed
	}
	return slices.ContainsFunc(s.consumers, func(c *Consumer) bool {
		return c != but && c.stray && c.needs(seq, subject)
	})
}

// planUnneeded plans that the messages from a sequence on that the filter matches, and no consumer
// but the given one needs, go.
func (s *Stream) planUnneeded(filter Filter, from uint64, but *Consumer, m Messages) error {
	seq, err := m.NextOf(filter, from)
	for ; err == nil && seq != 0; seq, err = m.NextOf(filter, seq+1) {
		if err := s.planIfUnneeded(seq, but, m); err != nil {
			return err
		}
	}
	return err
}

// planIfUnneeded plans that a message goes unless a consumer but the given one needs it.
func (s *Stream) planIfUnneeded(seq uint64, but *Consumer, m Messages) error {
	meta, err := m.Meta(seq)
	if err != nil || meta.Sequence == 0 {
		return err
	}
	if !s.neededByOthers(seq, meta.Subject, but) {
		s.scratch.plan(meta, Acked)
	}
	return nil
}
