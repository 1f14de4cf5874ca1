package engine

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// idlePoller is a poller that does not run, for tests that call what it would do.
func idlePoller(t *testing.T, x *fixture) *poller {
	t.Helper()
	p, err := newPoller(x.Engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.set.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestParkListIsBounded: a publisher that is woken in each turn and parked again at its end is listed once, also
// when its time never runs out between.
func TestParkListIsBounded(t *testing.T) {
	x := newFixture(t, openConfig)
	p := idlePoller(t, x)
	slow := x.connect(&fakeSocket{t: t, random: rand.New(rand.NewPCG(1, 1))}, "")
	x.crowd(slow)
	publisher := &pollTransport{poller: p, fd: -1}
	publisher.line = &x.connect(publisher, "").line
	for turn := range 100 {
		publisher.until = 0 // as for one that was woken
		p.w.slow, p.w.pressing = &slow.line, publisher.line
		p.park()
		if publisher.until == 0 {
			t.Fatalf("turn %d: not parked although much waits", turn)
		}
		p.unpark()
		if len(p.parked) > 1 {
			t.Fatalf("turn %d: listed %d times", turn, len(p.parked))
		}
	}
	publisher.until = 1 // long ago
	p.unpark()
	if len(p.parked) != 0 || publisher.until != 0 || len(p.again) != 1 {
		t.Errorf("after its time: %d parked, until %d, %d to be read", len(p.parked), publisher.until, len(p.again))
	}
}

// TestAddAfterEnd: a connection that comes when its poller has ended is closed, not forgotten.
func TestAddAfterEnd(t *testing.T) {
	x := newFixture(t, openConfig)
	p := idlePoller(t, x)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	late := &pollTransport{poller: p, fd: int32(pair[0])}
	late.line = &x.connect(late, "").line
	p.endAll()
	p.add(late)
	if got := late.line.Reason(); got != ReasonShutdown || x.ConnCount() != 0 {
		t.Errorf("reason = %q, %d connections left, want %q and none", got, x.ConnCount(), ReasonShutdown)
	}
	if n, err := unix.Read(pair[1], make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the peer reads %d, %v, want the end", n, err)
	}
	if err := unix.Close(pair[1]); err != nil {
		t.Error(err)
	}
}
