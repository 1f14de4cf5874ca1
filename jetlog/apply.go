package jetlog

import (
	"fmt"

	"runnel/jetlog/command"
)

// Apply carries out a command: the one way in which a stream changes. An error means that Messages
// could not be read; then nothing has changed, and a replica must not go on to the next command. The
// command and its slices must not be changed afterwards.
func (s *Stream) Apply(c command.Command, m Messages) (Result, error) {
	s.scratch.reset()
	before := s.clock
	s.clock = max(s.clock, c.At())
	r, err := s.dispatch(c, m)
	if err != nil {
		s.clock = before
		return Result{}, fmt.Errorf("stream %q: apply command of kind %d: %w", s.config.Name, c.Kind(), err)
	}
	r.Withdrawn = s.scratch.takeWithdrawn()
	s.note(c, &r)
	return r, nil
}

func (s *Stream) dispatch(c command.Command, m Messages) (Result, error) {
	switch c := c.(type) {
	case *command.Publish:
		return s.publish(c, m)
	case *command.Batch:
		return s.batch(c, m)
	case *command.Copy:
		return s.copy(c, m)
	case *command.Fire:
		return s.fire(c, m)
	case *command.Delete:
		return s.deleteMessage(c, m)
	case *command.Purge:
		return s.purge(c, m)
	case *command.Continue:
		return s.carryOn(c, m)
	case *command.Expire:
		return s.expire(c, m)
	case *command.Configure:
		return s.configure(c, m)
	case *command.ConsumerCreate:
		return s.createConsumer(c, m)
	case *command.ConsumerDelete:
		return s.deleteConsumer(c, m)
	case *command.Deliver:
		return s.deliver(c, m)
	case *command.Skip:
		return s.skipOver(c, m)
	case *command.Ack:
		return s.ack(c, m)
	case *command.Settle:
		return s.settleFor(c, m)
	case *command.Paid:
		s.causes.Pay(c.Source, c.Sequences)
		return Result{}, nil
	case *command.Producers:
		return s.mark(c), nil
	case *command.GiveUp:
		return s.giveUp(c, m)
	case *command.Handed:
		return s.handed(c, m)
	case *command.AckDeadline:
		return s.ackDeadline(), nil
	case *command.Pause:
		return s.pause(c), nil
	case *command.Reset:
		return s.reset(c, m)
	case *command.Pin:
		return s.pin(c), nil
	case *command.ConsumerRestore:
		return s.restoreConsumer(c, m)
	}
	return Result{}, fmt.Errorf("apply: no command of kind %d is known", c.Kind())
}
