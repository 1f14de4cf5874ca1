// Package overload has it told that something is dropped, without telling each time.
package overload

import (
	"sync"
	"time"
)

// every is how often it is told at most.
const every = time.Second

// Overload counts what is dropped, and has it told. The zero value, with Tell set, is ready. Its methods are safe for concurrent
// use.
type Overload struct {
	// Tell is called with what was dropped since the call before, once a second at most.
	Tell func(dropped int64)

	mu      sync.Mutex // guards everything below
	dropped int64      // that were not told
	told    time.Time
	timer   *time.Timer // set while there is something to tell
	closed  bool
}

// Note counts one more. It is quick.
func (o *Overload) Note() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped++
	if o.timer == nil && !o.closed {
		o.timer = time.AfterFunc(max(0, every-time.Since(o.told)), o.report)
	}
}

// report tells what was counted, and lets the next one that is dropped wait its time.
func (o *Overload) report() {
	o.mu.Lock()
	dropped := o.dropped
	o.dropped, o.timer, o.told = 0, nil, time.Now()
	o.mu.Unlock()
	o.Tell(dropped)
}

// Close forgets what was not told.
func (o *Overload) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
}
