// Package chore has something done again and again by a goroutine that there is only while there is something to do.
package chore

import (
	"context"
	"sync"
	"time"
)

// Chore is something that is done when it is told that there may be something to do. Its methods are safe for concurrent use, but for
// those that say that they are for who does it.
type Chore struct {
	ctx    context.Context
	cancel context.CancelFunc
	step   func(*Chore) (wait time.Duration)
	kick   chan struct{} // there may be something to do
	work   sync.WaitGroup

	mu      sync.Mutex // guards everything below
	running bool       // the goroutine exists
	closed  bool
}

// New returns a chore of which step does what there is to do now. It returns how long until it is to be called again, 0 for at once,
// negative if there is nothing to do.
func New(step func(*Chore) (wait time.Duration)) *Chore {
	c := &Chore{step: step, kick: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Context ends with Close.
func (c *Chore) Context() context.Context { return c.ctx }

// Wake tells that there may be something to do. It is quick.
func (c *Chore) Wake() {
	select {
	case c.kick <- struct{}{}:
	default: // it is told already
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running && !c.closed {
		c.running = true
		c.work.Go(c.run)
	}
}

// Close ends it, and waits for what is under way.
func (c *Chore) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
}

// run does what there is to do until there is nothing.
func (c *Chore) run() {
	for c.ctx.Err() == nil {
		select {
		case <-c.kick: // what there is to do is looked for next
		default:
		}
		switch wait := c.step(c); {
		case wait > 0:
			c.sleep(wait)
		case wait < 0 && c.rest():
			return
		}
	}
}

// rest ends the goroutine unless there may be more to do.
func (c *Chore) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = len(c.kick) > 0
	return !c.running
}

// sleep waits until there may be more to do, or the time has passed.
func (c *Chore) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.kick:
	case <-c.ctx.Done():
	}
}
