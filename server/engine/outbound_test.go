package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"runnel/server/engine/chunks"
	"runnel/server/engine/lines"
	"runnel/server/engine/sockets"
)

// fakeSocket takes as much as chance says. Whatever may happen in a real one while a write is under way happens
// here inside write, in the same goroutine, so that every order of events is met and can be repeated.
type fakeSocket struct {
	t      testing.TB
	random *rand.Rand
	got    []byte
	// full: a write took less than it was offered, so an edge is due.
	full bool
	// generous sockets take everything.
	generous bool
	broken   bool // each write fails
	// meanwhile happens at the beginning and at the end of each write.
	meanwhile func()

	writing             bool
	shuts, closes, arms int
	woken               int
}

func (f *fakeSocket) Write(_ *lines.Scratch, buffers [][]byte) (int, error) {
	if f.writing {
		f.t.Fatal("two write at the same time")
	}
	if f.closes > 0 {
		f.t.Fatal("write to a closed descriptor")
	}
	f.writing = true
	defer func() { f.writing = false }()
	all := join(buffers)
	if f.meanwhile != nil {
		f.meanwhile()
	}
	if !bytes.Equal(all, join(buffers)) {
		f.t.Error("what is being written was changed")
	}
	n, err := len(all), error(nil)
	switch {
	case f.broken:
		n, err = 0, errBroken
	case f.generous:
	case f.random.IntN(3) == 0:
		n, err, f.full = 0, sockets.ErrFull, true
	case f.random.IntN(2) == 0:
		n = f.random.IntN(len(all) + 1)
		f.full = n < len(all)
	}
	f.got = append(f.got, all[:n]...)
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return n, err
}

func (f *fakeSocket) Arm()  { f.arms++ }
func (f *fakeSocket) Shut() { f.shuts++ }
func (f *fakeSocket) Wake() { f.woken++ }

func (f *fakeSocket) Close() {
	if f.writing {
		f.t.Error("the descriptor is closed while somebody writes")
	}
	f.closes++
}

// play is one run of random events around a connection that several workers write to.
type play struct {
	t       *testing.T
	x       *fixture
	random  *rand.Rand
	socket  *fakeSocket
	conn    *Conn
	workers []*worker
	busy    []bool // in a flush, further up the stack
	want    []byte // what was flushed, in the order in which the right to write was asked for
	ended   bool   // gone was called
	cut     bool   // closed without drain, or broken: the rest may be missing
	closing bool
	depth   int
}

func newPlay(t *testing.T, x *fixture, seed uint64) *play {
	random := rand.New(rand.NewPCG(seed, 7))
	p := &play{t: t, x: x, random: random, socket: &fakeSocket{t: t, random: random}}
	p.conn = x.connect(p.socket, "")
	for range 4 {
		p.workers = append(p.workers, newWorker(x.Engine, 64))
	}
	p.busy = make([]bool, len(p.workers))
	return p
}

// idle is a worker that nobody further up the stack uses; nil when there is none.
func (p *play) idle() (int, *worker) {
	for i, b := range p.busy {
		if !b {
			return i, p.workers[i]
		}
	}
	return 0, nil
}

// flush has some worker write a stage.
func (p *play) flush() {
	i, w := p.idle()
	if w == nil {
		return
	}
	p.busy[i] = true
	defer func() { p.busy[i] = false }()
	s := w.stageFor(&p.conn.line)
	content := randomBytes(p.random, 1+p.random.IntN(3000))
	half := p.random.IntN(len(content))
	s.Own = append(s.Own, content[:half]...)
	s.Borrow(content[half:])
	if !p.closing && !p.cut {
		p.want = append(p.want, content...)
	}
	w.flush()
}

// edge tells that the socket is writable again.
func (p *play) edge() {
	i, w := p.idle()
	if w == nil || !p.socket.full || p.ended {
		return
	}
	p.socket.full = false
	p.busy[i] = true
	defer func() { p.busy[i] = false }()
	p.conn.line.Drain(&w.scratch)
}

func (p *play) end(drain bool) {
	text := ""
	if drain && !p.closing && !p.cut {
		text = fmt.Sprint("the end ", p.random.Uint32())
		p.want = append(p.want, "-ERR '"+text+"'\r\n"...)
	}
	p.closing = true
	p.cut = p.cut || !drain
	if drain {
		p.conn.Close(ReasonKicked, text)
	} else {
		p.conn.line.End(ReasonKicked, nil, false)
	}
	// Others use memory that is free again.
	for _, size := range []int{chunks.Small, chunks.Large} {
		c := p.x.env.Chunks.Get(size)
		p.x.env.Chunks.Put(append(c, randomBytes(p.random, size)...))
	}
}

// gone is the end of the reader.
func (p *play) gone() {
	if !p.ended {
		p.ended, p.cut, p.closing = true, true, true
		p.conn.line.Ended(ReasonClientClosed)
	}
}

