package engine

import (
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestParksWhoPresses: of those that were read in one turn, the publisher to the slow target is parked, and not who
// happened to be last.
func TestParksWhoPresses(t *testing.T) {
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
	x.subscribe(slow, "a", "", "1")
	publisher, other := &pollTransport{poller: p, fd: -1}, &pollTransport{poller: p, fd: -1}
	for _, tr := range []*pollTransport{publisher, other} {
		tr.conn = x.connect(tr, "")
		tr.conn.out.state = outboundShut // there is no socket to be answered on
	}
	p.input(publisher, []byte("PUB a 1\r\nx\r\n"))
	p.input(other, []byte("PUB b 1\r\nx\r\nPING\r\n"))
	p.w.flush()
	p.park()
	if publisher.until == 0 || other.until != 0 {
		t.Errorf("parked: the publisher %t, another %t", publisher.until != 0, other.until != 0)
	}
}
