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

// acker answers the publishers of some streams, and does what else comes after a message was stored.
type acker struct {
	outlet   Outlet
	buffer   []byte    // the answers since the last flush
	answered []*record // the records that they are for
	length   atomic.Int64

	mu      sync.Mutex // guards everything below
	work    sync.Cond  // run waits
	queue   []*record
	spare   []*record
	space   chan struct{} // closed, and forgotten, when there is room again
	waiting bool          // run waits
	closed  bool
}

func newAcker(outlet Outlet) *acker {
	a := &acker{outlet: outlet}
	a.work.L = &a.mu
	return a
}

// push files a record. It does not wait: it runs where commands are applied.
func (a *acker) push(r *record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.length.Add(1)
	a.queue = append(a.queue, r)
	if a.waiting {
		a.work.Signal()
	}
}

// offer files a record unless too many wait.
func (a *acker) offer(r *record) bool {
	if a.length.Load() > 2*ackerBacklog {
		return false
	}
	a.push(r)
	return true
}

// admit waits until there is room for a record.
func (a *acker) admit(ctx context.Context) {
	for a.length.Load() > ackerBacklog {
		space := a.full()
		if space == nil {
			return
		}
		select {
		case <-space:
		case <-ctx.Done():
			return
		}
	}
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

// close lets run end when nothing waits.
func (a *acker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.work.Signal()
}

// run answers records until the acker is closed.
func (a *acker) run() {
	defer a.outlet.Close()
	for batch := a.take(nil); batch != nil; batch = a.take(batch) {
		for rest := batch; len(rest) > 0; {
			n := min(len(rest), ackerBurst)
			a.burst(rest[:n])
			rest = rest[n:]
		}
	}
}

// take waits for records and returns them, in exchange for the slice before; nil is the end.
func (a *acker) take(before []*record) []*record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cap(before) <= ackerBacklog {
		a.spare = before[:0]
	}
	for len(a.queue) == 0 {
		if a.closed {
			return nil
		}
		a.waiting = true
		a.work.Wait()
		a.waiting = false
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
	for i, r := range a.answered {
		a.answered[i] = nil
		if r.reached != nil {
			close(r.reached)
		}
		r.stream.settle(r)
	}
	a.answered = a.answered[:0]
	a.leave(len(batch))
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
