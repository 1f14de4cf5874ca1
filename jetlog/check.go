package jetlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
)

// Check verifies every invariant of the stream against its body, by counting everything again. It
// returns all that is wrong, joined, and nil for a sound stream. It changes nothing.
func (s *Stream) Check(m Messages) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	lives, err := s.checkBody(m, wrong)
	if err != nil {
		return fmt.Errorf("check stream %q: %w", s.config.Name, err)
	}
	gone := uint64(0)
	for _, n := range s.removed {
		gone += n
	}
	if s.published != s.state.Messages+gone {
		wrong("%d published, but %d live and %d removed", s.published, s.state.Messages, gone)
	}
	if !slices.IsSortedFunc(s.consumers, func(a, b *Consumer) int { return strings.Compare(a.name, b.name) }) {
		wrong("consumers are not in the order of their names")
	}
	strays := 0
	for _, c := range s.consumers {
		if c.stray {
			strays++
			if !c.unsettling() {
				wrong("consumer %q is a stray with nothing left of its former filter", c.name)
			}
		}
		if c.initial.Resume > s.state.Last {
			wrong("consumer %q gets last messages up to %d, above the last sequence %d", c.name, c.initial.Resume, s.state.Last)
		}
		c.check(lives, wrong)
	}
	s.checkLetters(lives, wrong)
	if strays != s.strays {
		wrong("%d strays, counted %d", s.strays, strays)
	}
	unfinished := slices.ContainsFunc(s.chores, func(c chore) bool { return c.kind == choreUnneeded })
	if s.config.Retention == config.InterestRetention && !unfinished {
		s.checkNeeded(lives, wrong)
	}
	if err := s.checkSchedules(m, wrong); err != nil {
		return fmt.Errorf("check stream %q: %w", s.config.Name, err)
	}
	return errors.Join(problems...)
}

// checkBody counts the messages again and returns what is live.
func (s *Stream) checkBody(m Messages, wrong func(string, ...any)) ([]Meta, error) {
	var lives []Meta
	var bytes uint64
	var ttls []deadlines.Deadline
	last := Meta{}
	seq, err := m.Next(0)
	for ; err == nil && seq != 0; seq, err = m.Next(seq + 1) {
		meta, err := m.Meta(seq)
		if err != nil {
			return nil, err
		}
		message, err := m.Load(seq)
		if err != nil {
			return nil, err
		}
		if message.Sequence != seq || meta.Sequence != seq || message.Subject != meta.Subject || message.Time != meta.Time {
			wrong("message %d is %+v with %+v", seq, message, meta)
		}
		if want := s.bytesOf(message.Subject, message.Header, message.Payload); meta.Bytes != want {
			wrong("message %d counts for %d bytes, want %d", seq, meta.Bytes, want)
		}
		if meta.Sequence <= last.Sequence || meta.Time < last.Time {
			wrong("message %d comes behind %d", meta.Sequence, last.Sequence)
		}
		if reserve, _ := s.kept.Get(seq); meta.Expires > 0 && !reserve.Ended {
			ttls = append(ttls, deadlines.Deadline{At: meta.Expires, Sequence: seq})
		}
		last, lives, bytes = meta, append(lives, meta), bytes+meta.Bytes
	}
	if err != nil {
		return nil, err
	}
	s.checkState(lives, bytes, wrong)
	if !s.ttl.Ordered() {
		wrong("TTL deadlines are out of order")
	}
	slices.SortFunc(ttls, deadlines.Compare)
	if held := s.ttl.Sorted(); !slices.Equal(held, ttls) {
		wrong("TTL deadlines are %v, want %v", held, ttls)
	}
	return lives, nil
}

