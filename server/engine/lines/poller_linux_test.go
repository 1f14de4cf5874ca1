package lines

import (
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// idlePoller is a poller that does not run, for tests that call what it would do.
func idlePoller(t *testing.T, h *fakeHost) *Poller {
	t.Helper()
	p, err := NewPoller(h, &h.env, h.worker, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// serve is a line of the poller with a socket that is not watched.
func serve(h *fakeHost, p *Poller, fd int) (*echo, *pollTransport) {
	u := h.open()
	tr := &pollTransport{poller: p, line: u.line, fd: int32(fd)}
	u.line.Attach(tr)
	h.Register(u.line)
	return u, tr
}

func socketPair(t *testing.T) (near, far int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fds[1]) })
	return fds[0], fds[1]
}

// TestParkListIsBounded: a publisher that is woken in each turn and parked again at its end is listed once, also
// when its time never runs out between.
func TestParkListIsBounded(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	slow := h.open()
	crowd(slow.line)
	_, publisher := serve(h, p, -1)
	for turn := range 100 {
		publisher.until = 0 // as for one that was woken
		h.worker.pressure = Pressure{Slow: slow.line, Publisher: publisher.line}
		p.park()
		if publisher.until == 0 {
			t.Fatalf("turn %d: not parked although much waits", turn)
		}
		p.unpark()
		if len(p.parked) > 1 {
			t.Fatalf("turn %d: listed %d times", turn, len(p.parked))
		}
	}
	publisher.until, p.soonest = 1, 1 // long ago
	p.unpark()
	if len(p.parked) != 0 || publisher.until != 0 || len(p.again) != 1 {
		t.Errorf("after its time: %d parked, until %d, %d to be read", len(p.parked), publisher.until, len(p.again))
	}
}

// TestParksWhoPresses: of those that were read in one turn, the publisher to the slow target is parked, and not who
// happened to be last.
func TestParksWhoPresses(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	slow := h.open()
	crowd(slow.line)
	_, publisher := serve(h, p, -1)
	_, other := serve(h, p, -1)
	h.worker.pressure = Pressure{Slow: slow.line, Publisher: publisher.line}
	p.park()
	if publisher.until == 0 || other.until != 0 || h.parked != 1 {
		t.Errorf("parked: the publisher %t, another %t", publisher.until != 0, other.until != 0)
	}
	h.worker.pressure = Pressure{Slow: slow.line, Publisher: slow.line}
	if p.park(); h.parked != 1 {
		t.Error("a line is parked for itself")
	}
}

// TestAddAfterEnd: a line that comes when its poller has ended is closed, not forgotten.
func TestAddAfterEnd(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	near, far := socketPair(t)
	late, tr := serve(h, p, near)
	p.endAll()
	p.add(tr)
	if got := late.line.Reason(); got != ReasonShutdown || h.lines != 0 || late.gone != 1 {
		t.Errorf("reason = %q, %d lines left, want %q and none", got, h.lines, ReasonShutdown)
	}
	if n, err := unix.Read(far, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the peer reads %d, %v, want the end", n, err)
	}
}

// TestAnswersAfterHalfClose: who ends its side in the same turn in which it asked is answered.
func TestAnswersAfterHalfClose(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	near, far := socketPair(t)
	_, served := serve(h, p, near)
	if _, err := unix.Write(far, []byte("PING\n")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Shutdown(far, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	p.read(served) // for an event
	p.read(served) // for what was left of the turn before
	var got [16]byte
	if n, err := unix.Read(far, got[:]); !served.ended || err != nil || string(got[:max(n, 0)]) != "PING\n" {
		t.Errorf("ended: %t, answered %q, %v", served.ended, got[:max(n, 0)], err)
	}
}

// TestWakeAfterEnd: a poller that has ended is not rung, since its bell may be another file by then.
func TestWakeAfterEnd(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	p.endAll()
	(&pollTransport{poller: p, fd: -1}).Wake()
	if p.set.Ringing() {
		t.Error("the bell rings")
	}
}

// TestEndBeforeWatched: a line that is ended before its poller watches it is the poller's only from then on, and ends once.
func TestEndBeforeWatched(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	near, far := socketPair(t)
	u, tr := serve(h, p, near)
	u.line.End(ReasonShutdown, nil, true)
	if p.answer(); len(p.again) != 0 || p.set.Ringing() {
		t.Fatal("the poller has to do with a line that it does not watch")
	}
	p.add(tr)
	for i := range p.set.Wait(0) {
		p.event(p.set.Event(i))
	}
	if h.lines != 0 || u.gone != 1 {
		t.Errorf("%d lines are left, and it has gone %d times, want none and once", h.lines, u.gone)
	}
	if n, err := unix.Read(far, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the peer reads %d, %v, want the end", n, err)
	}
}

// TestWakeWatched: a line that is watched is read when it is woken.
func TestWakeWatched(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	near, _ := socketPair(t)
	_, tr := serve(h, p, near)
	p.add(tr)
	tr.Wake()
	if !p.set.Ringing() {
		t.Error("the bell does not ring")
	}
	if p.answer(); len(p.again) != 1 {
		t.Errorf("%d are to be read, want 1", len(p.again))
	}
	p.endAll()
}

// TestHolds: a line is not read for as long as it is to be held, and the poller sleeps until the first of those may go on.
func TestHolds(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	for _, hold := range []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour} {
		near, far := socketPair(t)
		_, served := serve(h, p, near)
		if _, err := unix.Write(far, []byte("x\ny\n")); err != nil {
			t.Fatal(err)
		}
		h.worker.pressure = Pressure{Hold: hold}
		now := time.Now()
		p.read(served)
		h.worker.pressure = Pressure{}
		if got := time.Unix(0, served.until).Sub(now); got < hold || got > hold+time.Minute {
			t.Errorf("held for %v, want %v", got, hold)
		}
	}
	if in := time.Until(time.Unix(0, p.soonest)); h.parked != 3 || len(p.parked) != 3 || in < 59*time.Minute || in > time.Hour {
		t.Errorf("%d are parked, the first for %v, want 3 and an hour", h.parked, in)
	}
	p.parked[0].until = 1 // long ago
	p.unpark()
	if len(p.parked) != 3 {
		t.Error("looked before it is time")
	}
	p.soonest = 1
	p.unpark()
	if in := time.Until(time.Unix(0, p.soonest)); len(p.parked) != 2 || in < 119*time.Minute || in > 2*time.Hour {
		t.Errorf("%d are parked, the first for %v, want 2 and two hours", len(p.parked), in)
	}
}

// TestImpatient: who never waits for those who do not keep up is not parked for them.
func TestImpatient(t *testing.T) {
	h := newHost(t)
	p := idlePoller(t, h)
	slow := h.open()
	crowd(slow.line)
	user, publisher := serve(h, p, -1)
	user.impatient = true
	h.worker.pressure = Pressure{Slow: slow.line, Publisher: publisher.line}
	if p.park(); publisher.until != 0 || h.parked != 0 {
		t.Error("it is parked")
	}
}
