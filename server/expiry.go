package server

import (
	"container/heap"
	"sync"
	"time"

	"runnel/server/engine"
)

// expiryLook is how long the clock is trusted: timers do not notice when it is set.
const expiryLook = time.Minute

// expiry closes connections whose credentials end, each at its time, with one timer for all of them. It is safe for
// concurrent use; its zero value has none.
type expiry struct {
	mu      sync.Mutex // guards what follows; nothing else is locked while it is held
	due     deadlines  // the first is the next
	byConn  map[*engine.Conn]*deadline
	timer   *time.Timer // nil before the first deadline
	stopped bool
}

// deadline is when one connection is closed, and what it is told.
type deadline struct {
	conn *engine.Conn
	at   time.Time
	text string
	slot int // in the heap
}

// set has c closed at a time and told text, in place of what was set before; a zero time has it stay. Whoever sets a
// deadline calls forget when the connection is gone.
func (x *expiry) set(c *engine.Conn, at time.Time, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.byConn[c]
	switch {
	case x.stopped || d == nil && at.IsZero():
		return
	case at.IsZero():
		x.remove(d)
	case d != nil:
		d.at, d.text = at, text
		heap.Fix(&x.due, d.slot)
	default:
		d = &deadline{conn: c, at: at, text: text}
		if x.byConn == nil {
			x.byConn = make(map[*engine.Conn]*deadline)
		}
		x.byConn[c] = d
		heap.Push(&x.due, d)
	}
	x.wind()
}

// forget drops what was set for c.
func (x *expiry) forget(c *engine.Conn) { x.set(c, time.Time{}, "") }

// stop ends it: no connection is closed any more.
func (x *expiry) stop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopped = true
	x.due, x.byConn = nil, nil
	if x.timer != nil {
		x.timer.Stop()
	}
}

// remove drops d. mu is held.
func (x *expiry) remove(d *deadline) {
	heap.Remove(&x.due, d.slot)
	delete(x.byConn, d.conn)
}

// wind sets the timer for the next deadline. mu is held.
func (x *expiry) wind() {
	if len(x.due) == 0 {
		if x.timer != nil {
			x.timer.Stop()
		}
		return
	}
	wait := min(max(0, time.Until(x.due[0].at)), expiryLook)
	if x.timer == nil {
		x.timer = time.AfterFunc(wait, x.ring)
		return
	}
	x.timer.Reset(wait)
}

// ring closes all whose time has come.
func (x *expiry) ring() {
	for _, d := range x.take(time.Now()) {
		d.conn.Close(engine.ReasonAuthExpired, d.text)
	}
}

// take removes what is due by now, and winds the timer for the rest.
func (x *expiry) take(now time.Time) (due []*deadline) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.due) > 0 && !x.due[0].at.After(now) {
		d := x.due[0]
		x.remove(d)
		due = append(due, d)
	}
	x.wind()
	return due
}

// deadlines is a heap by time.
type deadlines []*deadline

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h deadlines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

// Push implements heap.Interface.
func (h *deadlines) Push(x any) {
	d := x.(*deadline)
	d.slot = len(*h)
	*h = append(*h, d)
}

// Pop implements heap.Interface.
func (h *deadlines) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return d
}
