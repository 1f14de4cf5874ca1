package jetstream

import (
	"sync"
	"time"

	"runnel/server/jetstream/api"
)

// overloadEvery is how often it is told at most that requests are dropped.
const overloadEvery = time.Second

// overload counts the requests that are dropped since too many wait, and has it told: in the log, and as an advisory in
// the system account.
type overload struct {
	tell func(dropped int64) // not more often than overloadEvery

	mu      sync.Mutex // guards everything below
	dropped int64      // that were not told
	told    time.Time
	timer   *time.Timer // set while there is something to tell
	closed  bool
}

// note counts a request. It is quick.
func (o *overload) note() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped++
	if o.timer == nil && !o.closed {
		o.timer = time.AfterFunc(max(0, overloadEvery-time.Since(o.told)), o.report)
	}
}

// report tells what was counted, and lets the next request that is dropped wait its time.
func (o *overload) report() {
	o.mu.Lock()
	dropped := o.dropped
	o.dropped, o.timer, o.told = 0, nil, time.Now()
	o.mu.Unlock()
	o.tell(dropped)
}

// close forgets what was not told.
func (o *overload) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
}

// tellDropped says that requests were dropped, to whoever looks after the server.
func (s *Service) tellDropped(dropped int64) {
	s.logger.Warn("too many requests to the JetStream API wait: some were dropped without an answer",
		"dropped", dropped, "in_total", s.dropped.Load())
	s.events.system(&api.APILimitReached{Server: s.cfg.ServerName, Dropped: dropped, Domain: s.cfg.Domain})
}
