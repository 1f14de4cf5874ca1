package engine

import (
	"sync"
	"sync/atomic"

	"runnel/server/engine/chunks"
)

const (
	// parkBytes is how much may wait for a connection before publishers to it are parked, or half of max_pending
	// if that is less; they go on when it has drained to a quarter of that, or after 2 ms.
	parkBytes = 512 << 10
	// drainBuffers is how many chunks one write of the queue takes where the socket does not block.
	drainBuffers = 16
)

// outboundState only grows.
type outboundState uint8

const (
	outboundOpen    outboundState = iota
	outboundClosing               // what is queued is still written, nothing is added, then the socket is shut
	outboundShut                  // nothing is written any more; the socket is shut, its descriptor still open
	outboundGone                  // the descriptor is closed, or will be by the writer that is at it
)

// outbound owns the right to write a connection's socket and the bytes that it has not taken yet. At most
// one goroutine writes at a time (writing); all others append to the queue. Its methods call nobody but the
// transport's arm and shut, which do not block and take no lock of ours.
type outbound struct {
	mu      sync.Mutex
	state   outboundState
	writing bool
	// edge: the socket became writable while somebody was writing, who must look again before leaving.
	edge  bool
	queue chunks.Queue
	// parked are those who wait for this connection to drain.
	parked waiters
	// stuckSince is the engine's coarse time of the last progress while something waits; 0 when nothing does.
	// It is written with mu held and read without, since housekeeping looks at every connection.
	stuckSince atomic.Int64
}

// waiter waits for a connection to drain: a publisher that is parked, or an alarm.
type waiter interface {
	// wake is called once, without a lock. It must not block.
	wake()
}

// waiters are each woken once, however often they were parked.
type waiters map[waiter]struct{}

func (all waiters) wake() {
	for w := range all {
		w.wake()
	}
}

// alarm is a waiter for somebody who is no connection, and who is kept once like one: two for the same are equal.
type alarm struct{ whom interface{ Wake() } }

func (a alarm) wake() { a.whom.Wake() }

// softLimit is how much may wait for a connection before who sends to it should pause.
func (e *Engine) softLimit() int { return min(parkBytes, e.settings.Load().MaxPendingBytes/2) }

// crowded tells whether more than the soft limit waits for c. It takes a lock only when something does.
func (c *Conn) crowded() bool {
	return c.out.stuckSince.Load() != 0 && c.out.waiting() > c.engine.softLimit()
}

// verdict is what became of an attempt to write or queue.
type verdict uint8

const (
	verdictDone verdict = iota
	verdictWrite
	verdictDropped
	verdictQueued
	verdictPark // queued, and so much waits that the publisher should pause
	verdictSlow // more waits than max_pending allows: cut the connection off
)

// claim asks for the right to write stage s. verdictWrite gives it; otherwise the stage was queued or dropped.
func (o *outbound) claim(e *Engine, s *stage) verdict {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outboundOpen {
		return verdictDropped
	}
	if !o.writing && o.queue.Bytes() == 0 {
		o.writing = true
		return verdictWrite
	}
	s.copyTo(&o.queue, &e.chunks, 0)
	return o.queued(e)
}

// queued is called with mu held after bytes were added.
func (o *outbound) queued(e *Engine) verdict {
	if o.stuckSince.Load() == 0 {
		o.stuckSince.Store(e.clock.Load())
	}
	switch {
	case o.queue.Bytes() > e.settings.Load().MaxPendingBytes:
		return verdictSlow
	case o.queue.Bytes() > e.softLimit():
		return verdictPark
	}
	return verdictQueued
}

// release gives back the right to write after n bytes of s were written. The rest is queued before what came
// meanwhile. more tells that the caller must drain the queue.
func (o *outbound) release(e *Engine, t transport, s *stage, n int) (v verdict, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
	if o.state >= outboundShut {
		o.discard(e, t)
		return verdictDropped, false
	}
	v = verdictDone
	total := s.bytes()
	if n < total {
		var rest chunks.Queue
		s.copyTo(&rest, &e.chunks, n)
		o.queue.Prepend(&rest)
		v = o.queued(e)
		t.arm()
	}
	more = o.queue.Bytes() > 0 && (n == total || o.edge)
	o.edge = false
	o.finish(t)
	return v, more
}

