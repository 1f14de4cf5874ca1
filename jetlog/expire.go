package jetlog

import (
	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/terms"
)

// expireMax is how many messages one Expire removes unless it says otherwise.
const expireMax = 8192

// Headers of a marker, which stands for a subject whose last message has expired.
const (
	markerMaxAge = "MaxAge"
	ttlHeader    = "Nats-TTL"
	rollupHeader = "Nats-Rollup"
)

// expire removes what is too old: first by the messages' own TTL, then by the age of the stream.
func (s *Stream) expire(c *command.Expire, m Messages) (Result, error) {
	limit := expireMax
	if c.Max > 0 && c.Max < expireMax {
		limit = int(c.Max)
	}
	if s.config.Sealed {
		return Result{}, nil
	}
	aged, err := s.planExpired(limit, m)
	if err != nil {
		return Result{}, err
	}
	more := len(s.scratch.removals) >= limit
	marked, err := s.markers(m)
	if err != nil {
		return Result{}, err
	}
	var first *Meta
	if len(marked) > 0 {
		first = &Meta{Sequence: s.state.Last + 1, Time: s.clock}
	}
	if err := s.settle(m, first); err != nil {
		return Result{}, err
	}
	r := Result{Removed: s.remove(m), More: more}
	s.aged = aged
	for _, subject := range marked {
		a := s.marker(subject)
		s.append(a, s.metaOf(a), m)
	}
	return r, nil
}

// planExpired plans at most limit removals and returns what aged becomes.
func (s *Stream) planExpired(limit int, m Messages) (uint64, error) {
	p := &s.scratch
	p.due = s.ttl.Due(s.clock, limit, p.due[:0])
	for _, d := range p.due {
		meta, err := live(m, d.Sequence)
		if err != nil {
			return 0, err
		}
		p.plan(meta, TTL)
	}
	p.sort()
	aged := s.aged
	if s.config.MaxAge <= 0 {
		return aged, nil
	}
	earlier := scratch{removals: p.removals[:len(p.removals):len(p.removals)]}
	seq, err := m.Next(max(s.state.First, aged))
	for ; err == nil && seq != 0 && len(p.removals) < limit; seq, err = m.Next(seq + 1) {
		meta, err := live(m, seq)
		if err != nil {
			return 0, err
		}
		if meta.Time > s.clock-int64(s.config.MaxAge) {
			break
		}
		if meta.Expires != Never && !earlier.planned(seq) {
			p.plan(meta, LimitAge)
		}
		aged = seq + 1
	}
	return aged, err
}

// markers returns the subjects, in the order of their last messages, that need a marker: those of
// which the plan removes all messages, unless the last is a marker itself.
func (s *Stream) markers(m Messages) ([]string, error) {
	if s.config.MarkerTTL <= 0 {
		return nil, nil
	}
	p := &s.scratch
	p.sort()
	planned := map[string]uint64{}
	for i := range p.removals {
		planned[p.removals[i].Subject]++
	}
	var marked []string
	for i := range p.removals {
		r := &p.removals[i].Meta
		state, err := m.Subject(r.Subject)
		if err != nil {
			return nil, err
		}
		if state.Last != r.Sequence || state.Count != planned[r.Subject] ||
			s.config.Retention == config.InterestRetention && !s.wanted(r.Subject, s.state.Last+1) {
			continue
		}
		message, err := m.Load(r.Sequence)
		if err != nil {
			return nil, err
		}
		if !terms.Marks(message.Header) {
			marked = append(marked, r.Subject)
		}
	}
	return marked, nil
}

// marker returns the message that stands for a subject whose last message has expired.
func (s *Stream) marker(subject string) *arrival {
	ttl := s.config.MarkerTTL
	block := headers.Build(
		headers.Field{Name: terms.MarkerHeader, Value: markerMaxAge},
		headers.Field{Name: ttlHeader, Value: ttl.String()},
		headers.Field{Name: rollupHeader, Value: terms.RollupSubject},
	)
	return &arrival{subject: subject, terms: &terms.Terms{}, header: block, at: s.clock, internal: true, ttl: int64(ttl)}
}
