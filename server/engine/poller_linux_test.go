package engine

import (
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestParkListIsBounded: a publisher that is woken in each turn and parked again at its end is listed once, also
// when its time never runs out between.
func TestParkListIsBounded(t *testing.T) {
	x := newFixture(t, openConfig)
	p, err := newPoller(x.Engine)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(unix.Close(p.ep), unix.Close(p.bell)); err != nil {
			t.Error(err)
		}
	}()
	slow := x.connect(&fakeSocket{t: t, random: rand.New(rand.NewPCG(1, 1))}, "")
	slow.out.queue.append(&x.chunks, make([]byte, parkBytes+1))
	publisher := &pollTransport{poller: p, fd: -1}
	publisher.conn = x.connect(publisher, "")
	for turn := range 100 {
		publisher.until = 0 // as for one that was woken
		p.last, p.w.slow = publisher, slow
		p.parkLast()
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
