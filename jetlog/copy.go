package jetlog

import (
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/terms"
)

// copy stores messages with the sequences and times that they have in another stream. What their headers
// expect was checked there; limits are those of this stream. When there is no room for one, those before
// it are stored, and Count tells how many that are.
func (s *Stream) copy(c *command.Copy, m Messages) (Result, error) {
	if s.config.Sealed {
		return refused(config.Sealed), nil
	}
	if c.From != s.state.Last+1 || !ordered(c) {
		return refusedWith(config.BadRequest, "messages are not in order"), nil
	}
	b := s.newBatch(len(c.Messages), m)
	full := ""
	all := make([]terms.Terms, len(c.Messages))
	r, err := s.atOnce(b, m, func() (Result, error) {
		last := s.state.LastTime
		for i := range c.Messages {
			all[i] = terms.Read(c.Messages[i].Header)
			last = max(last, believed(c.Messages[i].Time, c.Time))
			a := s.copied(&c.Messages[i], last, &all[i])
			detail, err := s.stage(a, b)
			if err != nil {
				return Result{}, err
			}
			if full = detail; full != "" {
				return Result{}, nil
			}
		}
		if c.Through > s.state.Last {
			s.state.Last = c.Through
			s.state.LastTime = max(s.state.LastTime, c.Time)
			return Result{}, s.moveFirst(b)
		}
		return Result{}, nil
	})
	if full != "" {
		r.Code, r.Detail = config.StoreFailed, full
	}
	if err == nil && r.Code != config.StoreFailed {
		s.arriveAll(all)
	}
	return r, err
}

// aheadMax is how far the clocks of two servers may be apart.
const aheadMax = int64(24 * time.Hour)

// believed returns the time of a message, or now if it is so far ahead that it can only be wrong: the time of a
// stream never goes back, so that one wrong message would spoil it for good.
func believed(at, now int64) int64 {
	if at > now && at-now > aheadMax || at > now && at-now < 0 {
		return now
	}
	return at
}

// ordered reports whether the messages are ones that can follow each other.
func ordered(c *command.Copy) bool {
	next := c.From
	for i := range c.Messages {
		seq := c.Messages[i].Sequence
		if seq < next || seq > command.SequenceMax {
			return false
		}
		next = seq + 1
	}
	return c.Through <= command.SequenceMax && (c.Through == 0 || c.Through+1 >= next)
}

// copied returns a message of another stream as one of this. Times never go back, whatever the
// other stream says.
func (s *Stream) copied(c *command.Copied, at int64, t *terms.Terms) arrival {
	s.clock = max(s.clock, at)
	a := arrival{
		subject: c.Subject, terms: t, header: c.Header, payload: c.Payload, at: at,
		skip: c.Sequence - s.state.Last - 1, internal: true,
		kept: s.config.Retention != config.InterestRetention || s.wanted(c.Subject, c.Sequence),
	}
	if s.config.AllowSchedules && t.Schedule {
		a.fire = c.Fire
	}
	// A rollup that cannot be followed here was one there.
	a.rollSubject, a.rollAll, _ = t.RollupOf(&s.config)
	if ttl, ok := terms.ParseTTL(t.TTL); ok && s.config.AllowTTL {
		a.ttl = int64(ttl)
	}
	return a
}
