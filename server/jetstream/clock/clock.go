// Package clock is the time of a stream for whoever leads it. The clock of a machine is set now and then, also back; what a stream
// waits for (answers, ages, the ends of requests) must come in its time nevertheless.
package clock

import (
	"sync/atomic"
	"time"
)

// Clock is a time that never goes back, and goes on at least as fast as time passes. It is that of the machine as long as this is not set back;
// then it goes on from where it was. Its methods are safe for concurrent use.
type Clock struct {
	wall  func() time.Time
	begun time.Time
	// ahead is how far this time is ahead of that which has passed since begun, in nanoseconds. It never becomes less.
	ahead atomic.Int64
}

// New returns a clock by that of the machine, which wall shows; nil for the one that there is.
func New(wall func() time.Time) *Clock { return &Clock{wall: wall, begun: time.Now()} }

// Now is the time in nanoseconds since 1970.
func (c *Clock) Now() int64 {
	now := time.Now()
	passed, at := int64(now.Sub(c.begun)), now
	if c.wall != nil {
		at = c.wall()
	}
	return passed + c.atLeast(at.UnixNano()-passed)
}

// Time is the same.
func (c *Clock) Time() time.Time { return time.Unix(0, c.Now()) }

// Reach has it be a certain time at least: the one that a stream has come to where it was led before.
func (c *Clock) Reach(at int64) { c.atLeast(at - int64(time.Since(c.begun))) }

// atLeast has the clock be so far ahead, and returns how far it is.
func (c *Clock) atLeast(ahead int64) int64 {
	for {
		is := c.ahead.Load()
		if ahead <= is {
			return is
		}
		if c.ahead.CompareAndSwap(is, ahead) {
			return ahead
		}
	}
}
