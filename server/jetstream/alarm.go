package jetstream

import (
	"sync"
	"time"
)

// alarm rings once at the earliest of the times it was set to, on a goroutine of its own. There is a timer only
// while it is set.
type alarm struct {
	clock func() time.Time
	ring  func()

	mu      sync.Mutex // guards everything below
	at      int64      // 0: not set
	timer   *time.Timer
	stopped bool
}

// set lets the alarm ring at a time in nanoseconds since 1970, or earlier if it is set so already. 0 sets nothing.
func (a *alarm) set(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at == 0 || a.stopped || a.at != 0 && a.at <= at {
		return
	}
	a.at = at
	wait := max(0, time.Unix(0, at).Sub(a.clock()))
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, a.fire)
		return
	}
	a.timer.Reset(wait)
}

// isSet tells whether it is going to ring.
func (a *alarm) isSet() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at != 0
}

// fire rings, unless the alarm was stopped while its timer went off. Before that it is set to nothing, so that who is rung
// for can set it again.
func (a *alarm) fire() {
	a.mu.Lock()
	due := a.at != 0 && !a.stopped
	a.at = 0
	a.mu.Unlock()
	if due {
		a.ring()
	}
}

// stop lets it never ring again. A ring may still be under way.
func (a *alarm) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
