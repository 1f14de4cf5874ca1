package jetlog

import (
	"errors"
	"slices"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/subjects"
)

// createConsumer makes a consumer, or changes the one that has the name.
func (s *Stream) createConsumer(c *command.ConsumerCreate, m Messages) (Result, error) {
	if existing := s.Consumer(c.Config.Name); existing != nil {
		return s.updateConsumer(existing, c, m)
	}
	if c.Action == command.UpdateOnly {
		return refused(config.ConsumerMissing), nil
	}
	if code := s.admits(c); code != 0 {
		return refused(code), nil
	}
	own, err := c.Config.Own()
	if err != nil {
		return refusedWith(config.BadRequest, err.Error()), nil
	}
	consumer := &Consumer{name: c.Config.Name, created: s.clock, pins: make([]pin, len(c.Config.PriorityGroups))}
	consumer.configure(&c.Config, s.beside(c.Config.Name)...)
	consumer.adopt(own, s.clock, s.incarnations+1)
	if until := c.Config.PauseUntil; until != nil && Nanoseconds(*until) > s.clock {
		consumer.pausedUntil = Nanoseconds(*until)
	}
	start, err := s.start(consumer, m)
	if err != nil {
		return Result{}, err
	}
	consumer.delivered.Stream, consumer.floor.Stream = start-1, start-1
	if consumer.pending, err = consumer.count(start-1, m); err != nil {
		return Result{}, err
	}
	s.incarnations++
	consumer.incarnation = s.incarnations
	i, _ := s.find(consumer.name)
	s.consumers = slices.Insert(s.consumers, i, consumer)
	s.lettering += consumer.lettered()
	s.enter(consumer)
	return Result{Created: true}, nil
}

// admits returns why another consumer cannot be, by the number of consumers and by what a work queue
// asks of them.
func (s *Stream) admits(c *command.ConsumerCreate) config.Code {
	limit := uint64(s.config.MaxConsumers)
	if s.config.MaxConsumers <= 0 {
		limit = c.Max
	}
	if hidden := c.Config.Direct || c.Config.Sourcing; limit > 0 && !hidden && s.visible() >= limit {
		return config.MaximumConsumers
	}
	return s.unique(c.Config.Name, c.Config.Filters())
}

// visible returns how many consumers are not those of mirrors and sources.
func (s *Stream) visible() uint64 {
	n := uint64(0)
	for _, c := range s.consumers {
		if !c.config.Direct && !c.config.Sourcing {
			n++
		}
	}
	return n
}

// unique returns why a consumer of a work queue may not have these filters: no message may have two
// to go to. That of a redrive gets none.
func (s *Stream) unique(name string, filters []string) config.Code {
	if s.config.Retention != config.WorkQueueRetention || name == config.RedriveConsumer {
		return 0
	}
	for _, other := range s.consumers {
		switch {
		case other.name == name, other.name == config.RedriveConsumer:
		case len(filters) == 0:
			return config.WorkQueueUnfiltered
		case len(other.filter) == 0 || subjects.OverlapAny(filters, other.filter):
			return config.WorkQueueNotUnique
		}
	}
	return 0
}

// start returns the first sequence that a new consumer may get.
func (s *Stream) start(c *Consumer, m Messages) (uint64, error) {
	end := s.state.Last + 1
	var seq uint64
	var err error
	switch c.config.Deliver {
	case config.DeliverAll:
		seq = s.state.First
	case config.DeliverByStartSequence:
		return max(c.config.StartSequence, s.state.First), nil
	case config.DeliverLast:
		seq, err = m.LastOf(c.filter, s.state.Last)
	case config.DeliverByStartTime:
		seq, err = m.FirstAfter(Nanoseconds(*c.config.StartTime))
	case config.DeliverLastPerSubject:
		seq, err = s.startOfLasts(c, m)
	case config.DeliverNew:
	}
	if seq == 0 {
		seq = end
	}
	return seq, err
}

