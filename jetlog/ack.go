package jetlog

import (
	"slices"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// ack takes receivers' answers. Those for messages that do not wait for one are passed over.
func (s *Stream) ack(a *command.Ack, m Messages) (Result, error) {
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
	for _, reply := range a.Replies {
		c.reply(reply, s.clock, &r)
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
	if reply.Answer != command.Done && reply.Answer != command.Terminate {
		return nil
	}
	if !c.cumulative(reply.Answer) {
		if !c.waits(reply.Sequence) {
			return nil
		}
		return s.planIfUnneeded(reply.Sequence, c, m)
	}
	for _, d := range c.acks.upTo(reply.Sequence) {
		if d.count == 0 {
			continue
		}
		if err := s.planIfUnneeded(d.seq, c, m); err != nil {
			return err
		}
	}
	for _, seq := range c.exhausted {
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
	_, exhausted := slices.BinarySearch(c.exhausted, seq)
	return exhausted || c.acks.find(seq) != nil
}

// reply commits an answer.
func (c *Consumer) reply(reply command.Reply, now int64, r *Result) {
	switch d := c.acks.find(reply.Sequence); {
	case reply.Answer == command.Done || reply.Answer == command.Terminate:
		if c.settle(reply) {
			c.lastAcked = now
			c.settleFloor()
		}
	case d == nil:
	case reply.Answer == command.Progress:
		c.expect(d, now, c.wait(d.count))
	case reply.Delay > 0:
		c.rest(d, now, reply.Delay)
	default:
		c.retryLater(d, now, r)
	}
}

// settle takes out what an answer settles and reports whether that was anything.
func (c *Consumer) settle(reply command.Reply) bool {
	if !c.cumulative(reply.Answer) {
		i, found := slices.BinarySearch(c.exhausted, reply.Sequence)
		if found {
			c.exhausted = slices.Delete(c.exhausted, i, i+1)
		}
		return c.acks.settle(reply.Sequence) || found
	}
	before := c.acks.live + len(c.exhausted)
	for i := range c.acks.upTo(reply.Sequence) {
		if d := &c.acks.list[i]; d.count > 0 {
			c.acks.mark(d)
		}
	}
	c.acks.compact()
	for len(c.exhausted) > 0 && c.exhausted[0] <= reply.Sequence {
		c.exhausted = c.exhausted[1:]
	}
	return before != c.acks.live+len(c.exhausted)
}
