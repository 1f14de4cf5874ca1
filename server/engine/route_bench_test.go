package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/engine/frames"
	"runnel/server/engine/lines"
	"runnel/server/engine/outbound"
)

// keeping is a socket that takes everything and keeps what came last, and everything that came if it logs.
type keeping struct {
	discarding
	last, all []byte
	logs      bool
}

func (k *keeping) Write(s *lines.Scratch, buffers [][]byte) (int, error) {
	k.last = k.last[:0]
	for _, b := range buffers {
		k.last = append(k.last, b...)
	}
	if k.logs {
		k.all = append(k.all, k.last...)
	}
	return k.discarding.Write(s, buffers)
}

// linked returns a fixture with a route to a server whose id is peer.
func linked(t testing.TB, peer string) (*fixture, *route, *keeping) {
	x := newFixture(t, openConfig)
	r := x.link(peer, 0)
	socket := &keeping{}
	r.Attach(socket)
	if !x.register(&r.Line) {
		t.Fatal("the engine is closed")
	}
	x.routing.add(r)
	return x, r, socket
}

// link makes a route that is not served yet.
func (x *fixture) link(peer string, pool int) *route {
	if x.routing == nil {
		routing, err := newRouting(x.Engine, &RouteConfig{Account: x.door.policy.Account})
		if err != nil {
			x.t.Fatal(err)
		}
		x.routing = routing
	}
	return newRoute(x.Engine, &mesh.Link{Kind: mesh.Route, Peer: mesh.Member{ID: peer, Name: peer}, Pool: pool, PoolSize: 1, Start: time.Now()})
}

// hears has the route read what another server says.
func (r *route) hears(t testing.TB, w *worker, b []byte) {
	t.Helper()
	if used, err := r.Input(w, b); used != len(b) || err != nil {
		t.Fatalf("used %d of %d bytes, %v", used, len(b), err)
	}
	w.flush()
}

// routed is a way from a publisher through one server to a subscriber of another.
type routed struct {
	x, y                  *fixture
	out, in               *route
	socket                *keeping
	publisher, subscriber *Conn
	wx, wy                *worker
}

func newRouted(t testing.TB, subject, queue string) *routed {
	p := new(routed)
	p.x, p.out, p.socket = linked(t, "y")
	var told *keeping
	p.y, p.in, told = linked(t, "x")
	p.wx, p.wy = newWorker(p.x.Engine, 64), newWorker(p.y.Engine, 64)
	p.subscriber = p.y.connect(&discarding{}, "")
	p.y.subscribe(p.subscriber, subject, queue, "1")
	p.y.tell()
	p.out.hears(t, p.wx, told.last)
	p.publisher = p.x.connect(&discarding{}, "")
	return p
}

// send has messages published, and delivered.
func (p *routed) send(t testing.TB, batch []byte) {
	if _, err := p.wx.input(p.publisher, batch); err != nil {
		t.Fatal(err)
	}
	p.wx.flush()
	p.in.hears(t, p.wy, p.socket.last)
}

func TestRoutedAllocations(t *testing.T) {
	for _, tt := range []struct{ name, queue, message string }{
		{"plain", "", pub("a.b", strings.Repeat("x", 128))},
		{"large", "", pub("a.b", strings.Repeat("x", 4096))},
		{"queue", "q", pub("a.b", "x")},
		{"header", "", "HPUB a.b r 12 13\r\nNATS/1.0\r\n\r\nx\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newRouted(t, "a.*", tt.queue)
			batch := []byte(strings.Repeat(tt.message, 10))
			p.send(t, batch)
			before := p.in.Counters().InMessages
			if n := testing.AllocsPerRun(100, func() { p.send(t, batch) }); n > 0 {
				t.Errorf("%v allocations for 10 messages", n)
			}
			if got := p.in.Counters().InMessages - before; got != 1010 {
				t.Errorf("%d messages came, want 1010", got)
			}
			if got := p.subscriber.Counters().OutMessages; got != before+1010 {
				t.Errorf("%d messages were delivered, want %d", got, before+1010)
			}
		})
	}
}

// TestRouteMalformed: a server that says what is no frame, or names accounts without end, is cut off.
func TestRouteMalformed(t *testing.T) {
	x, r, _ := linked(t, "y")
	w := newWorker(x.Engine, 64)
	if _, err := r.Input(w, []byte{byte(frames.Interest), 0xff, 0xff, 0xff, 0xff}); err == nil || r.Reason() != ReasonParseError {
		t.Errorf("error %v, closed for %q", err, r.Reason())
	}
}

// TestInterestBeforeRequest: who answers knows who wants the answer, also when so much is published that it goes out before
// the batch is at its end.
func TestInterestBeforeRequest(t *testing.T) {
	p := newRouted(t, "help", "")
	p.socket.logs = true
	batch := "SUB inbox 1\r\nPUB help inbox 1\r\nx\r\n" + strings.Repeat(pub("help", strings.Repeat("x", 500)), 300)
	if _, err := p.wx.input(p.publisher, []byte(batch)); err != nil {
		t.Fatal(err)
	}
	p.wx.flush()
	var first []frames.Kind
	var f frames.Frame
	for b := p.socket.all; len(b) > 0 && len(first) < 3; {
		n, _, err := frames.Next(b, &f)
		if n == 0 {
			t.Fatalf("%d bytes are left, %v", len(b), err)
		}
		first, b = append(first, f.Kind), b[n:]
	}
	if want := []frames.Kind{frames.Account, frames.Interest, frames.Message}; !slices.Equal(first, want) {
		t.Errorf("the other server is told %v first, want %v", first, want)
	}
}

