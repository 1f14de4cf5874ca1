package jetlog

import (
	"fmt"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/producers"
	"runnel/jetlog/terms"
)

// produced answers a message whose producer numbers what it publishes, unless its number is the next one. Of a duplicate the
// sequence is known if it is the producer's last, otherwise it is 0. What the message expects is not asked: it was, when
// the number was taken. Nor is a message id: the number says more. What is put may leave numbers out.
func (s *Stream) produced(t *terms.Terms, put *command.Put, b *batch) Result {
	if detail := t.ProducerRefusal(); detail != "" {
		return refusedWith(config.ProducerInvalid, detail)
	}
	if t.Producer == nil {
		return Result{}
	}
	if b != nil {
		return refusedWith(config.AtomicHeaderUnsupported, "Runnel-Producer")
	}
	verdict, last := s.producers.Judge(t.Producer, t.Number)
	if put != nil && (verdict == producers.Next || verdict == producers.Gap) {
		if last.Number >= put.After {
			return Result{}
		}
		verdict = producers.Gap
	}
	switch verdict {
	case producers.Duplicate:
		r := Result{Duplicate: true}
		if t.Number == last.Number {
			r.Sequence = last.Sequence
		}
		return r
	case producers.Gap:
		return refusedWith(config.ProducerGap, fmt.Sprintf("%q is at %d, so %d is next, not %d", t.Producer, last.Number, last.Number+1, t.Number))
	case producers.Full:
		return refusedWith(config.ProducersFull, fmt.Sprintf("the stream knows %d, and forgets none by itself: PRODUCER.FORGET does", producers.Most))
	}
	return Result{}
}

// mark forgets producers, and sets those of a backup. The count of the result is how many it were.
func (s *Stream) mark(c *command.Producers) (r Result) {
	for i := range c.Set {
		if p := &c.Set[i]; !s.producers.Admits(p.Name, p.Mark, i, s.state.Last) {
			return refusedWith(config.ProducerInvalid, fmt.Sprintf("%q cannot be at %d", p.Name, p.Number))
		}
	}
	for _, p := range c.Forget {
		if s.producers.Forget(p.Name, p.Number) {
			r.Count++
		}
	}
	for _, p := range c.Set {
		s.producers.Note([]byte(p.Name), p.Mark)
		r.Count++
	}
	return r
}

// Producers returns how far those are who number what they publish, and those in whose name messages are put. It must not be changed.
func (s *Stream) Producers() *producers.Table { return &s.producers }

// termsOf returns what a message asks for.
func termsOf(c *command.Publish) terms.Terms {
	if c.Put == nil {
		return terms.Read(c.Header)
	}
	// No client can be the producer of this name: the value of a header has no line break.
	return terms.Terms{Producer: []byte("\n" + c.Put.Producer), Number: c.Put.Number}
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

// repeated answers a message whose id was seen within the window: as a duplicate, if what it expects held
// for the original too. So somebody who did not get the answer and tries again learns that all is well,
// and somebody who expects something else learns that it is not so. The Result is zero for another id.
func (s *Stream) repeated(a *arrival, m Messages, b *batch) (Result, error) {
	if b.named(a.terms.ID) {
		return refused(config.AtomicDuplicate), nil
	}
	seq, err := s.duplicateOf(a.terms.ID, m)
	switch {
	case err != nil || seq == 0:
		return Result{}, err
	case b != nil:
		return refused(config.AtomicDuplicate), nil
	}
	if r, err := s.heldFor(seq, a, m); err != nil || r.Code != 0 {
		return r, err
	}
	return Result{Sequence: seq, Duplicate: true}, nil
}

// heldFor refuses a message that expects what did not hold for the message with a sequence.
func (s *Stream) heldFor(seq uint64, a *arrival, m Messages) (Result, error) {
	t := a.terms
	if a.internal {
		return Result{}, nil
	}
	if !t.Last.Met(seq - 1) {
		return wrongLast(s.state.Last), nil
	}
	if !t.LastOnSubject.Set && len(t.LastID) == 0 {
		return Result{}, nil
	}
	message, err := m.Load(seq)
	if err != nil {
		return Result{}, err
	}
	gone := message.Sequence == 0
	original := terms.Read(message.Header)
	if len(t.LastID) > 0 && !gone && string(t.LastID) != string(original.LastID) {
		return refusedWith(config.WrongLastMessageID, string(s.lastID)), nil
	}
	// What the original has expected itself was true for it.
	if !t.LastOnSubject.Set || t.LastOnSubject == original.LastOnSubject && t.On(a.subject) == original.On(message.Subject) {
		return Result{}, nil
	}
	last, err := m.LastOf(Filter{t.On(a.subject)}, seq-1)
	if err != nil || t.LastOnSubject.Met(last) {
		return Result{}, err
	}
	if gone && last == 0 && t.LastOnSubject.Below(seq) {
		return Result{}, nil // whatever could tell has gone
	}
	last, err = s.lastOn(t, a.subject, m)
	return wrongLast(last), err
}
