// Package outbound owns what waits for a socket, and the right to write it.
package outbound

import (
	"cmp"
	"sync"
	"sync/atomic"

	"runnel/server/engine/chunks"
)

// parkBytes is how much may wait for a line before publishers to it are parked, or half of what may wait at most
// if that is less; they go on when it has drained to a quarter of that, or after 2 ms, later while memory is scarce.
const parkBytes = 512 << 10

// Socket is what a Gate needs of a transport. Its methods are called with a lock held, do not block and call nobody.
type Socket interface {
	// Arm asks for a drain of the queue when the socket is writable again.
	Arm()
	// Shut ends both directions, so that the reader notices; the descriptor stays open.
	Shut()
	// Close closes the descriptor. Called once, after the reader has ended and when nobody writes.
	Close()
}

// Env is what all gates of an engine have in common.
type Env struct {
	Chunks chunks.Pools
	// Clock is unix nanoseconds, coarse: good for time-outs, free to read.
	Clock atomic.Int64
	// SoftBytes is how much may wait for any of them before who sends should pause, 0 for as much as usual.
	SoftBytes atomic.Int64
	// Most returns how many bytes may wait, where a gate has no limit of its own.
	Most func() int
}

// state only grows.
type state uint8

const (
	open    state = iota
	closing       // what is queued is still written, nothing is added, then the socket is shut
	shut          // nothing is written any more; the socket is shut, its descriptor still open
	gone          // the descriptor is closed, or will be by the writer that is at it
)

// Gate owns the right to write a socket and the bytes that it has not taken yet. At most
// one goroutine writes at a time (writing); all others append to the queue. Its methods call nobody but
// the Socket. It is safe for concurrent use.
type Gate struct {
	env     *Env
	mu      sync.Mutex
	state   state
	writing bool
	// edge: the socket became writable while somebody was writing, who must look again before leaving.
	edge  bool
	queue chunks.Queue
	// Own is how many bytes may wait, 0 for as many as the Env says. It must not change once the gate is in use.
	Own int
	// extra may wait on top of that, until all is written.
	extra int
	// parked are those who wait for this connection to drain.
	parked Waiters
	// stuckSince is the engine's coarse time of the last progress while something waits; 0 when nothing does.
	// It is written with mu held and read without, since housekeeping looks at every connection.
	stuckSince atomic.Int64
}

// Waiter waits for a gate to drain. It is a pointer, since it is compared.
type Waiter interface {
	// Wake is called once, without a lock. It must not block.
	Wake()
}

// Waiters are each woken once, however often they were parked.
type Waiters map[Waiter]struct{}

// Wake wakes all of them.
func (all Waiters) Wake() {
	for w := range all {
		w.Wake()
	}
}

// SoftLimit is how much may wait before who sends should pause, where most may wait.
func SoftLimit(most int) int { return min(parkBytes, most/2) }

// Crowded tells whether more than the soft limit waits. It takes a lock only when something does.
func (g *Gate) Crowded() bool { return g.stuckSince.Load() != 0 && g.Waiting() > g.soft() }

// StuckSince is when something that waits was last taken of, by the clock of the Env; 0 when nothing waits. It takes no
// lock.
func (g *Gate) StuckSince() int64 { return g.stuckSince.Load() }

// Verdict is what became of an attempt to write or queue.
type Verdict uint8

// Verdicts.
const (
	Done Verdict = iota
	Write
	Dropped
	Queued
	Park // queued, and so much waits that the publisher should pause
	Slow // more waits than may: cut the line off
)

// Open makes the gate part of env, before it is used.
func (g *Gate) Open(env *Env) { g.env = env }

// Now is the time on the clock of the Env.
func (g *Gate) Now() int64 { return g.env.Clock.Load() }

// most is how many bytes may wait.
func (g *Gate) most() int { return cmp.Or(g.Own, g.env.Most()) }

// soft is how many bytes may wait before who sends should pause.
func (g *Gate) soft() int {
	limit := SoftLimit(g.most())
	if soft := int(g.env.SoftBytes.Load()); soft > 0 {
		limit = min(limit, soft)
	}
	return limit
}

// Claim asks for the right to write stage s. Write gives it; otherwise the stage was queued or dropped.
func (g *Gate) Claim(b *chunks.Batch) Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != open {
		return Dropped
	}
	if !g.writing && g.queue.Bytes() == 0 {
		g.writing = true
		return Write
	}
	b.CopyTo(&g.queue, &g.env.Chunks, 0)
	return g.queued()
}

// queued is called with mu held after bytes were added.
func (g *Gate) queued() Verdict {
	if g.stuckSince.Load() == 0 {
		g.stuckSince.Store(g.env.Clock.Load())
	}
	switch {
	case g.queue.Bytes() > g.most()+g.extra:
		return Slow
	case g.queue.Bytes() > g.soft()+g.extra:
		return Park
	}
	return Queued
}

