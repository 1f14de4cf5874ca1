//go:build !linux

package bench

import "time"

// lockPreciseTimer has nothing to do here.
func lockPreciseTimer() {}

// sleepPrecisely waits as exactly as the runtime's timers do.
func sleepPrecisely(d time.Duration) { time.Sleep(d) }
