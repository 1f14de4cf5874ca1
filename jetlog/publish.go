package jetlog

import (
	"strconv"
	"time"

	"runnel/headers"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
	"runnel/jetlog/producers"
	"runnel/jetlog/terms"
)

// headerBytesMax is the largest header block that is stored.
const headerBytesMax = 65535

// Unwanted is the detail of the refusal of a message that is put into a stream of which no consumer wants it.
const Unwanted = "no consumer of the stream wants the message"

// publish plans and commits a message. The checks come in the order that clients of a replicated
// stream know: a duplicate is answered as one before anything is expected of the stream.
func (s *Stream) publish(c *command.Publish, m Messages) (Result, error) {
	if c.Sourced {
		return s.publishFrom(c, m)
	}
	return s.publishOne(c, m)
}

func (s *Stream) publishOne(c *command.Publish, m Messages) (Result, error) {
	if s.config.Sealed {
		return refused(config.Sealed), nil
	}
	s.scratch.terms = termsOf(c)
	a := arrivalOf(c, s.clock, &s.scratch.terms)
	if r, err := s.judge(&a, m, nil); err != nil || r.Code != 0 || r.Duplicate {
		return r, err
	}
	switch {
	case a.kept:
		return s.store(&a, m)
	case a.put != nil:
		return refusedWith(config.StoreFailed, Unwanted), nil
	}
	return s.pass(&a, m)
}

// judge finds out whether a message may be stored, and as what. For a member of a batch, m is the
// batch, which has the messages as they are after the members before.
func (s *Stream) judge(a *arrival, m Messages, b *batch) (Result, error) {
	if r := s.caused(a.cause); r.Code != 0 || r.Duplicate {
		return r, nil
	}
	t := a.terms
	if len(t.Stream) > 0 && string(t.Stream) != s.config.Name && !a.internal {
		return refused(config.WrongStream), nil
	}
	if !a.internal {
		if r := s.produced(t, a.put, b); r.Code != 0 || r.Duplicate {
			return r, nil
		}
	}
	if len(t.ID) > 0 && (t.Producer == nil || a.internal) {
		if r, err := s.repeated(a, m, b); err != nil || r.Code != 0 || r.Duplicate {
			return r, err
		}
	}
	if code, detail := t.Refusal(&s.config, a.internal); code != 0 {
		return refusedWith(code, detail), nil
	}
	if s.config.AllowCounter {
		if code := a.counterRefusal(); code != 0 {
			return refused(code), nil
		}
	}
	if r, err := s.expected(a, m, b); err != nil || r.Code != 0 {
		return r, err
	}
	if r, err := s.schedule(a, m, b); err != nil || r.Code != 0 {
		return r, err
	}
	if t.HasSource && !a.internal {
		return refused(config.SourceHeaderRefused), nil
	}
	if s.config.AllowCounter {
		if r, err := s.add(a, m); err != nil || r.Code != 0 {
			return r, err
		}
	}
	a.kept = s.config.Retention != config.InterestRetention || s.wanted(a.subject, s.state.Last+1)
	return a.check(&s.config, b), nil
}

// expected checks what the message expects to be the last. Within a batch that is what was there before
// the batch, on a subject that no member before has written.
func (s *Stream) expected(a *arrival, m Messages, b *batch) (Result, error) {
	t := a.terms
	if a.internal {
		return Result{}, nil // that was for the stream that it comes from
	}
	if t.LastOnSubject.Set {
		if b.wrote(t.On(a.subject)) {
			return refused(config.WrongLastInBatch), nil
		}
		last, err := s.lastOn(t, a.subject, b.before(m))
		if err != nil {
			return Result{}, err
		}
		if !t.LastOnSubject.Met(last) {
			return wrongLast(last), nil
		}
	}
	switch {
	case !t.Last.Met(s.state.Last):
		return wrongLast(s.state.Last), nil
	case t.Last.Set && b.begun():
		return refused(config.WrongLastInBatch), nil
	case len(t.LastID) > 0 && b != nil:
		return refusedWith(config.AtomicHeaderUnsupported, terms.LastIDHeader), nil
	case len(t.LastID) > 0 && string(t.LastID) != string(s.lastID):
		return refusedWith(config.WrongLastMessageID, string(s.lastID)), nil
	}
	return Result{}, nil
}

func wrongLast(seq uint64) Result {
	return refusedWith(config.WrongLastSequence, strconv.FormatUint(seq, 10))
}

// lastOn returns the last sequence on the subject of an expectation.
func (s *Stream) lastOn(t *terms.Terms, subject string, m Messages) (uint64, error) {
	if len(t.OnSubject) > 0 {
		return m.LastOf(s.scratch.literal(string(t.OnSubject)), s.state.Last)
	}
	state, err := m.Subject(subject)
	return state.Last, err
}