// Release gives back the right to write after n bytes of s were written. The rest is queued before what came
// meanwhile. more tells that the caller must drain the queue.
func (g *Gate) Release(t Socket, b *chunks.Batch, n int) (v Verdict, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing = false
	if g.state >= shut {
		g.discard(t)
		return Dropped, false
	}
	v = Done
	total := b.Bytes()
	if n < total {
		var rest chunks.Queue
		b.CopyTo(&rest, &g.env.Chunks, n)
		g.queue.Prepend(&rest)
		v = g.queued()
		t.Arm()
	}
	more = g.queue.Bytes() > 0 && (n == total || g.edge)
	g.edge = false
	g.finish(t)
	return v, more
}

// finish shuts the socket once a closing connection has nothing left to write. mu is held.
func (g *Gate) finish(t Socket) {
	if g.state == closing && g.queue.Bytes() == 0 && !g.writing {
		g.state = shut
		t.Shut()
	}
}

// discard drops the queue of a connection that is shut, and closes the descriptor if its reader has gone.
// mu is held and nobody writes.
func (g *Gate) discard(t Socket) {
	g.queue.Release(&g.env.Chunks)
	g.stuckSince.Store(0)
	if g.state == gone {
		t.Close()
	}
}

// Take begins a write of the queue: it claims the right to write and returns what to write, at most limit
// buffers. Nothing comes back when there is nothing to do or somebody else is at it (who then looks again); then
// *busy, the mark of a writer that is about to leave, becomes false under the same lock.
func (g *Gate) Take(out [][]byte, limit int, busy *bool) [][]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.writing {
		g.edge = true
	}
	if g.writing || g.state >= shut || g.queue.Bytes() == 0 {
		if busy != nil {
			*busy = false
		}
		return out
	}
	g.writing = true
	return g.queue.Buffers(out, limit)
}

// Took ends the write that take began, of which n out of offered bytes were written. again tells that more
// should be written at once; woken are publishers to wake.
func (g *Gate) Took(t Socket, n, offered int) (again bool, woken Waiters) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writing = false
	if g.state >= shut {
		g.discard(t)
		return false, g.unpark()
	}
	g.queue.Consume(&g.env.Chunks, n)
	switch {
	case g.queue.Bytes() == 0:
		g.stuckSince.Store(0)
		g.extra = 0
	case n > 0:
		g.stuckSince.Store(g.env.Clock.Load())
	}
	again = g.queue.Bytes() > 0 && (n == offered || g.edge)
	g.edge = false
	if g.queue.Bytes() > 0 && !again {
		t.Arm()
	}
	g.finish(t)
	if g.queue.Bytes() <= g.soft()/4 {
		woken = g.unpark()
	}
	return again, woken
}

func (g *Gate) unpark() Waiters {
	p := g.parked
	g.parked = nil
	return p
}

// Park adds p to those that wait, unless so little is pending that it need not.
func (g *Gate) Park(p Waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != open || g.queue.Bytes() <= g.soft()+g.extra {
		return false
	}
	if g.parked == nil {
		g.parked = make(Waiters)
	}
	g.parked[p] = struct{}{} // it may be there: it went on by itself before and was not taken out
	return true
}

// Close begins the end: what is queued, and last, is still written if drain is set; otherwise it is dropped.
// flush tells that the caller must drain the queue.
func (g *Gate) Close(t Socket, last []byte, drain bool) (flush bool, woken Waiters) {
	g.mu.Lock()
	defer g.mu.Unlock()
	woken = g.unpark()
	if g.state >= shut || g.state == closing && drain {
		return false, woken
	}
	if !drain {
		g.state = shut
		t.Shut()
		if !g.writing {
			g.discard(t)
		}
		return false, woken
	}
	g.queue.Append(&g.env.Chunks, last)
	g.state = closing
	g.stuckSince.Store(g.env.Clock.Load())
	g.finish(t)
	return !g.writing && g.queue.Bytes() > 0, woken
}

// Gone is called by the transport when its reader has ended: the descriptor is closed, now or by the writer
// that is at it.
func (g *Gate) Gone(t Socket) (woken Waiters) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = gone
	if !g.writing {
		g.discard(t)
	}
	return g.unpark()
}

// Extend lets so many bytes more wait until all is written: for what must go out and is bounded otherwise.
func (g *Gate) Extend(bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.extra += bytes
}

// Guard calls f with the lock held under which the Socket is called.
func (g *Gate) Guard(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// Waiting returns how many bytes wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.Bytes()
}