func (s *Stream) checkState(lives []Meta, bytes uint64, wrong func(string, ...any)) {
	want := State{First: s.state.Last + 1, Last: s.state.Last, LastTime: s.state.LastTime, Messages: uint64(len(lives)), Bytes: bytes}
	if len(lives) > 0 {
		want.First, want.FirstTime = lives[0].Sequence, lives[0].Time
		if last := lives[len(lives)-1].Sequence; last > s.state.Last {
			wrong("message %d is above the last sequence %d", last, s.state.Last)
		}
	}
	if s.state != want {
		wrong("state is %+v, counted %+v", s.state, want)
	}
	if err := s.causes.Check(s.state.Last); err != nil {
		wrong("%w", err)
	}
	for name, mark := range s.producers.All {
		if mark.Number == 0 || mark.Sequence == 0 || mark.Sequence > s.state.Last {
			wrong("producer %q is at %+v, the last sequence is %d", name, mark, s.state.Last)
		}
	}
	if s.clock < s.state.LastTime {
		wrong("the clock %d is before the last message %d", s.clock, s.state.LastTime)
	}
	for _, meta := range lives {
		if s.aged > meta.Sequence && s.config.MaxAge > 0 && meta.Expires != Never && !s.kept.Has(meta.Sequence) {
			wrong("message %d is passed over by age", meta.Sequence)
		}
	}
}

// check verifies a consumer.
func (c *Consumer) check(lives []Meta, report func(string, ...any)) {
	wrong := func(format string, args ...any) {
		report("consumer %q: %w", c.name, fmt.Errorf(format, args...))
	}
	pending, live := uint64(0), map[uint64]bool{}
	for _, meta := range lives {
		live[meta.Sequence] = true
		if meta.Sequence > c.delivered.Stream && c.filter.Matches(meta.Subject) && c.wants(meta.Sequence) {
			pending++
		}
		if meta.Sequence <= c.delivered.Stream && !c.stray && !c.filter.Matches(meta.Subject) && c.needs(meta.Sequence, meta.Subject) {
			wrong("message %d on %q does not match the filter, but the consumer is no stray", meta.Sequence, meta.Subject)
		}
	}
	if pending += c.checkPassed(live, wrong); c.pending != pending {
		wrong("%d pending, counted %d", c.pending, pending)
	}
	if c.floor.Stream > c.delivered.Stream || c.floor.Consumer > c.delivered.Consumer {
		wrong("ack floor %+v is above delivered %+v", c.floor, c.delivered)
	}
	c.acks.Check(wrong)
	for d := range c.acks.All() {
		if !live[d.Sequence] || d.Sequence > c.delivered.Stream || d.Sequence <= c.floor.Stream || d.Consumer > c.delivered.Consumer {
			wrong("message %d waits for an answer", d.Sequence)
		}
	}
	last := uint64(0)
	for _, seq := range c.exhausted {
		if seq <= last || !live[seq] || seq > c.delivered.Stream || c.acks.Find(seq) != nil {
			wrong("exhausted message %d", seq)
		}
		last = seq
	}
	for _, seq := range c.initial.Live() {
		if !live[seq] || seq <= c.delivered.Stream || seq > c.initial.Resume {
			wrong("message %d is to be delivered at first", seq)
		}
	}
	if len(c.pins) != len(c.config.PriorityGroups) {
		wrong("%d pins for %d groups", len(c.pins), len(c.config.PriorityGroups))
	}
}

// checkNeeded verifies that a stream that keeps what is wanted keeps nothing else.
func (s *Stream) checkNeeded(lives []Meta, wrong func(string, ...any)) {
	for _, meta := range lives {
		needed := slices.ContainsFunc(s.consumers, func(c *Consumer) bool { return c.needs(meta.Sequence, meta.Subject) })
		if !needed {
			wrong("message %d on %q is kept, but no consumer needs it", meta.Sequence, meta.Subject)
		}
	}
}

// checkSchedules verifies that what is to be sent later is there: the last message on its subject.
func (s *Stream) checkSchedules(m Messages, wrong func(string, ...any)) error {
	s.schedules.Check(wrong)
	for d := range s.schedules.All {
		state, err := m.Subject(d.Subject)
		if err != nil {
			return err
		}
		message, err := m.Load(d.Sequence)
		if err != nil {
			return err
		}
		if _, found := headers.Get(message.Header, "Nats-Schedule"); state.Last != d.Sequence || !found {
			wrong("message %d on %q has a timer, but is no schedule", d.Sequence, d.Subject)
		}
	}
	return nil
}