// TestRouteCrowded: who can wait is told that a route is behind, and when it no longer is.
func TestRouteCrowded(t *testing.T) {
	p := newRouted(t, "push", "q")
	a := p.x.door.policy.Global()
	publisher := p.x.NewPublisher()
	defer publisher.Close()
	for _, queue := range []string{"", "q", "other"} {
		woken := new(counting)
		if publisher.Blocked(a, "push", queue, woken) {
			t.Errorf("queue %q: blocked by a route that keeps up", queue)
		}
		much := chunks.Batch{Own: make([]byte, outbound.SoftLimit(p.x.Settings().MaxPendingBytes)+1)}
		p.out.Attach(&full{})
		p.out.Write(&much, new(lines.Scratch))
		p.out.Attach(p.socket)
		if got, want := publisher.Blocked(a, "push", queue, woken), queue != "other"; got != want {
			t.Errorf("queue %q: blocked %t, want %t", queue, got, want)
		}
		p.out.Drain(new(lines.Scratch))
		if got, want := *woken > 0, queue != "other"; got != want {
			t.Errorf("queue %q: woken %t, want %t", queue, got, want)
		}
	}
}

// FuzzRouteInput: whatever another server says, this one stands, and forgets it when the route ends.
func FuzzRouteInput(f *testing.F) {
	whole := frames.AppendInterest(frames.AppendAccount(nil, 1, accounts.GlobalName), 1, "a.*", "q", 2)
	h := frames.Head{Number: 1, Subject: []byte("a.b"), TailBytes: len("1\r\nx\r\n"), BodyBytes: 1}
	message := append(h.Append(nil), "1\r\nx\r\n"...)
	f.Add(slices.Concat(whole, message), uint16(5))
	f.Add(frames.AppendNumber(frames.AppendNumber(whole, frames.Ask, 1), frames.Forget, 1), uint16(20))
	f.Add(append([]byte{99, 0, 0, 0, 1, 7}, message...), uint16(1))
	x, _, _ := linked(f, "y")
	x.subscribe(x.connect(&discarding{}, ""), "a.b", "", "1")
	before := x.door.policy.Global().Interest().Len()
	w := newWorker(x.Engine, 64)
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		r := x.link("y", 0)
		r.Attach(&discarding{})
		if !x.register(&r.Line) {
			t.Fatal("the engine is closed")
		}
		used, err := r.Input(w, b[:min(int(cut), len(b))])
		if err == nil {
			_, _ = r.Input(w, b[used:]) // malformed mostly
		}
		w.flush()
		r.Withdraw()
		x.forget(&r.Line)
		if got := x.door.policy.Global().Interest().Len(); got != before {
			t.Fatalf("%d subscriptions are left, want %d", got, before)
		}
	})
}

// TestRouteMoves: an account that is told about on another route of the same server is not counted twice.
func TestRouteMoves(t *testing.T) {
	x, first, _ := linked(t, "y")
	w := newWorker(x.Engine, 64)
	second := x.link("y", 0)
	second.link.Account = accounts.GlobalName
	second.Attach(&discarding{})
	if !x.register(&second.Line) {
		t.Fatal("the engine is closed")
	}
	x.routing.add(second)
	whole := frames.AppendInterest(frames.AppendAccount(nil, 7, accounts.GlobalName), 7, "a", "", 1)
	first.hears(t, w, whole)
	second.hears(t, w, whole)
	first.hears(t, w, frames.AppendInterest(nil, 7, "b", "", 1)) // too late
	if first.set.Len() != 0 || second.set.Len() != 1 {
		t.Errorf("%d and %d entries, want none and one", first.set.Len(), second.set.Len())
	}
	if n := x.Publish(x.door.policy.Global(), "a", "", nil, nil); n != 1 {
		t.Errorf("published to %d servers", n)
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, bench := range []struct {
		name, queue string
		size        int
	}{{"plain-16", "", 16}, {"plain-128", "", 128}, {"plain-1024", "", 1024}, {"queue-16", "q", 16}} {
		p := newRouted(b, "a.*", bench.queue)
		batch := []byte(strings.Repeat(pub("a.b", strings.Repeat("x", bench.size)), batchMessages))
		p.send(b, batch)
		b.Run("out/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N/batchMessages + 1 {
				if _, err := p.wx.input(p.publisher, batch); err != nil {
					b.Fatal(err)
				}
				p.wx.flush()
			}
		})
		b.Run("in/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N/batchMessages + 1 {
				p.in.hears(b, p.wy, p.socket.last)
			}
		})
	}
}

// counting counts how often it is woken.
type counting int

func (c *counting) Wake() { *c++ }
