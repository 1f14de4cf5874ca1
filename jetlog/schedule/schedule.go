// Package schedule is when messages of a schedule are due: what patterns mean, and the arithmetic of
// times. It asks no clock. Package jetlog keeps the schedules of a stream; what needs the data of time
// zones, which differs between machines, is for whoever leads the stream, never for Apply.
//
// A pattern is one of:
//
//	@at 2030-01-02T15:04:05Z       once, at an RFC 3339 time; at once if it has passed
//	@every 1h30m                   again and again, at least a second apart
//	@hourly                        also @daily, @midnight, @weekly, @monthly, @yearly, @annually
//	0 30 9 * * MON-FRI             second, minute, hour, day of month, month, day of week
package schedule

import (
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // a machine without data of time zones knows them too
)

// ErrPattern is wrapped by the error for a pattern that is none.
var ErrPattern = errors.New("not a schedule")

// ErrZone is wrapped by the error for a time zone that is not known here.
var ErrZone = errors.New("not a known time zone")

// Bounds of the times that a pattern may ask for: times are counted in 64 bits of nanoseconds.
const (
	intervalMin = time.Second
	intervalMax = 100 * 365 * 24 * time.Hour
	yearMin     = 1700
	yearMax     = 2200
)

// Schedule is a pattern that was understood. It does not change.
type Schedule struct {
	at    time.Time
	every time.Duration
	cron  *cron
}

// named are patterns with a name.
func named(name string) string {
	switch name {
	case "@yearly", "@annually":
		return "0 0 0 1 1 *"
	case "@monthly":
		return "0 0 0 1 * *"
	case "@weekly":
		return "0 0 0 * * 0"
	case "@daily", "@midnight":
		return "0 0 0 * * *"
	case "@hourly":
		return "0 0 * * * *"
	}
	return name
}

// Parse returns what a pattern means.
func Parse(pattern string) (Schedule, error) {
	if text, ok := strings.CutPrefix(pattern, "@at "); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Year() < yearMin || at.Year() > yearMax {
			return Schedule{}, ErrPattern
		}
		return Schedule{at: at}, nil
	}
	if text, ok := strings.CutPrefix(pattern, "@every "); ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < intervalMin || d > intervalMax {
			return Schedule{}, ErrPattern
		}
		return Schedule{every: d}, nil
	}
	c, ok := parseCron(named(pattern))
	if !ok {
		return Schedule{}, ErrPattern
	}
	return Schedule{cron: c}, nil
}

// Zoned reports whether a time zone makes a difference, so that one may be given.
func (s Schedule) Zoned() bool { return s.cron != nil }

// First returns when a schedule that begins at a time is due for the first time. It is false for one that
// is never due, such as a 30th of February.
func (s Schedule) First(from time.Time, zone *time.Location) (time.Time, bool) {
	switch {
	case s.cron != nil:
		return s.cron.next(from.In(zone))
	case s.every > 0:
		// Whole seconds are what people expect to see.
		return from.Add(s.every + time.Second - 1).Truncate(time.Second), true
	}
	return s.at, true
}

// Next returns when a schedule that was due at a time is due again after now, which may be later: what
// was missed is not made up for. It is false for one that is not due again.
func (s Schedule) Next(due, now time.Time, zone *time.Location) (time.Time, bool) {
	if now.Before(due) {
		now = due
	}
	switch {
	case s.cron != nil:
		return s.cron.next(now.In(zone))
	case s.every > 0:
		missed := now.Sub(due) / s.every
		return due.Add((missed + 1) * s.every), true
	}
	return time.Time{}, false
}

// Zone returns the time zone with a name of the IANA database, "UTC" for none.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, ErrZone
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.Join(ErrZone, err)
	}
	return zone, nil
}
