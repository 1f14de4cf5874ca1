package engine

import (
	"runnel/server/accounts"
	"runnel/server/engine/interest"
	"runnel/server/engine/reserved"
	"runnel/server/msgtrace"
	"runnel/server/wire"
	"runnel/subjects"
)

// traced is a message whose way is told, as it is in one account that it comes through: that of its publisher, or of a
// service that it enters.
type traced struct {
	trace *msgtrace.Trace
	// home is the publisher's account, at the one where the message is now, subject its subject there.
	home, at *accounts.Account
	subject  string
	search   interest.Search
}

// errand is where the way of a message is told.
type errand struct {
	destination string // in the account of the publisher
	only        bool   // the message itself reaches nobody
	own         bool   // the account wants it, the publisher has not asked
}

// mayBeTraced tells whether a message with headers has to be looked at more closely.
func (w *worker) mayBeTraced(f *wire.Frame) bool {
	return msgtrace.Mentioned(f.Header()) || w.profile.Account().Trace() != nil
}

// errand finds out whether the way of f is to be told.
func (w *worker) errand(f *wire.Frame) (e errand, ok bool) {
	if w.engine.traced == nil {
		return e, false
	}
	e.destination, e.only = msgtrace.Destination(f.Header())
	if e.destination != "" {
		return e, subjects.ValidLiteral(e.destination)
	}
	t := w.profile.Account().Trace()
	if t == nil || !msgtrace.Sampled(f.Header()) || w.random.IntN(100) >= t.Sampling {
		return e, false
	}
	return errand{destination: t.Destination, own: true}, true
}

// publishTraced is publish for a message whose way is told. For any other it does nothing and is false.
func (w *worker) publishTraced(c *Conn, f *wire.Frame) (handled bool, err error) {
	e, ok := w.errand(f)
	if !ok {
		return false, nil
	}
	w.inMessages++
	w.inBytes += int64(f.BodyBytes)
	a, to := w.profile.Account(), []byte(e.destination)
	if !e.own && (!w.profile.CanPublish(e.destination) || reserved.Publish(to) && a.Name() != accounts.SystemName) {
		w.deny(c, "Publish to", to)
		return true, nil
	}
	t := msgtrace.New(f.Header(), f.BodyBytes, e.only, func(t *msgtrace.Trace) { w.engine.traced(a, e.destination, t) })
	t.Enter(c.peer(), a.Name(), string(f.Subject))
	w.traced = &traced{trace: t, home: a, at: a, subject: string(f.Subject)}
	err = w.publishSlow(c, w.match.lookup(w.profile, f.Subject, fromClient), f)
	w.traced = nil
	t.Release()
	return true, err
}

// peer is how reports name c.
func (c *Conn) peer() msgtrace.Peer {
	return msgtrace.Peer{Kind: msgtrace.Client, CID: c.ID(), Name: c.Client().Name}
}

// goOn notes on which subject the message goes on after mappings, and who would get it if he might.
func (d *traced) goOn(subject []byte) {
	if string(subject) != d.subject {
		d.subject = string(subject)
		d.trace.Map(d.subject)
	}
	for _, f := range d.at.Interest().Match(subject, nil) {
		if c, ok := f.Value.Owner.(*Conn); ok && !receives(f.Value, d.subject) {
			d.leave(&target{conn: c, sub: f.Value}, msgtrace.Denied)
		}
	}
}

// leave notes that a target gets the message, or why not.
func (d *traced) leave(t *target, why string) {
	e := msgtrace.Egress{Subscription: t.sub.Subject, Queue: t.sub.Queue, Error: why}
	if t.conn != nil {
		e.Peer = t.conn.peer()
	} else {
		e.Peer = msgtrace.Peer{Kind: msgtrace.System, CID: t.internal.id}
	}
	if a := t.account(); a != nil && a != d.home {
		e.Account = a.Name()
	}
	d.trace.Leave(&e)
}

// account is that of the subscription; nil for that of a client that is gone.
func (t *target) account() *accounts.Account {
	if t.conn != nil {
		return t.conn.Account()
	}
	return t.internal.account
}

// pass notes that the message goes to a target, which is told subject. If goes is false it does not really, and got tells
// whether it counts as if it did. Otherwise an internal target is to be handed told, which is nil for most.
func (d *traced) pass(t *target, from *Conn, subject []byte) (told *msgtrace.Trace, goes, got bool) {
	if t.conn != nil && t.conn == from && from.has(flagNoEcho) {
		d.leave(t, msgtrace.NoEcho)
		return nil, false, false
	}
	follows := true
	if a := t.account(); a != nil && a != d.at {
		d.trace.Export(a.Name(), string(subject))
		follows = d.search.MayFollow(d.at, d.subject, a, string(subject))
	}
	switch explains := t.internal != nil && t.internal.explains; {
	case follows && explains:
		return d.trace, true, false
	case follows:
		d.leave(t, "")
	}
	return nil, !d.trace.Only(), true
}

// requestTraced is request for a message whose way is told.
func (w *worker) requestTraced(s *service, outer *letter) bool {
	d := outer.traced
	d.trace.Request(s.Account.Name(), s.subject, s.remote)
	if !s.AllowTrace {
		return !d.trace.Only() && w.enter(s, outer, nil)
	}
	there := &traced{trace: d.trace, home: d.home, at: s.Account, subject: s.remote}
	if !d.trace.Only() {
		return w.enter(s, outer, there)
	}
	l := w.letter
	l.readdress([]byte(s.remote))
	l.reply = l.reply[:0]
	l.begin(outer.header, outer.payload)
	l.from, l.traced = outer.from, there
	return w.send(w.match.lookup(s.Account.Profile(), l.to, fromService), "") > 0
}

// stageTraced sends the worker's letter, whose way is told, on to another server, which tells the rest.
func (w *worker) stageTraced(d *traced, to *server, x *far, groups []byte) {
	l := w.letter
	hop := d.trace.Hop()
	e := msgtrace.Egress{Peer: to.route.peer(), Hop: hop}
	if d.at != d.home {
		e.Account = d.at.Name()
	}
	d.trace.Leave(&e)
	header := l.header
	l.header = msgtrace.Onward(header, hop)
	l.head = l.head[:0]
	w.stageFarLetter(to, x, groups)
	l.header, l.head = header, l.head[:0]
}

// traceArrival begins to tell the way of the worker's letter, which has come from another server, if it asks for that;
// else it returns nil.
func (w *worker) traceArrival(r *route, e *entry) *msgtrace.Trace {
	l := w.letter
	if w.engine.traced == nil || !msgtrace.Mentioned(l.header) {
		return nil
	}
	destination, only := msgtrace.Destination(l.header)
	if !subjects.ValidLiteral(destination) {
		return nil
	}
	a := e.profile.Account()
	t := msgtrace.New(l.header, len(l.header)+len(l.payload), only, func(t *msgtrace.Trace) { w.engine.traced(a, destination, t) })
	t.Enter(r.peer(), a.Name(), string(l.to))
	l.traced = &traced{trace: t, home: a, at: a, subject: string(l.to)}
	return t
}
