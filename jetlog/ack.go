package jetlog

import (
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// answered takes receivers' answers, for which text says why if anything does. Those for messages that do not wait for one
// are passed over.
func (s *Stream) answered(a *command.Ack, text func(i int) string, m Messages) (Result, error) {
	c := s.Consumer(a.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound), nil
	}
	if s.config.Retention != config.LimitsRetention {
		for _, reply := range a.Replies {
			if err := s.planAck(c, reply, m); err != nil {
				return Result{}, err
			}
		}
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	var r Result
	for i, reply := range a.Replies {
		if c.letters != nil && reply.Answer == command.Terminate {
			c.terminate(reply.Sequence, text(i), s.clock)
		} else {
			c.reply(reply, s.clock, &r)
		}
	}
	s.unstray(c)
	r.Removed = s.remove(m)
	return r, nil
}

// cumulative reports whether an answer settles all earlier messages too.
func (c *Consumer) cumulative(a command.Answer) bool {
	return a == command.Done && (c.config.Ack == config.AckAll || c.config.Ack == config.AckFlowControl)
}

// planAck plans that what an answer settles goes, if nobody else needs it.
func (s *Stream) planAck(c *Consumer, reply command.Reply, m Messages) error {
	if reply.Answer != command.Done && (reply.Answer != command.Terminate || c.blocks) {
		return nil
	}
	if !c.cumulative(reply.Answer) {
		if !c.waits(reply.Sequence) && !c.passed.Has(reply.Sequence) ||
			c.letters != nil && (reply.Answer == command.Terminate || c.letters.Has(reply.Sequence)) {
			return nil
		}
		return s.planIfUnneeded(reply.Sequence, c, m)
	}
	for d := range c.acks.UpTo(reply.Sequence) {
		if err := s.planIfUnneeded(d.Sequence, c, m); err != nil {
			return err
		}
	}
	for _, seq := range c.exhausted.UpTo(reply.Sequence) {
		if err := s.planIfUnneeded(seq, c, m); err != nil {
			return err
		}
	}
	for seq := range c.passed.All {
		if seq > reply.Sequence {
			break
		}
		if err := s.planIfUnneeded(seq, c, m); err != nil {
			return err
		}
	}
	return nil
}

// waits reports whether a delivered message can still be settled.
func (c *Consumer) waits(seq uint64) bool {
	return c.exhausted.Has(seq) || c.acks.Find(seq) != nil
}

// reply commits an answer.
func (c *Consumer) reply(reply command.Reply, now int64, r *Result) {
	switch d := c.acks.Find(reply.Sequence); {
	case reply.Answer == command.Terminate && c.blocks:
		if d != nil { // it keeps its place until somebody settles it
			c.acks.Settle(reply.Sequence)
			c.exhausted.Add(reply.Sequence)
			c.lastAcked = now
			c.settleFloor()
		}
	case reply.Answer == command.Done || reply.Answer == command.Terminate:
		if c.settle(reply) {
			c.lastAcked = now
			c.settleFloor()
		}
	case d == nil:
	case reply.Answer == command.Progress:
		c.expect(d, now)
	case reply.Delay > 0:
		c.rest(d, now, reply.Delay)
	default:
		c.retryLater(d, now, r)
	}
}

// settle takes out what an answer settles and reports whether that was anything. A message that was passed over may be among
// it: somebody got it whose delivery did not come into the state.
func (c *Consumer) settle(reply command.Reply) bool {
	if !c.cumulative(reply.Answer) {
		return c.exhausted.Remove(reply.Sequence) || c.acks.Settle(reply.Sequence) || c.unpass(reply.Sequence)
	}
	before := c.acks.Len() + len(c.exhausted)
	passed := c.passed.Len()
	c.acks.SettleUpTo(reply.Sequence)
	c.exhausted.RemoveUpTo(reply.Sequence)
	c.passed.RemoveUpTo(reply.Sequence)
	c.pending -= passed - c.passed.Len()
	return before != c.acks.Len()+len(c.exhausted) || passed != c.passed.Len()
}
