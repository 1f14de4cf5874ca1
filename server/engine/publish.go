package engine

import (
	"time"

	"runnel/server/engine/chunks"
	"runnel/server/engine/reserved"
	"runnel/server/msgtrace"
	"runnel/server/wire"
)

// flagsSlow are the properties of a publisher that keep its messages off the fast loop.
const flagsSlow = flagVerbose | flagPedantic | flagNoEcho | flagTrace

// publish routes one message of c.
func (w *worker) publish(c *Conn, f *wire.Frame) error {
	header := f.Verb == wire.VerbHPub
	if header {
		if w.flags&flagHeaders == 0 {
			return w.refuse(c, ReasonHeaderViolation, "")
		}
		if !w.profile.Unlimited() && !w.mayAcknowledge(c, f) {
			return nil
		}
		if w.mayBeTraced(f) {
			if handled, err := w.publishTraced(c, f); handled {
				return err
			}
		}
	}
	w.inMessages++
	w.inBytes += int64(f.BodyBytes)
	e := w.match.lookup(w.profile, f.Subject, fromClient)
	if e.flags&^entryFar != 0 || w.flags&flagsSlow != 0 || f.Reply != nil && reserved.AsReply(f.Reply) {
		return w.publishSlow(c, e, f)
	}
	delivered := 0
	for i := range e.plain {
		if w.deliver(&e.plain[i], header, f) {
			delivered++
		}
	}
	for i, group := range e.queues {
		switch {
		case w.deliverToGroup(group, header, f):
			delivered++
		case e.flags != 0:
			w.far.unserved = append(w.far.unserved, i)
		}
	}
	if e.flags != 0 {
		delivered += w.forward(e, f, "")
	}
	if delivered == 0 && f.Reply != nil && w.flags&flagNoResponders != 0 {
		w.unheard(c, e, f)
	}
	return nil
}

// unheard tells c that nobody got its request, if it asked to be told.
func (w *worker) unheard(c *Conn, e *entry, f *wire.Frame) {
	w.noResponders(c, w.profile, e.published(f.Subject), f.Reply)
}

// deliverToGroup delivers to one member of a queue group, chosen at random, passing over those that are
// closing.
func (w *worker) deliverToGroup(group []target, header bool, f *wire.Frame) bool {
	n := len(group)
	first := int(w.random.Uint64() % uint64(n))
	for i := range n {
		t := &group[(first+i)%n]
		if !t.conn.isClosing() && w.deliver(t, header, f) {
			return true
		}
	}
	return false
}

// deliver stages one message for a target of the plainest kind. It tells whether the subscription still
// takes messages.
func (w *worker) deliver(t *target, header bool, f *wire.Frame) bool {
	n, done := t.sub.Count()
	if n == 0 {
		return false
	}
	w.stageMessage(t, header, f)
	if done {
		t.conn.removeSubscription(t.sub)
	}
	return true
}

// stageMessage appends one delivery to the stage of the target.
func (w *worker) stageMessage(t *target, header bool, f *wire.Frame) {
	s := w.stageFor(&t.conn.line)
	tail := f.Tail
	need := len("HMSG   ") + len(f.Subject) + len(t.sub.SID)
	long := len(tail) >= chunks.BorrowBytes
	if !long {
		need += len(tail)
	}
	if s.Full(need) {
		w.flushStage(s)
	}
	own := s.Own
	switch {
	case t.prefix == nil:
		own = appendPrefix(own, header, f.Subject, t.sub.SID)
	case header:
		own = append(own, t.prefix...)
	default:
		own = append(own, t.prefix[1:]...)
	}
	if long {
		s.Own = own
		s.Borrow(tail)
	} else {
		s.Own = append(own, tail...)
	}
	s.messages++
	s.payload += f.BodyBytes
	s.last, s.from = t.sub, w.from
}

func appendPrefix(b []byte, header bool, subject []byte, sid string) []byte {
	if header {
		b = append(b, 'H')
	}
	b = append(b, "MSG "...)
	b = append(b, subject...)
	b = append(b, ' ')
	b = append(b, sid...)
	return append(b, ' ')
}

// publishSlow is publish with everything that is rare.
func (w *worker) publishSlow(c *Conn, e *entry, f *wire.Frame) error {
	if f.Reply != nil && reserved.AsReply(f.Reply) {
		w.deny(c, "Publish with Reply of", f.Reply)
		return nil
	}
	invalid := w.flags&flagPedantic != 0 && !validPublish(f.Subject)
	if e.flags&entryDrawn != 0 {
		e, f = w.draw(e, f)
	}
	subject := e.published(f.Subject)
	if e.flags&entryDenied != 0 && !w.mayAnswer(c, subject) {
		w.deny(c, "Publish to", subject)
		return nil
	}
	if invalid {
		w.reply(c, wire.AppendErr(nil, "Invalid Publish Subject"))
	}
	if w.flags&flagVerbose != 0 {
		w.reply(c, okLine)
	}
	if e.flags&entryLeaves != 0 && f.Verb == wire.VerbHPub {
		if ack := reserved.Acknowledged(f.Header()); ack != nil {
			w.deny(c, "Publish to another account with Runnel-Ack of", ack)
			return nil
		}
	}
	if w.traced != nil {
		w.traced.goOn(subject)
	}
	delivered := w.route(c, e, f)
	if e.flags&entryLeaves != 0 {
		w.letter.copyOf(f)
		w.letter.readdress(subject)
		w.letter.from, w.letter.traced = c, w.traced
		delivered += w.leave(e)
	}
	if delivered == 0 && f.Reply != nil && w.flags&flagNoResponders != 0 {
		w.noResponders(c, w.profile, subject, f.Reply)
	}
	if len(w.answers) > 0 {
		w.respond()
	}
	return nil
}

