package ingest

import (
	"errors"
	"sync"
	"time"

	"runnel/headers"
	"runnel/jetlog/store"
	"runnel/server/accounts"
)

// nobody is what a publisher is told whose message nobody has taken: the same as where nobody subscribes. Clients publish again
// then by themselves.
var nobody = headers.Status(503, "")

const (
	// lateTime is how long a publisher waits that may have been heard by another server, too: whoever leads the stream now has
	// acknowledged the message by then if it has got it, and what is told later is not heard. Where leadership was handed over
	// there is somebody who leads and is well, and both were heard for an instant at most: soonTime is enough.
	lateTime, soonTime = time.Second, 100 * time.Millisecond
	// lateMost bounds the publishers that wait. More are told nothing.
	lateMost = 1 << 16
)

// late tells publishers that nobody has taken their messages, some time after that is known. The zero value needs its outlet and its
// delay.
type late struct {
	outlet func() Outlet
	delay  time.Duration

	mu      sync.Mutex // guards everything below
	waiting []untold
	timer   *time.Timer // while somebody waits
	running sync.WaitGroup
	closed  bool
}

// untold is a publisher who waits.
type untold struct {
	account *accounts.Account
	reply   string
	due     time.Time
}

// add has a publisher told.
func (l *late) add(a *accounts.Account, reply string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.waiting) >= lateMost {
		return
	}
	l.waiting = append(l.waiting, untold{a, reply, time.Now().Add(l.delay)})
	if l.timer == nil {
		l.arm(l.delay)
	}
}

// arm has tell called. l.mu is held.
func (l *late) arm(wait time.Duration) {
	l.running.Add(1)
	l.timer = time.AfterFunc(wait, func() {
		defer l.running.Done()
		l.tell()
	})
}

// tell tells those whose time has come.
func (l *late) tell() {
	l.mu.Lock()
	now, n := time.Now(), 0
	for n < len(l.waiting) && !l.waiting[n].due.After(now) {
		n++
	}
	due := l.waiting[:n:n]
	if l.waiting, l.timer = l.waiting[n:], nil; len(l.waiting) == 0 {
		l.waiting = nil
	} else if !l.closed {
		l.arm(l.waiting[0].due.Sub(now))
	}
	l.mu.Unlock()
	if n == 0 {
		return
	}
	out := l.outlet()
	for _, u := range due {
		out.Publish(u.account, u.reply, "", nobody, nil)
	}
	out.Flush()
	out.Close()
}

// close tells nobody any more, and returns when nothing is under way.
func (l *late) close() {
	l.mu.Lock()
	l.closed, l.waiting = true, nil
	if l.timer != nil && l.timer.Stop() {
		l.running.Done()
	}
	l.mu.Unlock()
	l.running.Wait()
}

// Refuse has a publisher of an account told that nobody has taken its message, unless somebody acknowledges it within a second: the
// stream was led here, and is not any more. The bytes of reply are free again when it returns.
func (g *Ingest) Refuse(a *accounts.Account, reply []byte) { g.late.add(a, string(reply)) }

// RefuseSoon is Refuse for who may be told so though somebody else has taken what was sent.
func (g *Ingest) RefuseSoon(a *accounts.Account, reply []byte) { g.soon.add(a, string(reply)) }

// undone tells the publisher of a message, or of the last of a batch, which the log has not taken, if that is sure: the stream is not led here any more.
func (s *Stream) undone(r *record) {
	switch {
	case !errors.Is(r.err, store.ErrNotLeader):
	case errors.Is(r.err, store.ErrHandedOver):
		s.ingest.soon.add(s.account, r.reply)
	default:
		s.ingest.late.add(s.account, r.reply)
	}
}
