package delivery

import (
	"bytes"
	"slices"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/server/jetstream/api"
)

// pull is a request that waits for messages.
type pull struct {
	reply     string
	left      int           // messages that it may still get
	limited   bool          // by bytes
	leftBytes int           // that it may still get
	expires   int64         // 0 for never
	noWait    bool          // it ends when there is nothing more
	heartbeat time.Duration // 0 for none
	beat      int64         // when the next heartbeat is due
	served    bool          // it has got something
	held      int           // messages that are held for it; they do not count as left
	ends      api.Status    // why it ends when it has got these, StatusNone if it does not
	seen      uint64        // the turn that has seen that somebody listens
	asked     uint64        // the turn that has asked whether the client takes more
	blocked   bool          // it does not

	priority                  int
	minPending, minAckPending int64
	id                        string // of a client that is pinned
}

// copy makes the request independent of what it came in.
func (r *Request) copy() {
	r.Header, r.Body = bytes.Clone(r.Header), bytes.Clone(r.Body)
}

// mailBytesMax is how much may wait for a turn; what is more is dropped, as if it had not come. An item counts for
// mailItemBytes besides what it refers to.
const (
	mailBytesMax  = 8 << 20
	mailItemBytes = 128
)

// room makes sure that an item that refers to so many bytes may be put into the mailbox.
func (b *mailbox) room(bytes int) bool {
	if b.bytes+mailItemBytes+bytes > mailBytesMax {
		return false
	}
	b.bytes += mailItemBytes + bytes
	return true
}

// request puts a request into the mailbox.
func (b *mailbox) request(r Request) {
	if r.Reply != "" && b.room(len(r.Reply)+len(r.Header)+len(r.Body)) {
		b.requests = append(b.requests, r)
	}
}

// requests lets new requests wait, or refuses them.
func (t *turn) requests(list []Request) {
	for i := range list {
		r := &list[i]
		if refusal := t.admit(r); refusal != nil {
			t.status(r.Reply, refusal)
		}
	}
}

// admit lets a request wait; otherwise it returns why not.
func (t *turn) admit(r *Request) []byte {
	t.c.used = t.ns
	switch {
	case t.set.push():
		return api.StatusPushBased.Block()
	case !api.LevelMet(r.Header):
		return api.StatusLevelRequired.Block()
	}
	q, err := api.ParsePull(r.Body)
	if err != nil {
		return api.BadRequest(err.Error())
	}
	if reason := t.set.misfit(&q); reason != "" {
		return api.BadRequest(reason)
	}
	if refusal := t.set.exceeded(&q); refusal != nil {
		return refusal
	}
	if !t.mayPin(&q) {
		return api.StatusPinMismatch.Block()
	}
	return t.enroll(r.Reply, &q)
}

// exceeded returns what a request is told that asks for more than the consumer allows.
func (s *settings) exceeded(q *api.PullRequest) []byte {
	switch {
	case s.maxBatch > 0 && q.Batch > s.maxBatch:
		return api.ExceededBatch(s.maxBatch)
	case s.maxExpires > 0 && q.Expires > s.maxExpires:
		return api.ExceededExpires(s.maxExpires)
	case s.maxBytes > 0 && q.MaxBytes > s.maxBytes:
		return api.ExceededBytes(s.maxBytes)
	}
	return nil
}

// enroll puts a request into the queue, if there is room.
func (t *turn) enroll(reply string, q *api.PullRequest) []byte {
	w := &t.session.waiting
	if len(w.list) >= t.set.maxWaiting {
		t.sweep()
	}
	if len(w.list) >= t.set.maxWaiting && w.wanting() >= t.set.maxWaiting {
		switch {
		case q.NoWait && q.Expires == 0:
			return api.StatusNoMessages.Block() // others would get what there is
		case q.Heartbeat > 0:
			return nil // it will miss its heartbeats
		}
		return api.StatusMaxWaiting.Block()
	}
	r := &pull{
		reply: reply, left: q.Batch, limited: q.MaxBytes > 0, leftBytes: q.MaxBytes, noWait: q.NoWait, heartbeat: q.Heartbeat,
		priority: q.Priority, minPending: q.MinPending, minAckPending: q.MinAckPending, id: q.ID,
	}
	if q.Expires > 0 {
		r.expires = jetlog.Later(t.ns, q.Expires)
	}
	if q.Heartbeat > 0 {
		r.beat = jetlog.Later(t.ns, q.Heartbeat)
	}
	if !t.set.ranked() {
		r.priority = 0
	}
	w.add(r)
	return nil
}

