package jetlog

import (
	"errors"
	"fmt"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// configure changes the configuration and removes what the new limits no longer allow.
func (s *Stream) configure(c *command.Configure, m Messages) (Result, error) {
	if code, detail := s.Refuses(&c.Config); code != 0 {
		return refusedWith(code, detail), nil
	}
	before := s.config
	s.config = c.Config
	if err := s.planFit(&before, m); err != nil {
		s.config = before
		return Result{}, err
	}
	r := Result{Removed: s.remove(m)}
	s.postponeAll(&r)
	return r, nil
}

// Refuses returns why Configure would refuse a configuration, 0 if it would not.
func (s *Stream) Refuses(cfg *config.Stream) (code config.Code, detail string) {
	if err := config.CheckUpdate(&s.config, cfg); err != nil {
		var refusal *config.Error
		if errors.As(err, &refusal) {
			return refusal.Code, refusal.Detail
		}
		return config.StreamInvalidConfig, err.Error()
	}
	if detail = s.exceeds(&cfg.ConsumerLimits); detail != "" {
		return config.StreamInvalidConfig, detail
	}
	return 0, ""
}

// exceeds returns which consumer there is that the limits would not allow, empty for none.
func (s *Stream) exceeds(limits *config.ConsumerLimits) string {
	for _, c := range s.consumers {
		most, threshold := limits.MaxAckPending, limits.InactiveThreshold
		switch {
		case most > 0 && c.config.Ack != config.AckNone && (c.config.MaxAckPending > most || c.config.MaxAckPending < 0):
			return fmt.Sprintf("consumer %q has a max ack pending of %d", c.name, c.config.MaxAckPending)
		case threshold > 0 && c.config.Inactive > threshold:
			return fmt.Sprintf("consumer %q has an inactive threshold of %s", c.name, c.config.Inactive)
		}
	}
	return ""
}

// planFit plans what has to go for the configuration.
func (s *Stream) planFit(before *config.Stream, m Messages) error {
	p := &s.scratch
	if s.state.Messages > choreMax {
		s.planFitLater(before)
		return nil
	}
	if limit := s.config.MaxPerSubject; limit > 0 && limit != before.MaxPerSubject {
		var inner error
		err := m.Subjects(nil, func(subject string, state SubjectState) bool {
			if state.Count > uint64(limit) {
				inner = s.planOldest(p.literal(subject), state.First, state.Count-uint64(limit), LimitSubject, m)
			}
			return inner == nil
		})
		if err = errors.Join(err, inner); err != nil {
			return err
		}
		p.sort()
	}
	if s.config.Retention == config.InterestRetention && before.Retention != s.config.Retention {
		if err := s.planUnneeded(nil, s.oldest(), nil, m); err != nil {
			return err
		}
		p.sort()
	}
	if s.config.Discard == config.DiscardNew {
		return s.settle(m, nil)
	}
	messages, bytes := s.state.Messages, s.state.Bytes
	for i := range p.removals {
		messages--
		bytes -= p.removals[i].Bytes
	}
	if err := s.planOver(messages, bytes, nil, m); err != nil {
		return err
	}
	return s.settle(m, nil)
}

// planFitLater leaves it to chores to remove what has to go from a stream with many messages.
func (s *Stream) planFitLater(before *config.Stream) {
	all := chore{next: s.state.First, upTo: s.state.Last}
	if limit := s.config.MaxPerSubject; limit > 0 && limit != before.MaxPerSubject {
		c := all
		c.kind, c.reason = choreExcess, LimitSubject
		s.scratch.later(c)
	}
	if s.config.Retention == config.InterestRetention && before.Retention != s.config.Retention {
		c := all
		c.kind, c.reason = choreUnneeded, Acked
		s.scratch.later(c)
	}
	if s.config.Discard == config.DiscardOld && overLimit(&s.config, s.state.Messages, s.state.Bytes) != "" {
		c := all
		c.kind, c.reason = choreFit, LimitMessages
		s.scratch.later(c)
	}
}
