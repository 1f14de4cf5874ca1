package jetlog

import (
	"slices"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/jetlog/schedule"
	"runnel/jetlog/terms"
	"runnel/subjects"
)

// schedule looks at what a message asks for later: to be a schedule itself, or the end of another.
// Whoever proposes it says when it is due, since Apply knows no time zones.
func (s *Stream) schedule(a *arrival, m Messages, b *batch) (Result, error) {
	t := a.terms
	if a.internal || !t.Schedule {
		a.fire = 0
	}
	if a.internal || !t.Schedule && t.Scheduler == nil && t.Next == nil {
		return Result{}, nil
	}
	if !s.config.AllowSchedules {
		return refused(config.SchedulesDisabled), nil
	}
	if t.Schedule {
		if code := s.scheduleRefusal(a); code != 0 {
			return refused(code), nil
		}
		if len(t.Rollup) == 0 {
			t.Rollup = []byte(terms.RollupSubject)
			a.header = headers.Set(a.header, rollupHeader, terms.RollupSubject)
		}
	}
	if t.Scheduler == nil && t.Next == nil {
		return Result{}, nil
	}
	return s.cancelled(a, m, b)
}

// scheduleRefusal returns why a message cannot be a schedule.
func (s *Stream) scheduleRefusal(a *arrival) config.Code {
	asked := schedule.Read(a.header)
	parsed, err := schedule.Parse(asked.Pattern)
	switch {
	case a.fire == command.UnknownZone:
		return config.ScheduleZoneInvalid
	case err != nil || asked.Zoned && !parsed.Zoned() || a.fire == 0:
		return config.ScheduleInvalid
	case asked.TTL != "" && !s.config.AllowTTL:
		return config.TTLDisabled
	}
	if _, ok := terms.ParseTTL([]byte(asked.TTL)); !ok {
		return config.ScheduleTTLInvalid
	}
	rollup := string(a.terms.Rollup)
	switch {
	case asked.Rollup != "" && asked.Rollup != terms.RollupSubject:
		return config.ScheduleRollupInvalid
	case asked.Source != "" && (asked.Source == asked.Target || !s.other(asked.Source, a.subject)):
		return config.ScheduleSourceInvalid
	case !s.other(asked.Target, a.subject):
		return config.ScheduleTargetInvalid
	case rollup != "" && rollup != terms.RollupSubject:
		return config.ScheduleRollupInvalid
	}
	return 0
}

// other reports whether a subject is another one of this stream.
func (s *Stream) other(subject, own string) bool {
	return subject != own && subjects.IsLiteral(subject) &&
		slices.ContainsFunc(s.config.Subjects, func(pattern string) bool { return subjects.Match(pattern, subject) })
}

// cancelled finds the message of the schedule that a message puts an end to. Where there is nothing, nothing
// is to be done; where there is something else, it stays. What members before it have put there counts.
func (s *Stream) cancelled(a *arrival, m Messages, b *batch) (Result, error) {
	subject := string(a.terms.Scheduler)
	if string(a.terms.Next) != schedule.Purge || subject == a.subject || !subjects.IsLiteral(subject) {
		return refused(config.SchedulerInvalid), nil
	}
	state, err := m.Subject(subject)
	if err != nil || state.Count == 0 {
		return Result{}, err
	}
	d, is := s.schedules.Get(subject)
	seq := d.Sequence
	if schedule, stored := b.stored(subject); stored {
		seq, is = state.Last, schedule
	}
	if is {
		a.cancels, err = m.Meta(seq)
	}
	if err == nil && a.cancels.Sequence == 0 {
		return refused(config.SchedulerInvalid), nil
	}
	return Result{}, err
}

// fire stores what a schedule has come to. Whatever becomes of that, the schedule goes on: a message that
// is refused now would be refused for ever.
func (s *Stream) fire(c *command.Fire, m Messages) (Result, error) {
	if s.config.Sealed {
		return refused(config.Sealed), nil
	}
	d, ok := s.schedules.Get(c.Schedule)
	if !ok || d.Sequence != c.Sequence || d.At != c.Due || c.Next != 0 && c.Next <= c.Due {
		return refusedWith(config.BadRequest, "the schedule is another one by now"), nil
	}
	s.scratch.terms = terms.Read(c.Header)
	a := arrival{
		subject: c.Subject, terms: &s.scratch.terms, header: c.Header, payload: c.Payload, at: s.clock, internal: true,
		kept: s.config.Retention != config.InterestRetention || s.wanted(c.Subject, s.state.Last+1),
	}
	var err error
	if c.Next == 0 {
		if a.cancels, err = live(m, c.Sequence); err != nil {
			return Result{}, err
		}
	}
	r := a.check(&s.config, nil)
	switch {
	case r.Code != 0:
	case a.kept:
		r, err = s.store(&a, m)
	default:
		r, err = s.pass(&a, m)
	}
	if after, ok := s.schedules.Get(c.Schedule); err != nil || !ok || after != d {
		return r, err
	}
	if c.Next == 0 {
		s.schedules.Drop(c.Schedule)
	} else {
		s.schedules.Set(c.Schedule, c.Sequence, c.Next)
	}
	return r, nil
}

// Due is a schedule that is due.
type Due = due.Due

// NextSchedule returns when the next schedule is due, in nanoseconds since 1970, 0 for never.
func (s *Stream) NextSchedule() int64 { return s.schedules.Next() }

// DueSchedules returns the schedules that are due, the earliest first, at most limit.
func (s *Stream) DueSchedules(now int64, limit int) []Due { return s.schedules.Due(now, limit) }
