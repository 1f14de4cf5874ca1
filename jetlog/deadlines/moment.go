package deadlines

import (
	"math"
	"time"
)

// Later returns the time that is d after at, both in nanoseconds; the last that there is when it would be
// beyond all counting, since who asks for the longest wait means one without end. d must not be negative.
func Later(at int64, d time.Duration) int64 {
	if at > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return at + int64(d)
}

// The times that can be counted in nanoseconds since 1970 lie between these: the years 1677 and 2262.
var (
	firstMoment = time.Unix(0, math.MinInt64)
	lastMoment  = time.Unix(0, math.MaxInt64)
)

// Nanoseconds returns a time in nanoseconds since 1970, the nearest that there is when it is beyond counting.
func Nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(firstMoment):
		return math.MinInt64
	case t.After(lastMoment):
		return math.MaxInt64
	}
	return t.UnixNano()
}
