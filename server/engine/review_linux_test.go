package engine

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestParksWhoPresses: of those that were read in one turn, the publisher to the slow target is parked, and not who
// happened to be last.
func TestParksWhoPresses(t *testing.T) {
	x := newFixture(t, openConfig)
	p := idlePoller(t, x)
	slow := x.connect(&fakeSocket{t: t, random: rand.New(rand.NewPCG(1, 1))}, "")
	x.crowd(slow)
	x.subscribe(slow, "a", "", "1")
	publisher, other := &pollTransport{poller: p, fd: -1}, &pollTransport{poller: p, fd: -1}
	for _, tr := range []*pollTransport{publisher, other} {
		tr.line = &x.connect(tr, "").line
		tr.line.out.Close(tr, nil, false) // there is no socket to be answered on
	}
	p.input(publisher, []byte("PUB a 1\r\nx\r\n"))
	p.input(other, []byte("PUB b 1\r\nx\r\nPING\r\n"))
	p.w.flush()
	p.park()
	if publisher.until == 0 || other.until != 0 {
		t.Errorf("parked: the publisher %t, another %t", publisher.until != 0, other.until != 0)
	}
}

// TestAnswersAfterHalfClose: who ends its side in the same turn in which it asked is answered.
func TestAnswersAfterHalfClose(t *testing.T) {
	x := newFixture(t, openConfig)
	p := idlePoller(t, x)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	served := &pollTransport{poller: p, fd: int32(fds[0])}
	served.line = &x.connect(served, "").line
	if _, err := unix.Write(fds[1], []byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Shutdown(fds[1], unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	p.read(served) // for an event
	p.read(served) // for what was left of the turn before
	var got [16]byte
	if n, err := unix.Read(fds[1], got[:]); !served.ended || err != nil || string(got[:max(n, 0)]) != "PONG\r\n" {
		t.Errorf("ended: %t, answered %q, %v", served.ended, got[:max(n, 0)], err)
	}
}

// TestWakeAfterEnd: a poller that has ended is not rung, since its bell may be another file by then.
func TestWakeAfterEnd(t *testing.T) {
	x := newFixture(t, openConfig)
	p := idlePoller(t, x)
	p.endAll()
	(&pollTransport{poller: p, fd: -1}).wake()
	if p.set.Ringing() {
		t.Error("the bell rings")
	}
}