// meanwhile is what happens while somebody is writing: now and then something, which may write too.
func (p *play) meanwhile(endings bool) {
	if p.depth > 2 || p.random.IntN(2) == 0 {
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	p.step(endings)
}

func (p *play) step(endings bool) {
	switch n := p.random.IntN(40); {
	case endings && n == 0:
		p.end(true)
	case endings && n == 1:
		p.end(false)
	case endings && n == 2:
		p.gone()
	case endings && n == 3:
		p.socket.broken, p.cut, p.closing = true, true, true
	case n < 24:
		p.flush()
	default:
		p.edge()
	}
}

// settle delivers the edges that are due until the socket has no more.
func (p *play) settle() {
	p.socket.meanwhile = nil
	for range 10_000 {
		if !p.socket.full || p.ended {
			return
		}
		p.edge()
	}
	p.t.Fatal("the socket is never done")
}

// TestOutboundOrder: with several writers, a socket that takes random amounts and edges at any time, nothing is
// lost, nothing doubled, and nothing reordered.
func TestOutboundOrder(t *testing.T) {
	x := newFixture(t, openConfig)
	for seed := range uint64(200) {
		p := newPlay(t, x, seed)
		p.socket.meanwhile = func() { p.meanwhile(false) }
		for range 60 {
			p.step(false)
		}
		p.settle()
		if !bytes.Equal(p.socket.got, p.want) {
			t.Fatalf("seed %d: %d bytes written, %d flushed, alike in the first %d; %d wait",
				seed, len(p.socket.got), len(p.want), alike(p.socket.got, p.want), p.conn.PendingBytes())
		}
		if p.conn.line.StuckSince() != 0 {
			t.Fatalf("seed %d: nothing waits, and yet since %d", seed, p.conn.line.StuckSince())
		}
		p.gone()
	}
}

// alike is how many bytes a and b have in common at their beginning.
func alike(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestOutboundEnd: whatever happens in whatever order, the descriptor is closed exactly once, when nobody
// writes and the reader has gone; what was written is what was flushed first; and a connection that is closed
// with drain gets all of it.
func TestOutboundEnd(t *testing.T) {
	x := newFixture(t, openConfig)
	for seed := range uint64(400) {
		p := newPlay(t, x, seed)
		p.socket.meanwhile = func() { p.meanwhile(true) }
		for range 1 + p.random.IntN(40) {
			p.step(true)
		}
		drained := p.closing && !p.cut && !p.ended
		p.settle()
		if !bytes.HasPrefix(p.want, p.socket.got) {
			t.Fatalf("seed %d: %d bytes written that are not the first of %d flushed", seed, len(p.socket.got), len(p.want))
		}
		if drained && (len(p.socket.got) != len(p.want) || p.socket.shuts != 1) {
			t.Fatalf("seed %d: closed with %d of %d bytes written, shut %d times", seed, len(p.socket.got), len(p.want), p.socket.shuts)
		}
		if p.socket.closes != 0 && !p.ended {
			t.Fatalf("seed %d: the descriptor was closed under its reader", seed)
		}
		p.gone()
		if p.socket.closes != 1 || p.socket.shuts > 1 {
			t.Fatalf("seed %d: closed %d times, shut %d times, want once and at most once", seed, p.socket.closes, p.socket.shuts)
		}
		if n := p.conn.PendingBytes(); n != 0 {
			t.Fatalf("seed %d: %d bytes are kept for a connection that is gone", seed, n)
		}
		p.flush()
		p.end(true)
		p.end(false)
		if p.socket.closes != 1 || p.socket.shuts > 1 {
			t.Fatalf("seed %d: closed again", seed)
		}
	}
}

// TestEndWakes: publishers do not wait for a connection that is going.
func TestEndWakes(t *testing.T) {
	x := newFixture(t, openConfig)
	for name, end := range map[string]func(c *Conn){
		"closed":  func(c *Conn) { c.Close(ReasonKicked, "") },
		"cut off": func(c *Conn) { c.line.End(ReasonKicked, nil, false) },
		"gone":    func(c *Conn) { c.line.Ended(ReasonClientClosed) },
	} {
		socket := &fakeSocket{t: t, random: rand.New(rand.NewPCG(1, 1)), generous: true}
		slow := x.connect(socket, "")
		sleeper := &fakeSocket{t: t}
		x.crowd(slow, socket)
		if !slow.line.Park(sleeper) {
			t.Fatal("not parked although much waits")
		}
		end(slow)
		if sleeper.woken != 1 {
			t.Errorf("%s: woken %d times, want once", name, sleeper.woken)
		}
	}
}

// TestSlowConsumerOnce: however many find at the same time that a connection is too slow, it is counted once.
func TestSlowConsumerOnce(t *testing.T) {
	x := newFixture(t, openConfig)
	for round := range int64(200) {
		c := x.connect(&fakeSocket{t: t, generous: true}, "")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { x.slowConsumer(&c.line, ReasonSlowPending, nil) })
		}
		all.Wait()
		if got := x.SlowConsumers(); got != round+1 {
			t.Fatalf("%d slow consumers counted, want %d", got, round+1)
		}
	}
}

// TestSlowConsumerRemovesItself: who finds a connection too slow has others to serve, and leaves what it has subscribed to
// to its own reader.
func TestSlowConsumerRemovesItself(t *testing.T) {
	x := newFixture(t, openConfig)
	c := x.connect(&fakeSocket{t: t, generous: true}, "")
	x.subscribe(c, "a", "", "1")
	interested := func() int { return len(c.Account().Interest().Match([]byte("a"), nil)) }
	x.slowConsumer(&c.line, ReasonSlowPending, nil)
	if n := interested(); n != 1 {
		t.Errorf("%d subscriptions are left to the reader, want 1", n)
	}
	c.line.Ended(ReasonClientClosed)
	if n := interested(); n != 0 {
		t.Errorf("%d subscriptions are left when the reader has ended", n)
	}
	if got := c.Reason(); got != ReasonSlowPending {
		t.Errorf("reason %q, want %q", got, ReasonSlowPending)
	}
}