// waiting are the requests of a consumer, in the order in which they are served: by priority, and of one priority one
// message at a time in turn.
type waiting struct {
	list []*pull
	due  int64 // when one of them expires or wants a heartbeat, or earlier; 0 for never
}

// add puts a request behind those of its priority.
func (w *waiting) add(r *pull) {
	i := len(w.list)
	for i > 0 && w.list[i-1].priority > r.priority {
		i--
	}
	w.list = slices.Insert(w.list, i, r)
	w.expect(r)
}

// expect brings due up to date for one request.
func (w *waiting) expect(r *pull) {
	for _, at := range [2]int64{r.expires, r.beat} {
		if at != 0 && (w.due == 0 || at < w.due) {
			w.due = at
		}
	}
}

// remove takes out the request at a place.
func (w *waiting) remove(i int) { w.list = slices.Delete(w.list, i, i+1) }

// drop takes a request out, and reports whether it was there.
func (w *waiting) drop(r *pull) bool {
	i := slices.Index(w.list, r)
	if i >= 0 {
		w.remove(i)
	}
	return i >= 0
}

// wanting counts the requests that do not have all that they have asked for, or will have it in a moment.
func (w *waiting) wanting() (n int) {
	for _, r := range w.list {
		if r.left > 0 {
			n++
		}
	}
	return n
}

// rotate puts the request at a place behind those of its priority.
func (w *waiting) rotate(i int) {
	r := w.list[i]
	for ; i+1 < len(w.list) && w.list[i+1].priority == r.priority; i++ {
		w.list[i] = w.list[i+1]
	}
	w.list[i] = r
}

// keep removes the requests for which stays is false.
func (w *waiting) keep(stays func(*pull) bool) {
	w.list = slices.DeleteFunc(w.list, func(r *pull) bool { return !stays(r) })
}

// want returns how many messages may be sent at the moment, as far as that is known before they are chosen.
func (t *turn) want() int {
	if t.set.push() {
		return t.wantPush()
	}
	n := 0
	for _, r := range t.session.waiting.list {
		if t.serves(r) {
			n = min(n+r.left, turnMessages)
		}
	}
	return n
}

// serves reports whether a request may get a message, as far as is known without asking.
func (t *turn) serves(r *pull) bool { return t.eligible(r) && !(r.blocked && t.isBlocked(r)) }

// isBlocked reports whether the client of a request has too much waiting already. It is asked once a turn.
func (t *turn) isBlocked(r *pull) bool {
	if r.asked != t.session.turns {
		r.asked = t.session.turns
		r.blocked = t.w.out.Blocked(t.c.stream.account, r.reply, "", t.c)
	}
	if r.blocked {
		t.stall = SlowClient
		t.mustBy(t.ns + int64(blockedPause))
	}
	return r.blocked
}

// blockedPause is after which time it is asked again whether a client takes more, whatever it was told.
const blockedPause = time.Second

