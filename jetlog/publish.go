package jetlog

import (
	"strconv"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// headerBytesMax is the largest header block that is stored.
const headerBytesMax = 65535

// publish plans and commits a message. The checks come in the order that clients of a replicated
// stream know: a duplicate is answered as one before anything is expected of the stream.
func (s *Stream) publish(c *command.Publish, m Messages) (Result, error) {
	if s.config.Sealed {
		return refused(config.Sealed), nil
	}
	t := &s.scratch.terms
	*t = readTerms(c.Header)
	if len(t.id) > 0 {
		seq, err := s.duplicateOf(t.id, m)
		if err != nil || seq > 0 {
			return Result{Sequence: seq, Duplicate: true}, err
		}
	}
	if code, detail := t.refusal(&s.config, c.Internal); code != 0 {
		return refusedWith(code, detail), nil
	}
	if r, err := s.expected(t, c.Subject, m); err != nil || r.Code != 0 {
		return r, err
	}
	a := arrival{command: c, terms: t, header: c.Header, payload: c.Payload}
	if s.config.AllowCounter {
		if r, err := s.add(&a, m); err != nil || r.Code != 0 {
			return r, err
		}
	}
	if r := a.check(&s.config); r.Code != 0 {
		return r, nil
	}
	if s.config.Retention == config.InterestRetention && !s.wanted(c.Subject) {
		return s.pass(&a, m)
	}
	return s.store(&a, m)
}

// duplicateOf returns the sequence that the message id had within the window, 0 for none.
func (s *Stream) duplicateOf(id []byte, m Messages) (uint64, error) {
	window := int64(s.config.DuplicateWindow)
	if window <= 0 {
		return 0, nil
	}
	seq, at, err := m.MessageID(id)
	if err != nil || s.clock-at >= window {
		return 0, err
	}
	return seq, nil
}

// expected checks what the message expects to be the last.
func (s *Stream) expected(t *terms, subject string, m Messages) (Result, error) {
	if t.lastOnSubject.set {
		last, err := s.lastOn(t, subject, m)
		if err != nil {
			return Result{}, err
		}
		if !t.lastOnSubject.met(last) {
			return refusedWith(config.WrongLastSequence, strconv.FormatUint(last, 10)), nil
		}
	}
	if !t.last.met(s.state.Last) {
		return refusedWith(config.WrongLastSequence, strconv.FormatUint(s.state.Last, 10)), nil
	}
	if len(t.lastID) > 0 && string(t.lastID) != string(s.lastID) {
		return refusedWith(config.WrongLastMessageID, string(s.lastID)), nil
	}
	return Result{}, nil
}

// lastOn returns the last sequence on the subject of an expectation.
func (s *Stream) lastOn(t *terms, subject string, m Messages) (uint64, error) {
	if len(t.onSubject) > 0 {
		return m.LastOf(s.scratch.literal(string(t.onSubject)), s.state.Last)
	}
	state, err := m.Subject(subject)
	return state.Last, err
}

// arrival is a message on its way into the stream.
type arrival struct {
	command *command.Publish
	terms   *terms
	// header and payload are what is to be stored.
	header, payload []byte
	// total is what a counter has come to, empty in other streams.
	total string
	// rollSubject and rollAll tell what goes for it.
	rollSubject, rollAll bool
	// ttl is how long the message lives by itself, in nanoseconds: 0 for no TTL, or Never.
	ttl int64
}

// check looks at the message by itself: what it asks for and how large it is.
func (a *arrival) check(cfg *config.Stream) Result {
	var refusal string
	if a.rollSubject, a.rollAll, refusal = a.terms.rollupOf(cfg); refusal != "" {
		return refusedWith(config.RollupFailed, refusal)
	}
	size := len(a.header) + len(a.payload)
	if cfg.MaxMessageBytes >= 0 && size > int(cfg.MaxMessageBytes) {
		return refused(config.MessageTooLarge)
	}
	if len(a.header) > headerBytesMax {
		return refused(config.HeaderTooLarge)
	}
	ttl, ok := parseTTL(a.terms.ttl)
	if !ok {
		return refused(config.TTLInvalid)
	}
	if cfg.MarkerTTL > ttl && ttl > 0 && cfg.MaxPerSubject != 1 {
		// A message that is gone before its marker would be has no use for one.
		ttl = cfg.MarkerTTL
		a.header = headers.Set(a.header, ttlHeader, ttl.String())
	}
	a.ttl = int64(ttl)
	return Result{}
}

// pass gives a sequence to a message that no consumer wants, and lets it do what it does to others.
func (s *Stream) pass(a *arrival, m Messages) (Result, error) {
	if err := s.planRollup(a, m); err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	empty := s.state.Messages == 0 || s.scratch.moved && s.scratch.first > s.state.Last
	s.advance(a, m)
	s.removed[NoInterest]++
	r := Result{Sequence: s.state.Last, Removed: s.remove(m)}
	if empty {
		s.state.First, s.state.FirstTime = s.state.Last+1, 0
	}
	return r, nil
}

// store plans what a message displaces, and commits it.
func (s *Stream) store(a *arrival, m Messages) (Result, error) {
	meta := s.metaOf(a)
	var before SubjectState
	if s.config.MaxPerSubject > 0 || s.config.Republish != nil {
		var err error
		if before, err = m.Subject(meta.Subject); err != nil {
			return Result{}, err
		}
	}
	if detail, err := s.planStore(a, meta, before, m); err != nil || detail != "" {
		return refusedWith(config.StoreFailed, detail), err
	}
	if err := s.settle(m, meta); err != nil {
		return Result{}, err
	}
	s.append(a, meta, m)
	r := Result{Sequence: meta.Sequence, Stored: true, Total: a.total, Removed: s.remove(m)}
	if s.config.Republish != nil {
		r.Previous = before.Last
	}
	return r, nil
}

// metaOf returns what will be known of the message as the next one, valid until the next call.
func (s *Stream) metaOf(a *arrival) *Meta {
	meta := &s.scratch.meta
	*meta = Meta{
		Sequence: s.state.Last + 1, Time: s.clock, Subject: a.command.Subject,
		Bytes: s.bytesOf(a.command.Subject, a.header, a.payload),
	}
	switch {
	case a.ttl > 0:
		meta.Expires = s.clock + a.ttl
	case a.ttl < 0:
		meta.Expires = Never
	}
	return meta
}

// append commits a message.
func (s *Stream) append(a *arrival, meta *Meta, m Messages) {
	s.advance(a, m)
	s.scratch.message = Message{
		Sequence: meta.Sequence, Time: meta.Time, Subject: meta.Subject,
		Header: a.header, Payload: a.payload,
	}
	m.Append(&s.scratch.message, meta)
	s.state.Messages++
	s.state.Bytes += meta.Bytes
	if meta.Expires > 0 {
		s.ttl.add(meta.Expires, meta.Sequence)
	}
	s.arrived(meta.Sequence, meta.Subject)
}

// advance gives the next sequence and notes the message id.
func (s *Stream) advance(a *arrival, m Messages) {
	s.state.Last++
	s.state.LastTime = s.clock
	s.published++
	s.lastID = append(s.lastID[:0], a.terms.id...)
	if window := int64(s.config.DuplicateWindow); window > 0 {
		if len(a.terms.id) > 0 {
			m.Remember(a.terms.id, s.state.Last, s.clock)
		}
		m.Forget(s.clock - window + 1)
	}
}
