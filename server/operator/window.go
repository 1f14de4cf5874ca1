package operator

import (
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
)

// clockFormat is how the times of a window are written.
const clockFormat = time.TimeOnly

// windowEnd checks that now lies in one of the windows, which repeat every day, and returns when the last of those that
// it lies in ends. Without windows there is no end. A window whose start is later than its end goes over midnight.
// zone is the name of a time zone, that of the server when empty.
func windowEnd(windows []jwt.TimeRange, zone string, now time.Time) (time.Time, error) {
	if len(windows) == 0 {
		return time.Time{}, nil
	}
	where := time.Local
	if zone != "" {
		var err error
		if where, err = time.LoadLocation(zone); err != nil {
			return time.Time{}, fmt.Errorf("%w: time zone %q", ErrClaims, short(zone))
		}
	}
	now = now.In(where)
	var last time.Time
	for i, w := range windows {
		start, err := time.Parse(clockFormat, w.Start)
		if err != nil {
			return time.Time{}, fmt.Errorf("%w: start of times[%d]", ErrClaims, i)
		}
		stop, err := time.Parse(clockFormat, w.End)
		if err != nil {
			return time.Time{}, fmt.Errorf("%w: end of times[%d]", ErrClaims, i)
		}
		for day := -1; day <= 0; day++ { // yesterday's may still be open
			opens := onDay(now, day, start)
			closes := onDay(now, day, stop)
			if stop.Before(start) {
				closes = onDay(now, day+1, stop)
			}
			if !now.Before(opens) && now.Before(closes) && closes.After(last) {
				last = closes
			}
		}
	}
	if last.IsZero() {
		return last, fmt.Errorf("%w: it is %s", ErrTimeOfDay, now.Format("15:04:05 MST"))
	}
	return last, nil
}

// onDay is the time of day that clock shows, so many days after now.
func onDay(now time.Time, days int, clock time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d+days, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
}