// give sends a message to the request whose turn it is, or holds it for that one; it is false when there is none.
func (t *turn) give(p *pick, hold bool) bool {
	w := &t.session.waiting
	size := p.size()
	for i := 0; i < len(w.list); {
		r := w.list[i]
		switch {
		case !t.eligible(r) || t.isBlocked(r):
			i++
			continue
		case r.limited && size > r.leftBytes:
			if t.endPull(r, api.StatusMessageSize) {
				w.remove(i)
			}
			continue
		case hold && !t.listens(r):
			w.remove(i) // nobody is there any more
			continue
		}
		t.pinTo(r)
		if hold {
			t.hold(&held{pick: *p, request: r})
			r.held++
		} else if !t.deliverTo(r, p) {
			w.remove(i)
			continue
		}
		t.c.used = t.ns
		r.left--
		if r.limited {
			r.leftBytes -= size
		}
		if r.left > 0 {
			w.rotate(i)
		} else {
			t.finishIfDone(r)
		}
		return true
	}
	return false
}

// deliverTo sends a message to a request; it is false when nobody is there any more.
func (t *turn) deliverTo(r *pull, p *pick) bool {
	header := p.Header
	if t.c.pin != nil && t.set.pins() {
		header = headers.Set(header, pinHeader, r.id)
	}
	if t.w.out.Deliver(t.c.stream.account, r.reply, "", p.Subject, p.reply, header, p.Payload) == 0 {
		return false
	}
	r.served = true
	t.c.used = t.ns
	t.w.bytes += p.size()
	if r.heartbeat > 0 {
		r.beat = jetlog.Later(t.ns, r.heartbeat)
	}
	t.sent(p.Sequence)
	return true
}

// listens reports whether somebody waits for what a request gets. It is asked once a turn.
func (t *turn) listens(r *pull) bool {
	if r.seen == t.session.turns {
		return true
	}
	there := false
	t.w.pool.cfg.Watch(t.c.stream.account, r.reply, "", func(is bool) { there = is })()
	if there {
		r.seen = t.session.turns
	}
	return there
}

// finishPull tells a request why it ends.
func (t *turn) finishPull(r *pull, s api.Status) {
	t.status(r.reply, s.Append(nil, r.left, r.leftBytes))
}

// endPull is finishPull for a request that may be about to get something. It is false when that comes first, and the
// request stays until then.
func (t *turn) endPull(r *pull, s api.Status) bool {
	if r.held > 0 {
		r.ends = s
		return false
	}
	t.finishPull(r, s)
	return true
}

// finishIfDone ends a request that has got all it gets.
func (t *turn) finishIfDone(r *pull) {
	if r.held > 0 || r.left > 0 && r.ends == api.StatusNone || !t.session.waiting.drop(r) {
		return
	}
	switch {
	case r.ends != api.StatusNone:
		t.finishPull(r, r.ends)
	case r.limited && r.leftBytes > 0:
		t.finishPull(r, api.StatusBatchCompleted)
	}
}

// refuse ends the requests that do not wait, if there is nothing more for them. One that is held up by answers that
// are missing stays: it may get something any moment.
func (t *turn) refuse() {
	none := t.end || t.stall == Paused
	t.session.waiting.keep(func(r *pull) bool {
		if !r.noWait || r.held > 0 || r.expires != 0 && !r.served || !none && t.eligible(r) {
			return true
		}
		s := api.StatusNoMessages
		if t.gave && !r.served {
			s = api.StatusRequestsPending
		}
		t.finishPull(r, s)
		return false
	})
}

// lapse ends the requests whose time has come, and sends heartbeats.
func (t *turn) lapse() {
	w := &t.session.waiting
	if w.due == 0 || w.due > t.ns {
		return
	}
	w.due = 0
	w.keep(func(r *pull) bool {
		if r.expires != 0 && r.expires <= t.ns {
			t.c.used = t.ns
			return !t.endPull(r, api.StatusRequestTimeout)
		}
		if r.beat != 0 && r.beat <= t.ns {
			if t.status(r.reply, t.heartbeat("")) == 0 {
				return false
			}
			r.beat = jetlog.Later(t.ns, r.heartbeat)
		}
		w.expect(r)
		return true
	})
}

// sweep removes the requests that nobody listens for any more.
func (t *turn) sweep() {
	t.session.waiting.keep(t.listens)
}
