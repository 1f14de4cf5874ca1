package jetlog

import (
	"time"

	"runnel/jetlog/deadlines"
)

// Later returns the time that is d after at; see [deadlines.Later].
func Later(at int64, d time.Duration) int64 { return deadlines.Later(at, d) }

// Nanoseconds returns a time in nanoseconds since 1970; see [deadlines.Nanoseconds].
func Nanoseconds(t time.Time) int64 { return deadlines.Nanoseconds(t) }
