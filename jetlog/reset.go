package jetlog

import (
	"slices"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// pause stops deliveries until a time, or lets them go on.
func (s *Stream) pause(p *command.Pause) Result {
	c := s.Consumer(p.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound)
	}
	c.pausedUntil = 0
	if p.Until > s.clock {
		c.pausedUntil = p.Until
	}
	return Result{}
}

// pin says which client a priority group belongs to.
func (s *Stream) pin(p *command.Pin) Result {
	c := s.Consumer(p.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound)
	}
	i := slices.Index(c.config.PriorityGroups, p.Group)
	if i < 0 {
		return refused(config.PriorityGroupUnknown)
	}
	c.pins[i] = pin{}
	if p.ID != "" {
		c.pins[i] = pin{id: p.ID, since: s.clock}
	}
	return Result{}
}

// reset lets a consumer begin again at a sequence.
func (s *Stream) reset(r *command.Reset, m Messages) (Result, error) {
	c := s.Consumer(r.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound), nil
	}
	seq := r.Sequence
	if seq == 0 {
		seq = c.floor.Stream + 1
	} else if refusal, err := s.refusesReset(c, seq, m); err != nil || refusal != "" {
		return refusedWith(config.ResetInvalid, refusal), err
	}
	lasts, err := c.lastsFrom(seq, m)
	if err != nil {
		return Result{}, err
	}
	changed := s.resetTo(c, seq, lasts)
	pending, err := changed.count(seq-1, m)
	if err != nil {
		return Result{}, err
	}
	if s.config.Retention == config.InterestRetention {
		if err := s.planSkipped(c, &changed, m); err != nil {
			return Result{}, err
		}
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	changed.pending = pending
	s.incarnations++
	changed.incarnation = s.incarnations
	*c = changed
	s.unstray(c)
	result := Result{Sequence: seq, Removed: s.remove(m)}
	s.postponeAll(&result)
	return result, nil
}

// refusesReset returns why a consumer may not begin again at a sequence.
func (s *Stream) refusesReset(c *Consumer, seq uint64, m Messages) (string, error) {
	switch c.config.Deliver {
	case config.DeliverAll:
	case config.DeliverByStartSequence:
		if seq < c.config.StartSequence {
			return "below start seq", nil
		}
	case config.DeliverByStartTime:
		start, err := m.FirstAfter(Nanoseconds(*c.config.StartTime))
		if err != nil {
			return "", err
		}
		if start == 0 {
			start = s.state.Last + 1
		}
		if seq < start {
			return "below start time", nil
		}
	default:
		return "not allowed for the deliver policy", nil
	}
	return "", nil
}

// lastsFrom returns what is to be delivered at first by a consumer that begins again at a sequence:
// of the last messages of each subject those that are left, and those that were not settled.
func (c *Consumer) lastsFrom(seq uint64, m Messages) ([]uint64, error) {
	var lasts []uint64
	candidates := slices.Concat(c.unsettled(), c.initial.Live())
	slices.Sort(candidates)
	for _, old := range slices.Compact(candidates) {
		if old < seq || old > c.initial.Resume {
			continue
		}
		meta, err := live(m, old)
		if err != nil {
			return nil, err
		}
		// One that was delivered may be left from another filter.
		if c.filter.Matches(meta.Subject) {
			lasts = append(lasts, old)
		}
	}
	return lasts, nil
}

// resetTo returns what becomes of a consumer that begins again at a sequence. Exhausted messages
// below it stay exhausted, so that they are not lost from a stream that keeps what is not settled.
func (s *Stream) resetTo(c *Consumer, seq uint64, lasts []uint64) Consumer {
	changed := *c
	changed.lastDelivered, changed.lastAcked = 0, 0
	changed.delivered = Position{Stream: seq - 1}
	changed.floor = changed.delivered
	changed.acks.Clear()
	changed.passed = nil
	changed.letters = s.dropLetters(c.letters, seq)
	changed.exhausted = slices.Clone(c.exhausted.UpTo(seq - 1))
	changed.initial.Renew(lasts)
	return changed
}

// planSkipped plans that messages go that only the consumer needed, and that it skips.
func (s *Stream) planSkipped(c, changed *Consumer, m Messages) error {
	unsettled := c.unsettled()
	if many, err := s.planLater(c.reach(unsettled), c.from(unsettled), m); err != nil || many {
		return err
	}
	skip := func(seq uint64, meta Meta) {
		if c.needs(seq, meta.Subject) && !changed.needs(seq, meta.Subject) &&
			!s.neededByOthers(seq, meta.Subject, c) {
			s.scratch.plan(meta, Acked)
		}
	}
	for _, seq := range unsettled {
		meta, err := live(m, seq)
		if err != nil {
			return err
		}
		skip(seq, meta)
	}
	seq, err := m.NextOf(c.filter, c.delivered.Stream+1)
	for ; err == nil && seq != 0 && seq <= changed.delivered.Stream; seq, err = m.NextOf(c.filter, seq+1) {
		meta, err := live(m, seq)
		if err != nil {
			return err
		}
		skip(seq, meta)
	}
	return err
}
