package delivery

import (
	"strconv"
	"time"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

const (
	windowMin = 2 << 20
	windowMax = 32 << 20
	// A client that has just made its consumer gets a little, then nothing for a moment: it hears that there is a
	// consumer, and sets its own limits, before much arrives.
	firstBytes = 64 << 10
	firstPause = 2 * time.Millisecond
)

// window is how much of what was sent may be on its way to a client that has asked for flow control: the client answers
// a request that travels with the messages. The zero value is a window of the least size.
//
// Invariant: asked <= outstanding while a request is out.
type window struct {
	size        int    // 0 stands for windowMin
	outstanding int    // bytes that were sent and not answered for
	messages    int    // likewise
	held        int    // bytes of these that are held
	heldToo     int    // messages likewise
	subject     string // of the request that is out, empty for none
	asked       int    // bytes that its answer answers for
	askedFor    int    // messages likewise
	opened      int64  // when the first message was sent
}

// limit returns the size.
func (w *window) limit() int { return max(w.size, windowMin) }

// full reports whether nothing more may be sent.
func (w *window) full(s *settings) bool { return s.flowControl && w.outstanding > w.limit() }

// opens returns until when no more is sent to a client that has just made its consumer, 0 if more may be sent.
func (w *window) opens(now int64) int64 {
	if at := w.opened + int64(firstPause); w.outstanding >= firstBytes && w.size == 0 && now < at {
		return at
	}
	return 0
}

// add counts what is sent.
func (w *window) add(bytes int, now int64) {
	if w.opened == 0 {
		w.opened = now
	}
	w.outstanding += bytes
	w.messages++
}

// hold counts what was added as held, sent as not held any more, and refund not at all.
func (w *window) hold(bytes int) { w.held, w.heldToo = w.held+bytes, w.heldToo+1 }
func (w *window) sent(bytes int) { w.held, w.heldToo = w.held-bytes, w.heldToo-1 }
func (w *window) refund(bytes int) {
	w.sent(bytes)
	w.outstanding, w.messages = w.outstanding-bytes, w.messages-1
}

// renewed is a window for somebody who has got nothing yet.
func (w *window) renewed() window {
	return window{outstanding: w.held, messages: w.heldToo, held: w.held, heldToo: w.heldToo}
}

// answered takes the answer to the request that is out.
func (w *window) answered() {
	w.outstanding -= w.asked
	w.messages -= w.askedFor
	w.size = min(2*w.limit(), windowMax)
	w.subject, w.asked, w.askedFor = "", 0, 0
}

// control sends a request for an answer, if it is time. Idle says that nothing was sent for a while: then a consumer
// that is acknowledged by these answers asks for the rest.
func (t *turn) control(idle bool) {
	w := &t.c.pusher.flow
	bytes, messages := w.outstanding-w.held, w.messages-w.heldToo
	if !t.set.flowControl || w.subject != "" || messages == 0 {
		return
	}
	acks := t.set.ack == config.AckFlowControl
	if bytes <= w.limit()/2 && !(acks && (idle || 2*messages >= t.set.maxAckPending)) {
		return
	}
	f := api.FlowSubject{Stream: t.c.stream.Name(), Consumer: t.c.name, ID: t.w.pool.cfg.Ticket()}
	w.subject = string(api.AppendFlowSubject(nil, &f))
	w.asked, w.askedFor = bytes, messages
	t.toListeners(api.StatusFlowControl.Block(), w.subject)
}

// flow is an answer to flow control. It may tell up to which message the client has got all.
type flow struct {
	subject string
	last    uint64
}

// newFlow reads an answer. Nothing of the header is kept.
func newFlow(subject string, header []byte) flow {
	f := flow{subject: subject}
	if value, ok := headers.Get(header, "Nats-Last-Stream"); ok {
		f.last, _ = strconv.ParseUint(string(value), 10, 64) // what is no number acknowledges nothing
	}
	return f
}

// flow puts an answer into the mailbox.
func (b *mailbox) flow(f flow) {
	if b.room(len(f.subject)) {
		b.flows = append(b.flows, f)
	}
}

// flows takes answers to flow control. One that nobody has asked for means nothing.
func (t *turn) flows(list []flow) {
	p := t.c.pusher
	if p == nil {
		return
	}
	for _, f := range list {
		if f.subject != p.flow.subject {
			continue
		}
		p.flow.answered()
		if t.set.ack == config.AckFlowControl && f.last > 0 && f.last <= t.c.at.Stream {
			t.note(true)
			t.launch(&flight{epoch: t.c.epoch, command: &command.Ack{
				Time: t.ns, Consumer: t.c.name, Replies: []command.Reply{{Answer: command.Done, Sequence: f.last}},
			}})
		}
	}
}
