package engine

import (
	"bytes"
	"strconv"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/msgtrace"
	"runnel/server/wire"
)

// letter is a message on its way to targets that are sent something else than what its publisher wrote: every
// message of the server itself, those that lose their header, and requests and answers that have left their account.
// A worker has one, and uses it again and again, for each account that a message may go through one after the other.
type letter struct {
	// to is what the targets were found by, subject what they are told; mostly the same. These and reply are
	// the letter's own memory.
	to, subject, reply []byte
	// header and payload are somebody else's, who keeps them until the worker is flushed.
	header, payload []byte
	// from is the client that it comes from, nil for the server. shy: not all who passed it on tell about the client.
	from *Conn
	shy  bool
	// traced is set when the way of the message is told.
	traced *traced
	// memory is for the header of a request.
	memory []byte
	// head is what stands between the sid and the header block: "[reply ][header size ]size CRLF". bare is the
	// same for who takes no headers. Both are made for the first target that needs them; empty until then.
	head, bare []byte
}

// address begins a new letter to the subscribers of a subject.
func (l *letter) address(to, subject, reply string, header, payload []byte) {
	l.to = append(l.to[:0], to...)
	l.subject = append(l.subject[:0], subject...)
	l.reply = append(l.reply[:0], reply...)
	l.begin(header, payload)
}

// answer begins a new letter to who waits for an answer.
func (l *letter) answer(reply, header, payload []byte) {
	l.readdress(reply)
	l.reply = l.reply[:0]
	l.begin(header, payload)
}

// copyOf makes the letter one with the content of f.
func (l *letter) copyOf(f *wire.Frame) {
	l.readdress(f.Subject)
	l.reply = append(l.reply[:0], f.Reply...)
	l.begin(f.Header(), f.Payload())
}

// readdress makes subject the one by which the targets are found, and that they are told.
func (l *letter) readdress(subject []byte) {
	l.to = append(l.to[:0], subject...)
	l.subject = append(l.subject[:0], subject...)
}

// begin gives the letter its content.
func (l *letter) begin(header, payload []byte) {
	l.header, l.payload, l.from, l.shy, l.traced = header, payload, nil, false, nil
	l.head, l.bare = l.head[:0], l.bare[:0]
}

// plain tells whether the targets are told the subject that they were found by, as it is in their account.
func (l *letter) plain() bool { return bytes.Equal(l.to, l.subject) }

// told is the subject that t is told.
func (l *letter) told(t *target) []byte {
	if l.plain() {
		return t.subject(l.subject)
	}
	return l.subject
}

// headFor is the letter's head, or the bare one.
func (l *letter) headFor(bare bool) []byte {
	if bare {
		if len(l.bare) == 0 {
			l.bare = l.appendHead(l.bare, 0)
		}
		return l.bare
	}
	if len(l.head) == 0 {
		l.head = l.appendHead(l.head, len(l.header))
	}
	return l.head
}

func (l *letter) appendHead(b []byte, headerBytes int) []byte {
	if len(l.reply) > 0 {
		b = append(append(b, l.reply...), ' ')
	}
	if headerBytes > 0 {
		b = append(strconv.AppendInt(b, int64(headerBytes), 10), ' ')
	}
	return append(strconv.AppendInt(b, int64(headerBytes+len(l.payload)), 10), "\r\n"...)
}

// send delivers the worker's letter to every target of e, special or not, and to where e leads beyond the account;
// with a queue only to one member of that group. It returns how many got it.
func (w *worker) send(e *entry, queue string) (delivered int) {
	if queue != "" {
		return w.sendToQueue(e, queue)
	}
	for i := range e.plain {
		if w.sendTo(&e.plain[i]) {
			delivered++
		}
	}
	for i, group := range e.queues {
		if w.sendToGroup(group) {
			delivered++
		} else {
			w.far.unserved = append(w.far.unserved, i)
		}
	}
	if e.flags&entryFar != 0 {
		delivered += w.forward(e, nil, "")
	}
	w.far.unserved = w.far.unserved[:0]
	if e.flags&entryLeaves != 0 {
		delivered += w.leave(e)
	}
	if l := w.letter; e.flags&entryWitnessed != 0 {
		return w.show(e, Message{
			Subject: l.to, Reply: orNil(l.reply), Header: orNil(l.header), Payload: l.payload, From: l.from, Got: delivered,
		})
	}
	return delivered
}

