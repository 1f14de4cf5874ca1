package jetlog

import (
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deliveries"
)

// deliver notes what the leader sent. A message that has gone meanwhile still takes a consumer
// sequence, since whoever got it knows it by that number.
func (s *Stream) deliver(d *command.Deliver, m Messages) (Result, error) {
	c := s.Consumer(d.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound), nil
	}
	if d.Incarnation != c.incarnation || d.From != c.delivered.Consumer+1 {
		return refusedWith(config.BadRequest, "the consumer has begun again since"), nil
	}
	if ok, err := s.planDeliver(c, d, m); err != nil || !ok {
		return refusedWith(config.BadRequest, "messages are not in order"), err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	for i, message := range d.Messages {
		c.delivered.Consumer++
		if message.Again {
			c.redeliver(message.Sequence, s.clock)
		} else {
			c.deliver(message.Sequence, s.clock, s.scratch.counts[i] > 0)
		}
	}
	c.lastDelivered = s.clock
	if c.acks.Len() == 0 {
		c.settleFloor()
	}
	return Result{Removed: s.remove(m)}, nil
}

// planDeliver finds out which messages are still there, and plans what a consumer without
// acknowledgements has settled by getting it.
func (s *Stream) planDeliver(c *Consumer, d *command.Deliver, m Messages) (bool, error) {
	last := c.delivered.Stream
	for _, message := range d.Messages {
		live := uint64(0)
		if seq := message.Sequence; !message.Again {
			if seq == 0 || seq > s.state.Last {
				return false, nil
			}
			next, err := m.Next(seq)
			if err != nil {
				return false, err
			}
			if next == seq {
				live = 1
			}
			if above := seq > c.delivered.Stream; above && (c.ahead || seq <= last) || !above && live == 1 && !c.passed.Has(seq) {
				return false, nil
			}
			last = max(last, seq)
			if live == 1 && c.config.Ack == config.AckNone && s.config.Retention == config.InterestRetention {
				if err := s.planIfUnneeded(seq, c, m); err != nil {
					return false, err
				}
			}
		}
		s.scratch.counts = append(s.scratch.counts, live)
	}
	return true, nil
}

// deliver notes the first delivery of a message.
func (c *Consumer) deliver(seq uint64, now int64, live bool) {
	first := live && (seq > c.delivered.Stream && c.wants(seq) || c.passed.Remove(seq))
	if seq > c.delivered.Stream {
		c.delivered.Stream = seq
		c.initial.Pass(seq)
	}
	if !first {
		return
	}
	c.pending--
	if c.config.Ack != config.AckNone {
		c.expect(c.acks.Add(deliveries.Delivery{Sequence: seq, Consumer: c.delivered.Consumer, Count: 1}, now), now)
	}
}

// redeliver notes a further delivery of a message, unless it was settled meanwhile.
func (c *Consumer) redeliver(seq uint64, now int64) {
	if d := c.acks.Find(seq); d != nil {
		d.Count++
		c.acks.Again(d, now)
		c.expect(d, now)
	}
}
