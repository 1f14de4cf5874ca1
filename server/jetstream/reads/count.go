package reads

import (
	"context"
	"sync"
	"time"

	"runnel/jetlog"
)

const (
	// countedNow is up to how many messages an info waits for the count of their subjects, which is exact then.
	countedNow = 20_000
	// countWait is how long it waits in streams with more, and firstWait when nothing was counted yet: no number at all
	// is worse than a late answer.
	countWait = 250 * time.Millisecond
	firstWait = 2 * time.Second
	// countRest is how long nothing is counted after a count at least, countShare how many times as long as that took.
	countRest  = 2 * time.Second
	countShare = 10
)

// SubjectCount knows how many subjects a stream has messages on. While all are in memory that is known; otherwise it
// means to go through all of them, which takes seconds when there are millions. So in a large stream it is counted
// beside everything else, when somebody asks, and not too often: meanwhile the number of the last count is shown, 0 if
// there is none. Its methods are safe for concurrent use.
type SubjectCount struct {
	Log Log

	mu      sync.Mutex // guards everything below
	number  int
	counted bool      // number is that when so many commands were
	applied uint64    // applied
	next    time.Time // when it may be counted again
	under   *counting // way, nil for none
	closed  bool
}

// counting is a count under way.
type counting struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Number returns the number of subjects.
func (c *SubjectCount) Number() int {
	if n, known := c.Log.SubjectCount(); known {
		return n
	}
	var applied, messages uint64
	_ = c.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // of a stream that has gone nothing is counted
		applied, messages = state.Applied(), state.State().Messages
		return nil
	})
	n, first, under := c.look(applied, messages <= countedNow)
	if under == nil {
		return n
	}
	patience := countWait
	if first {
		patience = firstWait
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	if messages <= countedNow {
		wait.Stop()
	}
	select {
	case <-under.done:
	case <-wait.C:
	}
	return c.last()
}

// look returns the number as it was last counted, whether there is none yet, and the count under way if that was before so
// many commands. It begins one if that is due, or if it is to be now.
func (c *SubjectCount) look(applied uint64, now bool) (n int, first bool, under *counting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.counted && c.applied == applied, c.closed:
		return c.number, false, nil
	case c.under == nil && (now || !time.Now().Before(c.next)):
		ctx, cancel := context.WithCancel(context.Background())
		c.under = &counting{cancel: cancel, done: make(chan struct{})}
		go c.count(ctx, c.under, applied)
	}
	return c.number, !c.counted, c.under
}

// count counts. What the disk does not give back the store has told.
func (c *SubjectCount) count(ctx context.Context, under *counting, applied uint64) {
	defer close(under.done)
	defer under.cancel()
	began := time.Now()
	n, err := c.Log.CountSubjects(ctx)
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under, c.next = nil, time.Now().Add(max(countRest, countShare*took))
	if err == nil {
		c.number, c.applied, c.counted = n, applied, true
	}
}

// last is the number as it was last counted.
func (c *SubjectCount) last() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number
}

// Close ends a count that is under way, and lets none begin.
func (c *SubjectCount) Close() {
	c.mu.Lock()
	c.closed = true
	under := c.under
	c.mu.Unlock()
	if under != nil {
		under.cancel()
		<-under.done
	}
}
