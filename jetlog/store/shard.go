package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"runnel/jetlog/wal"
)

// queueLimit is how many commands of a shard may wait between the log and their result.
const queueLimit = 1 << 15

// shard applies the commands of some streams, in the order of the log, as soon as they are safe.
//
// Mostly its own goroutine applies. When little has become safe, the goroutine that writes the log does so itself,
// instead of waking it: that would take longer.
//
// Invariant: commands of one stream are in the queue in the order of their indexes, and one goroutine at a time takes
// from it and applies.
type shard struct {
	log     func() *wal.Log
	written bool // what is written is safe enough

	waiting atomic.Int64 // commands in queue behind head
	helper  applier      // of help

	mu      sync.Mutex // guards everything below
	work    sync.Cond  // the applier waits
	queue   []entry
	head    int           // of the queue: what is before it is done
	space   chan struct{} // closed, and forgotten, when there is room again
	failure error         // what every command gets from now on
	busy    bool          // what was taken last is being applied
	asking  int           // how often help does not try, since files had to be read
	closed  bool          // nothing more comes
}

func newShard(log func() *wal.Log, written bool) *shard {
	sh := &shard{log: log, written: written}
	sh.work.L, sh.helper.hasty = &sh.mu, true
	return sh
}

// safe is the position up to which commands can be carried out.
func (sh *shard) safe() wal.Position {
	if sh.written {
		return sh.log().Written()
	}
	return sh.log().Durable()
}

// admit waits until there is room for a command.
func (sh *shard) admit(ctx context.Context) error {
	for sh.waiting.Load() >= queueLimit {
		space := sh.full()
		if space == nil {
			return nil
		}
		select {
		case <-space:
		case <-ctx.Done():
			return fmt.Errorf("wait for commands before it: %w", ctx.Err())
		}
	}
	return nil
}

// full returns nil if there is room, otherwise what is closed when there is some again.
func (sh *shard) full() <-chan struct{} {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.waiting.Load() < queueLimit {
		return nil
	}
	if sh.space == nil {
		sh.space = make(chan struct{})
	}
	return sh.space
}

// push adds what was appended to the log.
func (sh *shard) push(e *entry) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.queue = append(sh.queue, *e)
	sh.waiting.Add(int64(e.count()))
	if !sh.busy && len(sh.queue)-sh.head == 1 && (e.position <= sh.safe() || sh.failure != nil) {
		sh.work.Signal()
	}
}

// wake lets the applier look whether something has become safe.
func (sh *shard) wake() {
	if sh.waiting.Load() == 0 {
		return // push looks by itself whether the first command is safe
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.work.Signal()
}

// fail lets every command have an error from now on.
func (sh *shard) fail(err error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.failure == nil {
		sh.failure = err
	}
	sh.work.Signal()
}

// close lets the applier end when the queue is empty.
func (sh *shard) close() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.closed = true
	sh.work.Signal()
}

// take waits for commands that are safe, or that have failed for a reason, and moves them to out. Until rest is
// called nobody else does. It is false at the end.
func (sh *shard) take(out []entry) (batch []entry, failure error, ok bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for {
		n := sh.ripe()
		switch {
		case sh.busy:
		case n > sh.head:
			return sh.move(out, n), sh.failure, true
		case sh.closed && n == len(sh.queue):
			return nil, nil, false
		}
		sh.work.Wait()
	}
}

// ripe is the place in the queue up to which commands can be applied, or fail.
func (sh *shard) ripe() int {
	safe := sh.safe()
	n := sh.head
	for n < len(sh.queue) && (sh.queue[n].position <= safe || sh.failure != nil) {
		n++
	}
	return n
}

// move moves the queue up to a place to out.
func (sh *shard) move(out []entry, n int) []entry {
	out = append(out, sh.queue[sh.head:n]...)
	sh.drop(n)
	sh.busy = true
	return out
}

// rest ends what take or help has begun.
func (sh *shard) rest(asked bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.busy = false
	if asked {
		sh.asking = askingRest
	}
	if sh.ripe() > sh.head || sh.closed {
		sh.work.Signal()
	}
}

// giveBack puts commands that were taken, and not applied, before all others.
func (sh *shard) giveBack(left []entry) {
	if len(left) == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for i := range left {
		sh.waiting.Add(int64(left[i].count()))
	}
	sh.queue, sh.head = append(left, sh.queue[sh.head:]...), 0
}

// drop forgets the queue up to a place.
func (sh *shard) drop(n int) {
	done := 0
	for i := sh.head; i < n; i++ {
		done += sh.queue[i].count()
	}
	sh.waiting.Add(int64(-done))
	clear(sh.queue[sh.head:n])
	sh.head = n
	if sh.head == len(sh.queue) {
		sh.queue, sh.head = sh.queue[:0], 0
	} else if sh.head > len(sh.queue)/2 {
		m := copy(sh.queue, sh.queue[sh.head:])
		clear(sh.queue[m:])
		sh.queue, sh.head = sh.queue[:m], 0
	}
	if sh.space != nil {
		close(sh.space)
		sh.space = nil
	}
}

// run is the applier.
func (sh *shard) run() {
	var batch []entry
	var w applier
	for {
		var failure error
		var ok bool
		if batch, failure, ok = sh.take(batch[:0]); !ok {
			return
		}
		_, asked := w.apply(batch, failure)
		sh.rest(asked)
		clear(batch)
	}
}
