// Package alarm rings at a time.
package alarm

import (
	"sync"
	"time"
)

// lookAfter is how long the alarm trusts a timer at most. Timers go by the time that passes while the machine is awake, but the clock may be set on meanwhile, as it is when a
// machine wakes up: what is due by then is late by that much at most.
const lookAfter = time.Minute

// Alarm rings once at the earliest of the times it was set to, on a goroutine of its own. There is a timer only
// while it is set. The zero value, with its functions, is not set. Its methods are safe for concurrent use.
type Alarm struct {
	Clock func() time.Time
	Ring  func()

	mu      sync.Mutex // guards everything below
	at      int64      // 0: not set
	timer   *time.Timer
	stopped bool
}

// Set lets the alarm ring at a time in nanoseconds since 1970, or earlier if it is set so already. 0 sets nothing.
func (a *Alarm) Set(at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at == 0 || a.stopped || a.at != 0 && a.at <= at {
		return
	}
	a.at = at
	a.wait()
}

// wait sets the timer. The caller holds mu.
func (a *Alarm) wait() {
	wait := min(max(0, time.Unix(0, a.at).Sub(a.Clock())), lookAfter)
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, a.fire)
		return
	}
	a.timer.Reset(wait)
}

// IsSet tells whether it is going to ring.
func (a *Alarm) IsSet() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at != 0
}

// fire rings, unless it is too early, or the alarm was stopped while its timer went off. Before that it is set to nothing, so that who is rung
// for can set it again.
func (a *Alarm) fire() {
	if a.due() {
		a.Ring()
	}
}

// due reports whether the time has come, and has it set no more then.
func (a *Alarm) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.at == 0 || a.stopped:
		return false
	case a.Clock().UnixNano() < a.at:
		a.wait()
		return false
	}
	a.at = 0
	return true
}

// Stop lets it never ring again. A ring may still be under way.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
