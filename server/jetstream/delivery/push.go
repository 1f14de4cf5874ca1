package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// pusher is what a push consumer has besides: who listens, and how much may be sent when.
type pusher struct {
	subject, queue string
	cancel         func() // ends the watch of the subject
	bound          bool   // somebody listens
	beat           int64  // when a heartbeat is due
	rests          int64  // until when nothing is sent, since nobody took it
	flow           window
	free           int64 // when the rate allows the next message
}

// interest is news of whether somebody listens; the pusher says which watch it comes from.
type listening struct {
	from *pusher
	is   bool
}

const (
	// rateBurst is how much of its rate a consumer may catch up with at once.
	rateBurst = 10 * time.Millisecond
	// nobodyPause is how long a push consumer rests when nobody took a message although somebody listens.
	nobodyPause = 250 * time.Millisecond
)

// configurePush begins to watch where the consumer delivers, if that is new.
func (t *turn) configurePush(set *settings) {
	c := t.c
	if p := c.pusher; p != nil {
		if p.subject == set.subject && p.queue == set.queue {
			return
		}
		p.cancel()
		c.pusher = nil
	}
	if !set.push() {
		return
	}
	p := &pusher{subject: set.subject, queue: set.queue}
	c.pusher = p
	p.cancel = t.w.pool.cfg.Watch(c.stream.account, p.subject, p.queue, func(is bool) {
		c.post(func(b *mailbox) { b.listening = listening{p, is} })
	})
}

// listen takes news of whether somebody listens. Who comes later knows nothing of what was sent before.
func (t *turn) listen(news listening) {
	p := t.c.pusher
	if p == nil || news.from != p || p.bound == news.is {
		return
	}
	p.bound = news.is
	p.beat, p.rests = 0, 0
	p.flow = p.flow.renewed()
	t.c.used = t.ns
	if p.bound && t.set.heartbeat > 0 {
		p.beat = jetlog.Later(t.ns, t.set.heartbeat)
	}
}

// wantPush is want for a push consumer.
func (t *turn) wantPush() int {
	p := t.c.pusher
	switch {
	case !p.bound:
		t.stall = NoInterest
	case p.rests > t.ns:
		t.stall, t.until = NoInterest, p.rests
	case p.flow.full(t.set):
		t.stall = FlowControl
	case p.flow.opens(t.ns) != 0:
		t.stall, t.until = FlowControl, p.flow.opens(t.ns)
	case p.free > t.ns:
		t.stall, t.until = RateLimit, p.free
	case t.w.out.Blocked(t.c.stream.account, p.subject, p.queue, t.c):
		t.stall, t.until = SlowClient, t.ns+int64(blockedPause)
	default:
		return turnMessages
	}
	return 0
}

// push sends a message to whoever listens, or holds it; it is false when it may not be sent now.
func (t *turn) push(m *pick) bool {
	p := t.c.pusher
	switch {
	case p.flow.full(t.set):
		t.stall = FlowControl
		return false
	case p.flow.opens(t.ns) != 0:
		t.stall, t.until = FlowControl, p.flow.opens(t.ns)
		return false
	case p.free > t.ns:
		t.stall, t.until = RateLimit, p.free
		return false
	}
	if !t.commits && !t.toPushed(m) {
		return false
	}
	size := m.size()
	if t.set.rate > 0 {
		p.free = max(p.free, t.ns-int64(rateBurst)) + int64(float64(size)*float64(time.Second)/float64(t.set.rate))
	}
	if t.set.flowControl {
		p.flow.add(size, t.ns)
	}
	if !t.commits {
		t.control(false)
		return true
	}
	h := held{pick: *m, pusher: p}
	if t.set.flowControl {
		h.flow = &p.flow
		h.flow.hold(size)
	}
	t.hold(&h)
	return true
}

// toPushed sends a message; it is false when nobody got it, and nothing is sent for a moment.
func (t *turn) toPushed(m *pick) bool {
	p := t.c.pusher
	if t.w.out.Deliver(t.c.stream.account, p.subject, p.queue, m.Subject, m.reply, m.Header, m.Payload) == 0 {
		p.rests = t.ns + int64(nobodyPause)
		t.stall, t.until = NoInterest, p.rests
		return false
	}
	t.w.bytes += m.size()
	if t.set.heartbeat > 0 {
		p.beat = jetlog.Later(t.ns, t.set.heartbeat)
	}
	t.sent(m.Sequence)
	return true
}

// passPush sends a message that was held; it is false when nobody gets it.
func (t *turn) passPush(h *held) bool {
	if h.pusher != t.c.pusher || !t.toPushed(&h.pick) {
		h.refund()
		return false
	}
	if h.flow != nil {
		h.flow.sent(h.size())
	}
	t.control(false)
	return true
}

// heartbeat is a heartbeat that says up to where messages were sent.
func (t *turn) heartbeat(stalled string) []byte {
	at := t.sentUpTo()
	return api.AppendHeartbeat(nil, at.Consumer, at.Stream, stalled)
}

// beat sends a heartbeat if one is due.
func (t *turn) beat() {
	p := t.c.pusher
	if p == nil || !p.bound || p.beat == 0 {
		return
	}
	if p.beat <= t.ns {
		stalled := ""
		if p.flow.full(t.set) || t.set.ack == config.AckFlowControl {
			stalled = p.flow.subject // of a request that is out: it may have been lost
		}
		t.control(true)
		t.toListeners(t.heartbeat(stalled), "")
		p.beat = jetlog.Later(t.ns, t.set.heartbeat)
	}
	t.mustBy(p.beat)
}

// toListeners sends a status to whoever gets the messages.
func (t *turn) toListeners(header []byte, reply string) {
	p := t.c.pusher
	t.w.out.Deliver(t.c.stream.account, p.subject, p.queue, p.subject, reply, header, nil)
}

// showPush shows whether somebody listens.
func (t *turn) showPush(s *shown) {
	if p := t.c.pusher; p != nil {
		s.bound = p.bound
	}
}

// endPush ends the watch.
func (t *turn) endPush() {
	if p := t.c.pusher; p != nil {
		p.cancel()
		t.c.pusher = nil
	}
}
