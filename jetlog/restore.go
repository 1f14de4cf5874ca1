package jetlog

import (
	"slices"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deliveries"
	"runnel/jetlog/letters"
)

// restoreConsumer makes a consumer as it was in a backup. What it says of itself is held to what every
// consumer guarantees: a message that is not in the stream waits for nothing.
func (s *Stream) restoreConsumer(c *command.ConsumerRestore, m Messages) (Result, error) {
	if s.Consumer(c.Config.Name) != nil {
		return refused(config.ConsumerExists), nil
	}
	if detail := c.Unsound(); detail != "" {
		return refusedWith(config.BadRequest, detail), nil
	}
	create := &command.ConsumerCreate{Time: c.Time, Max: c.Max, Config: c.Config}
	if code := s.admits(create); code != 0 {
		return refused(code), nil
	}
	consumer := &Consumer{
		name: c.Config.Name, created: s.clock, pins: make([]pin, len(c.Config.PriorityGroups)),
		delivered: Position{c.DeliveredConsumer, c.DeliveredStream},
		floor:     Position{c.FloorConsumer, c.FloorStream},
	}
	own, err := c.Config.Own()
	if err != nil {
		return refusedWith(config.BadRequest, err.Error()), nil
	}
	consumer.configure(&c.Config, s.beside(c.Config.Name)...)
	consumer.adopt(own, s.clock, s.incarnations+1)
	if until := c.Config.PauseUntil; until != nil && Nanoseconds(*until) > s.clock {
		consumer.pausedUntil = Nanoseconds(*until)
	}
	if err := s.restoreProgress(consumer, c, m); err != nil {
		return Result{}, err
	}
	s.incarnations++
	consumer.incarnation = s.incarnations
	if consumer.stray {
		s.strays++
	}
	i, _ := s.find(consumer.name)
	s.consumers = slices.Insert(s.consumers, i, consumer)
	s.lettering += consumer.lettered()
	s.enter(consumer)
	return Result{Created: true}, nil
}

// restoreProgress fills in what waits, and counts what is to come.
func (s *Stream) restoreProgress(c *Consumer, from *command.ConsumerRestore, m Messages) error {
	for _, d := range from.Pending {
		there, err := c.restored(d.Sequence, m)
		if err != nil {
			return err
		}
		if there && c.config.Ack != config.AckNone {
			c.expect(c.acks.Add(deliveries.Delivery{Sequence: d.Sequence, Consumer: d.Consumer, Count: d.Count}, s.clock), s.clock)
		}
	}
	for _, seq := range from.Exhausted {
		if c.acks.Find(seq) != nil {
			continue
		}
		there, err := c.restored(seq, m)
		if err != nil {
			return err
		}
		switch {
		case there && c.letters != nil:
			c.bury(seq, letters.MaxDeliver, "", s.clock)
		case there:
			c.exhausted = append(c.exhausted, seq)
		}
	}
	if !c.unsettling() {
		c.stray = false
		c.settleFloor()
	}
	if err := s.restoreInitial(c, from, m); err != nil {
		return err
	}
	var err error
	c.pending, err = c.count(c.delivered.Stream, m)
	return err
}

// restored reports whether a message is in the stream. The consumer is a stray if its filter is another one
// than when it got it.
func (c *Consumer) restored(seq uint64, m Messages) (bool, error) {
	meta, err := m.Meta(seq)
	if err != nil || meta.Sequence == 0 {
		return false, err
	}
	if !c.filter.Matches(meta.Subject) {
		c.stray = true
	}
	return true, nil
}

// restoreInitial lists what is left of the last messages that the consumer began with.
func (s *Stream) restoreInitial(c *Consumer, from *command.ConsumerRestore, m Messages) error {
	var lasts []uint64
	c.initial.Resume = min(from.Resume, s.state.Last)
	for _, seq := range from.Initial {
		if seq <= c.delivered.Stream || seq > c.initial.Resume {
			continue
		}
		meta, err := m.Meta(seq)
		if err != nil {
			return err
		}
		if meta.Sequence != 0 && c.filter.Matches(meta.Subject) {
			lasts = append(lasts, seq)
		}
	}
	c.initial.Renew(lasts)
	return nil
}

// Backup returns the command that makes this consumer anew, in a stream that has the same messages.
func (c *Consumer) Backup() *command.ConsumerRestore {
	out := &command.ConsumerRestore{
		Config:            c.Config(),
		DeliveredConsumer: c.delivered.Consumer, DeliveredStream: c.delivered.Stream,
		FloorConsumer: c.floor.Consumer, FloorStream: c.floor.Stream,
		Exhausted: c.givenUp(),
		Initial:   c.initial.Live(), Resume: c.initial.Resume,
	}
	out.Config.PauseUntil = nil
	if c.pausedUntil > 0 {
		out.Config.PauseUntil = new(time.Unix(0, c.pausedUntil).UTC())
	}
	if c.passed.Len() > 0 {
		// There is no place for what was passed over: it comes again with all that is not settled.
		out.DeliveredConsumer, out.DeliveredStream = c.floor.Consumer, c.floor.Stream
		out.Initial = c.initial.With(c.passed.All, c.acks.Sequences, slices.Values(out.Exhausted))
		out.Exhausted = slices.Clone(c.exhausted.UpTo(c.floor.Stream))
		return out
	}
	for d := range c.acks.All() {
		out.Pending = append(out.Pending, command.Restored{Sequence: d.Sequence, Consumer: d.Consumer, Count: d.Count})
	}
	return out
}