// sendToQueue delivers to one member of a queue group, of those of this name in one of the accounts.
func (w *worker) sendToQueue(e *entry, queue string) (delivered int) {
	for i, group := range e.queues {
		if group[0].sub.Queue != queue {
			continue
		}
		if w.sendToGroup(group) {
			w.far.unserved = w.far.unserved[:0]
			return 1
		}
		w.far.unserved = append(w.far.unserved, i)
	}
	if e.flags&entryFar != 0 {
		delivered = w.forward(e, nil, queue)
	}
	w.far.unserved = w.far.unserved[:0]
	return delivered
}

// sendToGroup delivers to one member of a queue group, chosen at random, rather to one that keeps up.
func (w *worker) sendToGroup(group []target) bool {
	n := len(group)
	first := int(w.random.Uint64() % uint64(n))
	for _, patient := range [...]bool{false, true} {
		for i := range n {
			t := &group[(first+i)%n]
			if c := t.conn; c != nil && (c.isClosing() || !patient && c.line.Crowded()) {
				continue
			}
			if w.sendTo(t) {
				return true
			}
		}
	}
	return false
}

// sendTo delivers the worker's letter to any kind of target and tells whether it did.
func (w *worker) sendTo(t *target) bool {
	l := w.letter
	var told *msgtrace.Trace
	if l.traced != nil {
		var goes, got bool
		if told, goes, got = l.traced.pass(t, l.from, l.told(t)); !goes {
			return got
		}
	}
	if l.from != nil && t.conn == l.from && l.from.has(flagNoEcho) {
		return false
	}
	n, done := t.sub.Count()
	if n == 0 {
		return false
	}
	if t.internal != nil {
		w.hand(t.internal, Message{
			Subject: l.told(t), Reply: orNil(l.reply), Header: orNil(l.header), Payload: l.payload, From: l.from,
			Trace: told,
		})
		return true
	}
	if w.flags&flagTrace != 0 {
		w.traceOut(t, l.told(t), len(l.header)+len(l.payload))
	}
	if r := t.conn.replies.Load(); r != nil && len(l.reply) > 0 {
		r.Expect(string(l.reply), time.Now())
	}
	w.stageLetter(t, len(l.header) == 0 || !t.conn.has(flagHeaders))
	if done {
		t.conn.removeSubscription(t.sub)
	}
	return true
}

// orNil is nil for no bytes.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// stageLetter appends the worker's letter to the stage of the target, bare for one without a header block.
func (w *worker) stageLetter(t *target, bare bool) {
	l := w.letter
	head, header := l.headFor(bare), l.header
	if bare {
		header = nil
	}
	s := w.stageFor(&t.conn.line)
	need := len("HMSG   ") + len(l.subject) + len(t.sub.SID) + len(head) + chunks.OwnBytes(header) + chunks.OwnBytes(l.payload) + len("\r\n")
	if s.Full(need) {
		w.flushStage(s)
	}
	switch {
	case t.prefix == nil || !l.plain():
		s.Own = appendPrefix(s.Own, !bare, l.subject, t.sub.SID)
	case bare:
		s.Own = append(s.Own, t.prefix[1:]...)
	default:
		s.Own = append(s.Own, t.prefix...)
	}
	s.Own = append(s.Own, head...)
	s.Add(header)
	s.Add(l.payload)
	s.Own = append(s.Own, "\r\n"...)
	s.messages++
	s.payload += len(header) + len(l.payload)
	s.last, s.from = t.sub, w.from
}

// noResponders tells c, on its own subscription for the reply subject and if it asked to be told, that nobody got
// its request on subject. It tells whether it did.
func (w *worker) noResponders(c *Conn, p *accounts.Profile, subject, reply []byte) bool {
	sub := c.subscriptionFor(p, reply)
	if sub == nil {
		return false
	}
	header := make([]byte, 0, 64+len(subject))
	header = append(append(append(header, "NATS/1.0 503\r\nNats-Subject: "...), subject...), "\r\n\r\n"...)
	w.letter.address(string(reply), string(reply), "", header, nil)
	return w.sendTo(&target{conn: c, sub: sub})
}

// subscriptionFor finds a subscription of c that matches subject.
func (c *Conn) subscriptionFor(p *accounts.Profile, subject []byte) *accounts.Subscription {
	for _, f := range p.Account().Interest().Match(subject, nil) {
		if f.Value.Owner == accounts.Subscriber(c) {
			return f.Value
		}
	}
	return nil
}
