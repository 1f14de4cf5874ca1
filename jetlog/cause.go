package jetlog

import (
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// A message that was made from another one may be published with the acknowledgement of that. If both are in this stream,
// both happen at once. If not, the stream owes the acknowledgement from then on, and whoever leads it pays.

// caused answers a message that was made from a delivery from which one was made before, or which, as far as this stream
// knows, waits for no answer. The leader has asked whoever knows; what is decided here is what has changed since.
func (s *Stream) caused(c *causes.Cause) Result {
	if c == nil {
		return Result{}
	}
	if here, known := s.causes.Find(c); known {
		return Result{Sequence: here, Duplicate: true}
	}
	switch {
	case s.causes.Late(c):
		return refused(config.CauseLate)
	case s.causes.Full():
		return refusedWith(config.CausesFull, c.Stream)
	case c.ID != s.id:
		return Result{}
	}
	consumer := s.Consumer(c.Consumer)
	switch {
	case consumer == nil || consumer.incarnation != c.Incarnation:
		return refusedWith(config.CauseUnknown, "consumer "+c.Consumer+" has begun again since, or has gone")
	case c.Sequence <= consumer.delivered.Stream && !consumer.Awaits(c.Sequence):
		return refused(config.CauseSettled)
	}
	s.scratch.answered = dying{consumer, c.Sequence}
	return Result{}
}

// owner returns the consumer that a cause is of, if it is one of this stream and waits for the answer. One whose delivery is not
// in the state yet is answered later, like those of other streams.
func (s *Stream) owner(c *causes.Cause) *Consumer {
	if c == nil || c.ID != s.id {
		return nil
	}
	if consumer := s.Consumer(c.Consumer); consumer != nil && consumer.Awaits(c.Sequence) {
		return consumer
	}
	return nil
}

// planCause plans that what a message acknowledges goes, if nobody else needs it.
func (s *Stream) planCause(c *causes.Cause, m Messages) error {
	consumer := s.owner(c)
	if consumer == nil || s.config.Retention == config.LimitsRetention {
		return nil
	}
	return s.planAck(consumer, command.Reply{Sequence: c.Sequence}, m)
}

// owe commits that the last message was made from a delivery.
func (s *Stream) owe(c *causes.Cause) {
	consumer := s.owner(c)
	if consumer == nil {
		s.causes.Owe(c, s.state.Last)
		return
	}
	consumer.reply(command.Reply{Sequence: c.Sequence}, s.clock, &Result{})
	s.unstray(consumer)
	s.causes.Note(c, s.state.Last)
}

// settleFor takes acknowledgements that another stream has owed.
func (s *Stream) settleFor(c *command.Settle, m Messages) (Result, error) {
	consumer := s.Consumer(c.Consumer)
	if consumer == nil || consumer.incarnation != c.Incarnation {
		return refused(config.ConsumerNotFound), nil
	}
	ack := &command.Ack{Time: c.Time, Consumer: c.Consumer, Replies: make([]command.Reply, len(c.Sequences))}
	for i, seq := range c.Sequences {
		ack.Replies[i] = command.Reply{Sequence: seq}
	}
	return s.ack(ack, m)
}

// Causes returns what is known of the messages from which those of the stream were made. It must not be changed.
func (s *Stream) Causes() *causes.Table { return &s.causes }

// Awaits reports whether an answer would settle a message: it was delivered, or passed over, and then somebody may have got
// it whose delivery is not in the state.
func (c *Consumer) Awaits(seq uint64) bool { return c.waits(seq) || c.passed.Has(seq) }