// startOfLasts lists the last message of each subject and returns the first of them, 0 for none.
func (s *Stream) startOfLasts(c *Consumer, m Messages) (uint64, error) {
	var list []uint64
	err := m.Subjects(c.filter, func(_ string, state SubjectState) bool {
		list = append(list, state.Last)
		return true
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	slices.Sort(list)
	c.initial.Resume = s.state.Last
	c.initial.Renew(list)
	return list[0], nil
}

// updateConsumer changes an existing consumer, if the configuration is another one.
func (s *Stream) updateConsumer(c *Consumer, u *command.ConsumerCreate, m Messages) (Result, error) {
	next := u.Config
	next.PauseUntil = c.config.PauseUntil
	now := c.Config()
	if config.Same(&now, &next) {
		return Result{}, nil
	}
	if u.Action == command.CreateOnly {
		return refused(config.ConsumerExists), nil
	}
	if err := config.CheckConsumerUpdate(&now, &next); err != nil {
		var refusal *config.Error
		if errors.As(err, &refusal) {
			return refusedWith(refusal.Code, refusal.Detail), nil
		}
		return Result{}, err
	}
	if code := s.unique(c.name, next.Filters()); code != 0 {
		return refused(code), nil
	}
	own, err := next.Own()
	if err != nil {
		return refusedWith(config.BadRequest, err.Error()), nil
	}
	if !slices.Equal(c.filter, next.Filters()) {
		return s.refilter(c, &next, own, m)
	}
	if own.DeadLetter == "" {
		if err := s.planReleased(c, m); err != nil {
			return Result{}, err
		}
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	s.reconfigure(c, &next, own)
	return Result{Removed: s.remove(m)}, nil
}

// reconfigure commits a configuration whose filter is entered already.
func (s *Stream) reconfigure(c *Consumer, next *config.Consumer, own config.Own) {
	pins := make([]pin, len(next.PriorityGroups))
	for i, group := range next.PriorityGroups {
		pins[i].id, pins[i].since = c.Pinned(group)
	}
	c.pins = pins
	c.configure(next, s.beside(c.name)...)
	s.lettering -= c.lettered()
	if c.letters == nil && own.DeadLetter != "" {
		s.incarnations++
	}
	c.adopt(own, s.clock, s.incarnations)
	s.lettering += c.lettered()
}

// refilter gives a consumer another filter for what it has not had yet.
func (s *Stream) refilter(c *Consumer, next *config.Consumer, own config.Own, m Messages) (Result, error) {
	changed := *c
	changed.filter = next.Filters()
	var lasts []uint64
	for _, seq := range c.initial.Live() {
		meta, err := live(m, seq)
		if err != nil {
			return Result{}, err
		}
		if changed.filter.Matches(meta.Subject) {
			lasts = append(lasts, seq)
		}
	}
	changed.initial.Renew(lasts)
	var err error
	if changed.passed, err = c.stillPassed(changed.filter, m); err != nil {
		return Result{}, err
	}
	pending, err := changed.count(c.delivered.Stream, m)
	if err != nil {
		return Result{}, err
	}
	if s.config.Retention == config.InterestRetention {
		if err := s.planLost(c, &changed, m); err != nil {
			return Result{}, err
		}
	}
	if own.DeadLetter == "" {
		if err := s.planReleased(c, m); err != nil {
			return Result{}, err
		}
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	s.leave(c)
	fewer := changed.passed.Len() < c.passed.Len()
	c.filter, c.initial, c.passed, c.pending = changed.filter, changed.initial, changed.passed, pending+changed.passed.Len()
	s.reconfigure(c, next, own)
	if fewer { // whether there are keys says what the floor is
		c.settleFloor()
	}
	if !c.stray && c.unsettling() {
		c.stray = true
		s.strays++
	}
	s.enter(c)
	r := Result{Removed: s.remove(m)}
	s.postponeAll(&r)
	return r, nil
}

// planLost plans that messages go that only the former filter of a consumer wanted.
func (s *Stream) planLost(c, changed *Consumer, m Messages) error {
	from := c.delivered.Stream + 1
	if seq := c.passed.Next(0); seq != 0 {
		from = seq
	}
	if many, err := s.planLater(c.filter, from, m); err != nil || many {
		return err
	}
	for seq := range c.passed.All {
		if changed.passed.Has(seq) {
			continue
		}
		if err := s.planIfUnneeded(seq, c, m); err != nil {
			return err
		}
	}
	seq, err := m.NextOf(c.filter, c.delivered.Stream+1)
	for ; err == nil && seq != 0; seq, err = m.NextOf(c.filter, seq+1) {
		meta, err := live(m, seq)
		if err != nil {
			return err
		}
		if !changed.needs(seq, meta.Subject) && !s.neededByOthers(seq, meta.Subject, c) {
			s.scratch.plan(meta, Acked)
		}
	}
	return err
}

// deleteConsumer removes a consumer, and from a stream that keeps what is wanted the messages that
// only it wanted.
func (s *Stream) deleteConsumer(d *command.ConsumerDelete, m Messages) (Result, error) {
	i, found := s.find(d.Consumer)
	if !found {
		return refused(config.ConsumerNotFound), nil
	}
	c := s.consumers[i]
	if s.config.Retention == config.InterestRetention {
		if err := s.planLeft(c, m); err != nil {
			return Result{}, err
		}
	}
	if err := s.planReleased(c, m); err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	s.leave(c)
	s.consumers = slices.Delete(s.consumers, i, i+1)
	if c.stray {
		s.strays--
	}
	s.lettering -= c.lettered()
	r := Result{Removed: s.remove(m)}
	s.postponeAll(&r)
	return r, nil
}

// planLeft plans that the messages go that only a consumer needs which is about to be removed.
func (s *Stream) planLeft(c *Consumer, m Messages) error {
	unsettled := c.unsettled()
	if many, err := s.planLater(c.reach(unsettled), c.from(unsettled), m); err != nil || many {
		return err
	}
	for _, seq := range unsettled {
		if err := s.planIfUnneeded(seq, c, m); err != nil {
			return err
		}
	}
	return s.planUnneeded(c.filter, c.delivered.Stream+1, c, m)
}

// reach and from tell what a consumer may need, what is not settled included: the filter of it, and the
// first sequence.
func (c *Consumer) reach(unsettled []uint64) Filter {
	if c.stray && len(unsettled) > 0 {
		return nil
	}
	return c.filter
}

func (c *Consumer) from(unsettled []uint64) uint64 {
	if len(unsettled) > 0 {
		return unsettled[0]
	}
	return c.delivered.Stream + 1
}

// planLater leaves it to a chore to remove what nobody needs any more after the command, if that is too
// much to look at.
func (s *Stream) planLater(filter Filter, from uint64, m Messages) (bool, error) {
	many, err := tooMany(filter, from, m)
	if many {
		s.scratch.later(chore{kind: choreUnneeded, filter: slices.Clone(filter), next: from, upTo: s.state.Last, reason: Acked})
	}
	return many, err
}

// unsettled returns what was delivered and not settled, exhausted messages included, and what was passed over.
func (c *Consumer) unsettled() []uint64 {
	out := slices.AppendSeq(slices.Concat(c.exhausted, c.letters.Sequences()), c.passed.All)
	for d := range c.acks.All() {
		out = append(out, d.Sequence)
	}
	slices.Sort(out)
	return out
}
