package engine

import (
	"runnel/server/engine/frames"
	"runnel/server/engine/reserved"
	"runnel/server/msgtrace"
	"runnel/server/wire"
)

// arrive delivers a message of another server to subscribers of this one: all plain ones, and one member of each queue group
// that it names. Mappings were applied, and services asked, where it was published; imports of streams lead it on here.
func (w *worker) arrive(r *route, m *frames.Frame) {
	w.inMessages++
	w.inBytes += int64(m.BodyBytes)
	a := r.account(m.Number)
	if a == nil || !w.engine.routing.mayEnter(m.Subject) {
		return
	}
	from := fromElsewhere
	if m.Flags&frames.Service != 0 {
		from = fromService
	}
	f := &w.frame
	*f = wire.Frame{
		Verb: wire.VerbPub, Subject: m.Subject, Reply: m.Reply, Tail: m.Tail, HeaderBytes: m.HeaderBytes, BodyBytes: m.BodyBytes,
	}
	header := m.HeaderBytes > 0
	if header {
		f.Verb = wire.VerbHPub
	}
	e := w.match.lookup(a.Profile(), m.Subject, from)
	if len(m.Told) > 0 || e.flags&^entryFar != 0 || w.flags != 0 || header && msgtrace.Mentioned(f.Header()) {
		w.arriveSlow(r, m, e)
		return
	}
	if len(e.plain)+len(e.queues) == 0 {
		if stray := w.engine.routing.cfg.Stray; stray != nil && len(m.Reply) > 0 && len(m.Queues) == 0 {
			stray(a, m.Subject, m.Reply)
		}
	}
	for i := range e.plain {
		w.deliver(&e.plain[i], header, f)
	}
	for rest := m.Queues; ; {
		name, others, ok := frames.CutQueue(rest)
		if !ok {
			return
		}
		if i := e.groupOf(name); i < 0 || !w.deliverToGroup(e.queues[i], header, f) {
			w.passOn(e, m, name)
		}
		rest = others
	}
}

// arriveSlow is arrive with everything that is rare.
func (w *worker) arriveSlow(r *route, m *frames.Frame, e *entry) {
	if e.flags&entryDenied != 0 {
		return
	}
	l := w.letter
	l.copyOf(&w.frame)
	if len(m.Told) > 0 {
		l.subject = append(l.subject[:0], m.Told...)
	}
	t := w.traceArrival(r, e)
	for i := range e.plain {
		w.sendTo(&e.plain[i])
	}
	for rest := m.Queues; ; {
		name, others, ok := frames.CutQueue(rest)
		if !ok {
			break
		}
		if i := e.groupOf(name); i < 0 || !w.sendToGroup(e.queues[i]) {
			w.passOn(e, m, name)
		}
		rest = others
	}
	if reserved.Reply(m.Subject) && w.depart() {
		w.passAnswer(e.profile.Account(), l)
		w.comeBack(l)
	}
	if l.traced = nil; t != nil {
		t.Release()
	}
	if len(w.answers) > 0 {
		w.respond()
	}
}

// groupOf is the place of a queue group among those of e; -1 when it has no member here.
func (e *entry) groupOf(name []byte) int {
	if len(name) > 0 && name[0] == ' ' { // of an account that imports
		if e.beyond != nil {
			for i, n := range e.beyond.groups {
				if n == string(name) {
					return i
				}
			}
		}
		return -1
	}
	for i, group := range e.queues {
		if group[0].sub.Queue == string(name) && (e.beyond == nil || i >= len(e.beyond.groups) || e.beyond.groups[i] == "") {
			return i
		}
	}
	return -1
}
