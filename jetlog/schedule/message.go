package schedule

import (
	"bytes"
	"time"

	"runnel/headers"
)

// Names of headers.
const (
	patternHeader   = "Nats-Schedule"
	targetHeader    = "Nats-Schedule-Target"
	sourceHeader    = "Nats-Schedule-Source"
	ttlHeader       = "Nats-Schedule-TTL"
	rollupHeader    = "Nats-Schedule-Rollup"
	zoneHeader      = "Nats-Schedule-Time-Zone"
	NextHeader      = "Nats-Schedule-Next" // when the schedule of a message is due again, or Purge
	SchedulerHeader = "Nats-Scheduler"     // the subject of the schedule that a message comes from
)

// Purge is the Nats-Schedule-Next of the last message of a schedule, which is to go.
const Purge = "purge"

// Terms are what the headers of a message say about its schedule.
type Terms struct {
	// Pattern says when; the message has no schedule if it is empty.
	Pattern string
	// Target is where to, Source is a subject whose last message is sent instead.
	Target, Source string
	// TTL and Rollup are for what is sent.
	TTL, Rollup string
	// Zone is the time zone of the pattern; Zoned tells that there is the header.
	Zone  string
	Zoned bool
}

// Read returns what a header block says. Of a header that occurs twice the first counts.
func Read(header []byte) Terms {
	get := func(name string) string {
		value, _ := headers.Get(header, name)
		return string(value)
	}
	t := Terms{
		Pattern: get(patternHeader), Target: get(targetHeader), Source: get(sourceHeader),
		TTL: get(ttlHeader), Rollup: get(rollupHeader),
	}
	zone, zoned := headers.Get(header, zoneHeader)
	t.Zone, t.Zoned = string(zone), zoned
	return t
}

// location returns the zone of the terms.
func (t *Terms) location() (*time.Location, error) {
	if !t.Zoned {
		return time.UTC, nil
	}
	return Zone(t.Zone)
}

// First returns when the schedule is due for the first time if it begins at a time. It is false if that is
// never, or the pattern is none. The error is ErrZone.
func (t *Terms) First(from time.Time) (time.Time, bool, error) {
	zone, err := t.location()
	if err != nil {
		return time.Time{}, false, err
	}
	s, err := Parse(t.Pattern)
	if err != nil {
		return time.Time{}, false, nil
	}
	first, ok := s.First(from, zone)
	return first, ok, nil
}

// Next returns when a schedule that was due at a time is due again after now. It is false if that is
// never. Errors are ErrZone, for data of time zones that has changed, and ErrPattern.
func (t *Terms) Next(due, now time.Time) (time.Time, bool, error) {
	zone, err := t.location()
	if err != nil {
		return time.Time{}, false, err
	}
	s, err := Parse(t.Pattern)
	if err != nil {
		return time.Time{}, false, err
	}
	next, ok := s.Next(due, now, zone)
	return next, ok, nil
}

// Generated returns the header block of what a schedule sends: from is that of the message that is sent,
// without what was meant for the stream that it came from; subject is that of the schedule. Next is the zero
// time when the schedule has come to its end.
func (t *Terms) Generated(subject string, from []byte, next time.Time) []byte {
	var fields []headers.Field
	for name, value := range headers.All(from) {
		if !dropped(name) {
			fields = append(fields, headers.Field{Name: string(name), Value: string(value)})
		}
	}
	when := Purge
	if !next.IsZero() {
		when = next.Format(time.RFC3339Nano)
	}
	fields = append(fields, headers.Field{Name: SchedulerHeader, Value: subject}, headers.Field{Name: NextHeader, Value: when})
	if t.TTL != "" {
		fields = append(fields, headers.Field{Name: "Nats-TTL", Value: t.TTL})
	}
	if t.Rollup != "" {
		fields = append(fields, headers.Field{Name: "Nats-Rollup", Value: t.Rollup})
	}
	return headers.Build(fields...)
}

// dropped reports whether a header was meant for the stream only.
func dropped(name []byte) bool {
	rest, ours := bytes.CutPrefix(name, []byte("Nats-"))
	if !ours {
		return false
	}
	switch string(rest) {
	case "Msg-Id", "TTL", "Rollup":
		return true
	}
	return bytes.HasPrefix(rest, []byte("Schedule")) || bytes.HasPrefix(rest, []byte("Expected-"))
}
