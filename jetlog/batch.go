package jetlog

import (
	"runnel/jetlog/body"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/terms"
)

// batch is a plan for several messages. Each is planned as if those before it were stored, on a
// body that is staged; the state of the stream runs ahead with them. Only when all are planned is
// anything changed, so that a batch whose last member is refused, or a disk that fails in the middle,
// leaves no trace.
type batch struct {
	*body.Overlay
	removals []removal // of all members, members among them
	arrivals []arrival
	previous []uint64            // last sequences of the subjects before, for streams that republish
	ids      map[string]struct{} // message ids of members
	written  map[string]struct{} // subjects of members
	last     map[string]bool     // subjects of members that are stored, and whether the last one of each is a schedule
}

// begun reports whether there are members before. The methods with questions may be asked of no batch.
func (b *batch) begun() bool { return b != nil && len(b.arrivals) > 0 }

// wrote reports whether a member before is on the subject.
func (b *batch) wrote(subject string) bool {
	if b == nil {
		return false
	}
	_, wrote := b.written[subject]
	return wrote
}

// stored reports whether a member before is stored on the subject, and if so, whether the last of them is a schedule.
func (b *batch) stored(subject string) (schedule, stored bool) {
	if b == nil {
		return false, false
	}
	schedule, stored = b.last[subject]
	return schedule, stored
}

// named reports whether a member before has the message id.
func (b *batch) named(id []byte) bool {
	if b == nil {
		return false
	}
	_, named := b.ids[string(id)]
	return named
}

// before returns the messages as they were before the batch, m if there is none.
func (b *batch) before(m Messages) Messages {
	if b == nil {
		return m
	}
	return b.Messages
}

// refusesRollup returns why a member may not roll up what it wants to: members before it would go.
func (b *batch) refusesRollup(a *arrival) string {
	switch {
	case a.rollAll && b.begun():
		return "batch rollup all invalid"
	case a.rollSubject && b.wrote(a.subject):
		return "batch rollup sub invalid"
	}
	return ""
}

// batch stores several messages, all or none.
func (s *Stream) batch(c *command.Batch, m Messages) (Result, error) {
	switch {
	case s.config.Sealed:
		return refused(config.Sealed), nil
	case !s.config.AllowAtomic:
		return refused(config.AtomicDisabled), nil
	case len(c.Members) == 0:
		return refused(config.AtomicIncomplete), nil
	}
	if r := s.caused(c.Members[len(c.Members)-1].Cause); r.Code != 0 || r.Duplicate {
		return r, nil
	}
	b := s.newBatch(len(c.Members), m)
	return s.atOnce(b, m, func() (Result, error) {
		all := make([]terms.Terms, len(c.Members))
		for i := range c.Members {
			all[i] = terms.Read(c.Members[i].Header)
			a := arrivalOf(&c.Members[i], s.clock, &all[i])
			if r, err := s.judge(&a, b, b); err != nil || r.Code != 0 {
				return r, err
			}
			if detail, err := s.stage(a, b); err != nil || detail != "" {
				return refusedWith(config.StoreFailed, detail), err
			}
		}
		return Result{}, nil
	})
}

func (s *Stream) newBatch(n int, m Messages) *batch {
	return &batch{
		Overlay: body.Over(m, s.state.Last), arrivals: make([]arrival, 0, n),
		ids: map[string]struct{}{}, written: map[string]struct{}{}, last: map[string]bool{},
	}
}

// atOnce lets plan stage messages and then commits those of them, unless plan refuses or fails.
func (s *Stream) atOnce(b *batch, m Messages, plan func() (Result, error)) (Result, error) {
	before := s.state
	r, err := plan()
	after := s.state
	s.state = before
	s.scratch.removals = s.scratch.removals[:0]
	if err != nil || r.Code != 0 {
		return r, err
	}
	return s.commit(b, &after, m), nil
}

// stage plans a message and what it displaces, and moves the state as if that had happened. It
// returns why there is no room, empty if there is.
func (s *Stream) stage(a arrival, b *batch) (string, error) {
	p := &s.scratch
	meta := s.metaOf(&a)
	var before SubjectState
	var err error
	if a.kept && (s.config.MaxPerSubject > 0 || s.config.Republish != nil) {
		if before, err = b.Subject(a.subject); err != nil {
			return "", err
		}
	}
	if a.kept {
		detail, err := s.planStore(&a, meta, before, b)
		if err != nil || detail != "" {
			return detail, err
		}
		b.Plan(meta, a.header, a.payload)
		b.last[a.subject] = a.fire > 0
		s.state.Messages++
		s.state.Bytes += meta.Bytes
	} else if err := s.planRollup(&a, b); err != nil {
		return "", err
	}
	if err := s.planCause(a.cause, b); err != nil {
		return "", err
	}
	s.state.Last = meta.Sequence
	p.sort() // what goes for two reasons goes once
	if s.lettering > 0 {
		s.hold()
		s.stageKept()
	}
	for i := range p.removals {
		s.state.Messages--
		s.state.Bytes -= p.removals[i].Bytes
		b.PlanRemoval(&p.removals[i].Meta)
	}
	b.removals = append(b.removals, p.removals...)
	p.removals = p.removals[:0]
	b.arrivals = append(b.arrivals, a)
	b.previous = append(b.previous, before.Last)
	b.written[a.subject] = struct{}{}
	if len(a.terms.ID) > 0 {
		b.ids[string(a.terms.ID)] = struct{}{}
	}
	return "", s.moveFirst(b)
}

// moveFirst finds the oldest message of what is staged.
func (s *Stream) moveFirst(b *batch) error {
	seq, err := b.Next(s.state.First)
	if err != nil {
		return err
	}
	if seq == 0 {
		s.state.First, s.state.FirstTime = s.state.Last+1, 0
		return nil
	}
	if seq == s.state.First && s.state.FirstTime != 0 {
		return nil
	}
	meta, err := live(b, seq)
	s.state.First, s.state.FirstTime = seq, meta.Time
	return err
}

// commit stores what is staged. After is the state that the stream comes to.
func (s *Stream) commit(b *batch, after *State, m Messages) Result {
	r := Result{Sequence: after.Last, Count: len(b.arrivals)}
	for i := range b.arrivals {
		a := &b.arrivals[i]
		var as *Message
		if a.kept {
			s.append(a, s.metaOf(a), m)
			r.Stored, as = true, s.appended()
		} else {
			s.advance(a, m)
			s.removed[NoInterest]++
		}
		if s.config.Republish != nil {
			r.Members = append(r.Members, Result{
				Sequence: s.state.Last, Stored: a.kept, Previous: b.previous[i], Total: a.total, As: as,
			})
		}
	}
	s.skip(after.Last - s.state.Last)
	p := &s.scratch
	p.removals = append(p.removals, b.removals...)
	p.first, p.firstTime, p.moved = after.First, after.FirstTime, true
	r.Removed = s.remove(m)
	s.postponeAll(&r)
	return r
}
