package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonicMicroseconds is CLOCK_MONOTONIC, which the service manager shares.
func monotonicMicroseconds() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()).Microseconds(), nil
}