// route delivers a message of a connection to every target, special or not, and returns how many got it.
func (w *worker) route(from *Conn, e *entry, f *wire.Frame) (delivered int) {
	for i := range e.plain {
		if w.deliverSpecial(from, &e.plain[i], f) {
			delivered++
		}
	}
	for i, group := range e.queues {
		if w.routeToGroup(from, group, f) {
			delivered++
		} else {
			w.far.unserved = append(w.far.unserved, i)
		}
	}
	if e.flags&entryFar != 0 {
		delivered += w.forward(e, f, "")
	}
	w.far.unserved = w.far.unserved[:0]
	if e.flags&entryWitnessed != 0 {
		return w.show(e, Message{
			Subject: e.published(f.Subject), Reply: f.Reply, Header: orNil(f.Header()), Payload: f.Payload(), From: from, Got: delivered,
		})
	}
	return delivered
}

func (w *worker) routeToGroup(from *Conn, group []target, f *wire.Frame) bool {
	first := int(w.random.Uint64() % uint64(len(group)))
	for i := range group {
		t := &group[(first+i)%len(group)]
		closing := t.conn != nil && t.conn.isClosing()
		if !closing && w.deliverSpecial(from, t, f) {
			return true
		}
	}
	return false
}

// deliverSpecial delivers to any kind of target and tells whether it did.
func (w *worker) deliverSpecial(from *Conn, t *target, f *wire.Frame) bool {
	var told *msgtrace.Trace
	if w.traced != nil {
		var goes, got bool
		if told, goes, got = w.traced.pass(t, from, t.subject(f.Subject)); !goes {
			return got
		}
	}
	if t.internal != nil {
		if n, _ := t.sub.Count(); n == 0 {
			return false
		}
		w.hand(t.internal, Message{
			Subject: t.subject(f.Subject), Reply: f.Reply, Header: orNil(f.Header()), Payload: f.Payload(), From: from,
			Trace: told,
		})
		return true
	}
	if t.conn == from && from.has(flagNoEcho) {
		return false
	}
	header := f.Verb == wire.VerbHPub
	if header && !t.conn.has(flagHeaders) {
		w.letter.copyOf(f)
		return w.sendTo(t)
	}
	if w.flags&flagTrace != 0 {
		w.traceOut(t, t.subject(f.Subject), f.BodyBytes)
	}
	if r := t.conn.replies.Load(); r != nil && f.Reply != nil {
		r.Expect(string(f.Reply), time.Now())
	}
	return w.deliver(t, header, f)
}

// draw returns the subject that the mapping of e draws for a message, as a message on it and its entry; an entry that
// leads nowhere for one that is to be lost.
func (w *worker) draw(e *entry, f *wire.Frame) (*entry, *wire.Frame) {
	to, ok := e.beyond.mapping.Choose(e.subject, w.random.IntN)
	if !ok {
		return &entry{profile: e.profile}, f
	}
	drawn := &w.travels.drawn
	*drawn = *f
	drawn.Subject = []byte(to)
	return w.match.lookup(e.profile, drawn.Subject, fromElsewhere), drawn
}

// mayAnswer tells whether c was sent a message that asked for an answer on subject, and counts the answer.
func (w *worker) mayAnswer(c *Conn, subject []byte) bool {
	r := c.replies.Load()
	return r != nil && r.Allow(string(subject), time.Now())
}

// mayAcknowledge tells whether c may send the acknowledgement that it publishes with a message, if it does.
func (w *worker) mayAcknowledge(c *Conn, f *wire.Frame) bool {
	ack := reserved.Acknowledged(f.Header())
	if ack == nil || w.profile.CanPublish(string(ack)) || w.mayAnswer(c, ack) {
		return true
	}
	w.deny(c, "Publish to", ack)
	return false
}

// deny tells c that it may not do what with subject. The connection stays.
func (w *worker) deny(c *Conn, what string, subject []byte) {
	text := "Permissions Violation for " + what + " \"" + string(subject) + "\""
	if w.traced != nil {
		w.traced.trace.Refuse(text)
	}
	w.reply(c, wire.AppendErr(nil, text))
	w.engine.logger.Error("permissions violation", "cid", c.ID(), "user", c.User(), "attempt", what, "subject", string(subject))
}
