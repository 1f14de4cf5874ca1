package ingest

import (
	"context"
	"sync"
	"sync/atomic"
)

// The bounds of an acker.
const (
	// ackerBacklog is how many records may wait before the streams that bring them wait too.
	ackerBacklog = 1 << 14
	// ackerBurst is how many records are answered before the answers are written.
	ackerBurst = 1024
	// ackerBufferMax is how large a buffer for answers is kept.
	ackerBufferMax = 1 << 20
)

// acker answers the publishers of some streams, and does what else comes after a message was stored. It is whoever
// has something for it and finds nobody at it: mostly the goroutine that has applied the commands.
type acker struct {
	// These belong to who is busy.
	outlet   Outlet
	buffer   []byte    // the answers since the last flush
	answered []*record // the records that they are for
	length   atomic.Int64

	mu     sync.Mutex // guards everything below
	rest   sync.Cond  // close waits until nobody is busy
	queue  []*record
	spare  []*record
	space  chan struct{} // closed, and forgotten, when there is room again
	busy   bool          // somebody answers what is in the queue
	closed bool          // nothing is answered any more
}

func newAcker(outlet Outlet) *acker {
	a := &acker{outlet: outlet}
	a.rest.L = &a.mu
	return a
}

// file files records. Flush is to be called then.
func (a *acker) file(records ...*record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.append(records)
}

// append puts records behind the others. The caller holds mu.
func (a *acker) append(records []*record) {
	a.length.Add(int64(len(records)))
	a.queue = append(a.queue, records...)
}

// push files records, and sees to it that they are answered by somebody else.
func (a *acker) push(records ...*record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.append(records)
	if !a.busy && !a.closed {
		a.busy = true
		go a.run()
	}
}

// offer is push, unless too many wait.
func (a *acker) offer(r *record) bool {
	if a.length.Load() > 2*ackerBacklog {
		return false
	}
	a.push(r)
	return true
}

// Flush answers what was filed, unless somebody is at it. What is filed meanwhile is left to another goroutine: the
// caller may be the one that writes the log, and others might have something to be answered for ever.
func (a *acker) Flush() {
	if !a.claim() {
		return
	}
	batch := a.take(nil)
	a.answer(batch)
	if batch = a.take(batch); batch != nil {
		go a.runFrom(batch)
	}
}

// claim makes the caller who answers, if there is something and nobody does.
func (a *acker) claim() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || a.closed || len(a.queue) == 0 {
		return false
	}
	a.busy = true
	return true
}

// admit reports whether there is room for a record. It waits until there is, if it is patient.
func (a *acker) admit(ctx context.Context, patient bool) bool {
	for a.length.Load() > ackerBacklog {
		if !patient {
			return false
		}
		space := a.full()
		if space == nil {
			break
		}
		select {
		case <-space:
		case <-ctx.Done():
			return true // the log will not take it
		}
	}
	return true
}

// full returns nil if there is room, otherwise what is closed when there is some again.
func (a *acker) full() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.length.Load() <= ackerBacklog {
		return nil
	}
	if a.space == nil {
		a.space = make(chan struct{})
	}
	return a.space
}

// close ends the acker when what was filed is answered. Calling it again does nothing.
func (a *acker) close() {
	a.Flush()
	if a.stop() {
		a.outlet.Close()
	}
}

// stop waits until nobody answers, and lets nobody begin. It is true for the first call.
func (a *acker) stop() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.busy {
		a.rest.Wait()
	}
	first := !a.closed
	a.closed = true
	return first
}

// run answers records until none is left.
func (a *acker) run() { a.runFrom(a.take(nil)) }

// runFrom is run with records that were taken.
func (a *acker) runFrom(batch []*record) {
	for ; batch != nil; batch = a.take(batch) {
		a.answer(batch)
	}
}

// answer answers records, some at a time.
func (a *acker) answer(batch []*record) {
	for len(batch) > 0 {
		n := min(len(batch), ackerBurst)
		a.burst(batch[:n])
		batch = batch[n:]
	}
}

// take returns the records that wait, in exchange for the slice before; nil when there are none, and nobody answers
// any more.
func (a *acker) take(before []*record) []*record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before != nil && cap(before) <= ackerBacklog {
		a.spare = before[:0]
	}
	if len(a.queue) == 0 {
		a.busy = false
		a.rest.Broadcast()
		return nil
	}
	batch := a.queue
	a.queue, a.spare = a.spare, nil
	return batch
}

// burst answers some records, writes the answers, and lets the records go.
func (a *acker) burst(batch []*record) {
	for i, r := range batch {
		batch[i] = nil
		r.stream.arrive(a, r)
	}
	a.outlet.Flush()
	a.buffer = a.buffer[:0]
	if cap(a.buffer) > ackerBufferMax {
		a.buffer = nil
	}
	n := len(a.answered) // not those that wait for answers of the log, some of the batches before
	a.settle()
	a.leave(n)
}

// settle ends what was answered. Streams are told of many records at once, since their publishers' workers use the
// same memory.
func (a *acker) settle() {
	for rest := a.answered; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].stream == rest[0].stream {
			n++
		}
		rest[0].stream.unsettled.Add(-int64(n))
		rest = rest[n:]
	}
	for _, r := range a.answered {
		if r.reached != nil {
			close(r.reached)
		}
		r.stream.ingest.release(r)
	}
	clear(a.answered)
	a.answered = a.answered[:0]
}

// leave takes records off the count, and lets those go on that wait for it.
func (a *acker) leave(n int) {
	if a.length.Add(-int64(n)) > ackerBacklog {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.space != nil {
		close(a.space)
		a.space = nil
	}
}

// reply stages a message to whoever asked for one.
func (a *acker) reply(s *Stream, to string, header, payload []byte) {
	a.outlet.Publish(s.account, to, "", header, payload)
}