// finish shuts the socket once a closing connection has nothing left to write. mu is held.
func (o *outbound) finish(t transport) {
	if o.state == outboundClosing && o.queue.Bytes() == 0 && !o.writing {
		o.state = outboundShut
		t.shut()
	}
}

// discard drops the queue of a connection that is shut, and closes the descriptor if its reader has gone.
// mu is held and nobody writes.
func (o *outbound) discard(e *Engine, t transport) {
	o.queue.Release(&e.chunks)
	o.stuckSince.Store(0)
	if o.state == outboundGone {
		t.close()
	}
}

// take begins a write of the queue: it claims the right to write and returns what to write, at most limit
// buffers. Nothing comes back when there is nothing to do or somebody else is at it (who then looks again); then
// *busy, the mark of a writer that is about to leave, becomes false under the same lock.
func (o *outbound) take(out [][]byte, limit int, busy *bool) [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing {
		o.edge = true
	}
	if o.writing || o.state >= outboundShut || o.queue.Bytes() == 0 {
		if busy != nil {
			*busy = false
		}
		return out
	}
	o.writing = true
	return o.queue.Buffers(out, limit)
}

// took ends the write that take began, of which n out of offered bytes were written. again tells that more
// should be written at once; woken are publishers to wake.
func (o *outbound) took(e *Engine, t transport, n, offered int) (again bool, woken waiters) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
	if o.state >= outboundShut {
		o.discard(e, t)
		return false, o.unpark()
	}
	o.queue.Consume(&e.chunks, n)
	switch {
	case o.queue.Bytes() == 0:
		o.stuckSince.Store(0)
	case n > 0:
		o.stuckSince.Store(e.clock.Load())
	}
	again = o.queue.Bytes() > 0 && (n == offered || o.edge)
	o.edge = false
	if o.queue.Bytes() > 0 && !again {
		t.arm()
	}
	o.finish(t)
	if o.queue.Bytes() <= e.softLimit()/4 {
		woken = o.unpark()
	}
	return again, woken
}

func (o *outbound) unpark() waiters {
	p := o.parked
	o.parked = nil
	return p
}

// park adds p to those that wait, unless so little is pending that it need not.
func (o *outbound) park(e *Engine, p waiter) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != outboundOpen || o.queue.Bytes() <= e.softLimit() {
		return false
	}
	if o.parked == nil {
		o.parked = make(waiters)
	}
	o.parked[p] = struct{}{} // it may be there: it went on by itself before and was not taken out
	return true
}

// close begins the end: what is queued, and last, is still written if drain is set; otherwise it is dropped.
// flush tells that the caller must drain the queue.
func (o *outbound) close(e *Engine, t transport, last []byte, drain bool) (flush bool, woken waiters) {
	o.mu.Lock()
	defer o.mu.Unlock()
	woken = o.unpark()
	if o.state >= outboundShut || o.state == outboundClosing && drain {
		return false, woken
	}
	if !drain {
		o.state = outboundShut
		t.shut()
		if !o.writing {
			o.discard(e, t)
		}
		return false, woken
	}
	o.queue.Append(&e.chunks, last)
	o.state = outboundClosing
	o.stuckSince.Store(e.clock.Load())
	o.finish(t)
	return !o.writing && o.queue.Bytes() > 0, woken
}

// gone is called by the transport when its reader has ended: the descriptor is closed, now or by the writer
// that is at it.
func (o *outbound) gone(e *Engine, t transport) (woken waiters) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = outboundGone
	if !o.writing {
		o.discard(e, t)
	}
	return o.unpark()
}

// waiting returns how many bytes wait.
func (o *outbound) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.Bytes()
}