// arrival is a message on its way into the stream.
type arrival struct {
	subject string
	terms   *terms.Terms
	// header and payload are what is to be stored.
	header, payload []byte
	// at is the time under which it is stored.
	at int64
	// skip is how many sequences are passed over before its own.
	skip uint64
	// internal tells that the server itself publishes it, kept that it is stored.
	internal, kept bool
	// put is set for what the server puts in somebody's name, cause for what acknowledges that from which it was made.
	put   *command.Put
	cause *causes.Cause
	// total is what a counter has come to, empty in other streams.
	total string
	// rollSubject and rollAll tell what goes for it.
	rollSubject, rollAll bool
	// ttl is how long the message lives by itself, in nanoseconds: 0 for no TTL, or Never.
	ttl int64
	// fire is when its schedule is due, 0 for none. cancels is the message of a schedule that ends by it.
	fire    int64
	cancels Meta
}

func arrivalOf(c *command.Publish, at int64, t *terms.Terms) arrival {
	return arrival{
		subject: c.Subject, terms: t, header: c.Header, payload: c.Payload, at: at, internal: c.Internal, fire: c.Fire, put: c.Put,
		cause: c.Cause,
	}
}

// check looks at the message by itself: what it asks for and how large it is. What a message from another
// stream asks for in vain is not held against it, since it was stored there.
func (a *arrival) check(cfg *config.Stream, b *batch) Result {
	var refusal string
	if a.rollSubject, a.rollAll, refusal = a.terms.RollupOf(cfg); refusal == "" {
		refusal = b.refusesRollup(a)
	}
	if refusal != "" && !a.internal {
		return refusedWith(config.RollupFailed, refusal)
	}
	size := len(a.header) + len(a.payload)
	if cfg.MaxMessageBytes >= 0 && size > int(cfg.MaxMessageBytes) {
		return refused(config.MessageTooLarge)
	}
	if len(a.header) > headerBytesMax {
		return refused(config.HeaderTooLarge)
	}
	if !cfg.AllowTTL {
		return Result{} // a copy of a message with a TTL keeps the header, which means nothing here
	}
	ttl, ok := terms.ParseTTL(a.terms.TTL)
	if !ok && !a.internal {
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
	if err := s.planCause(a.cause, m); err != nil {
		return Result{}, err
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	empty := s.state.Messages == 0 || s.scratch.moved && s.scratch.first > s.state.Last
	s.advance(a, m)
	s.removed[NoInterest]++
	r := Result{Sequence: s.state.Last, Removed: s.remove(m)}
	s.postponeAll(&r)
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
	if err := s.planCause(a.cause, m); err != nil {
		return Result{}, err
	}
	if err := s.settle(m, meta); err != nil {
		return Result{}, err
	}
	s.append(a, meta, m)
	r := Result{Sequence: meta.Sequence, Stored: true, Total: a.total, Removed: s.remove(m)}
	s.postponeAll(&r)
	if s.config.Republish != nil {
		r.Previous, r.As = before.Last, s.appended()
	}
	return r, nil
}

// metaOf returns what will be known of the message as the next one, valid until the next call.
func (s *Stream) metaOf(a *arrival) *Meta {
	meta := &s.scratch.meta
	*meta = Meta{
		Sequence: s.state.Last + a.skip + 1, Time: a.at, Subject: a.subject,
		Bytes: s.bytesOf(a.subject, a.header, a.payload),
	}
	switch {
	case a.ttl > 0:
		meta.Expires = Later(a.at, time.Duration(a.ttl))
	case a.ttl < 0:
		meta.Expires = Never
	}
	return meta
}

// appended returns the message that was appended last.
func (s *Stream) appended() *Message {
	m := s.scratch.message
	return &m
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
		s.ttl.Add(meta.Expires, meta.Sequence)
	}
	switch {
	case a.fire > 0:
		s.schedules.Set(meta.Subject, meta.Sequence, a.fire)
	case s.schedules.Len() > 0:
		s.schedules.Drop(meta.Subject)
	}
	s.arrived(meta.Sequence, meta.Subject)
}

// advance gives the next sequence and notes the message id.
func (s *Stream) advance(a *arrival, m Messages) {
	s.skip(a.skip)
	s.state.Last++
	s.state.LastTime = a.at
	s.published++
	s.lastID = append(s.lastID[:0], a.terms.ID...)
	if !a.internal && a.terms.Producer != nil {
		s.producers.Note(a.terms.Producer, producers.Mark{Number: a.terms.Number, Sequence: s.state.Last})
	}
	if a.cause != nil {
		s.owe(a.cause)
	}
	if window := int64(s.config.DuplicateWindow); window > 0 {
		if len(a.terms.ID) > 0 {
			m.Remember(a.terms.ID, s.state.Last, a.at)
		}
		m.Forget(s.clock - window + 1)
	}
}

// skip passes sequences over, which are counted as given and gone.
func (s *Stream) skip(n uint64) {
	s.state.Last += n
	s.published += n
	s.removed[Skipped] += n
}

// Later returns the time that is d after at; see [deadlines.Later].
func Later(at int64, d time.Duration) int64 { return deadlines.Later(at, d) }

// Nanoseconds returns a time in nanoseconds since 1970; see [deadlines.Nanoseconds].
func Nanoseconds(t time.Time) int64 { return deadlines.Nanoseconds(t) }
