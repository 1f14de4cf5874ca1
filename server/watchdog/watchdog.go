// Package watchdog notices work that does not end: a disk that answers nothing any more, while all that waits for it just waits.
package watchdog

import (
	"context"
	"time"
)

// Config says what is watched, and who is told. Look is needed.
type Config struct {
	// Look tells how many pieces of work were done so far, and whether one is under way.
	Look func() (done uint64, busy bool)
	// Every is how often it looks; 500 ms if zero.
	Every time.Duration
	// Slow and Hung are how long one piece may be under way before somebody is told; 3 s and 15 s if zero.
	Slow, Hung time.Duration
	// OnSlow is called when a piece is slow, OnWell when it has ended after that, OnHung once, when it is given up. They run on
	// the goroutine that watches, which looks again when they return. Nil tells nobody.
	OnSlow, OnWell, OnHung func(since time.Duration)
}

// Run watches until ctx ends or something hangs.
func Run(ctx context.Context, c Config) {
	c = c.withDefaults()
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	last, busy := c.Look()
	since, slow := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		done, now := c.Look()
		took := time.Since(since)
		if done != last || !now || !busy {
			if slow {
				tell(c.OnWell, took)
			}
			last, busy, since, slow = done, now, time.Now(), false
			continue
		}
		if took >= c.Hung {
			tell(c.OnHung, took)
			return
		}
		if took >= c.Slow && !slow {
			slow = true
			tell(c.OnSlow, took)
		}
	}
}

func tell(f func(time.Duration), since time.Duration) {
	if f != nil {
		f(since)
	}
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.Every, 500 * time.Millisecond}, {&c.Slow, 3 * time.Second}, {&c.Hung, 15 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	return c
}
