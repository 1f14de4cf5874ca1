package bench

import (
	"context"
	"time"
)

// The insides that the tests look at.
var (
	SplitCommand       = splitCommand
	FormatCount        = formatCount
	FormatBytes        = formatBytes
	FormatMicroseconds = formatMicroseconds
	Redacted           = redacted
)

// MaxTracked is the bound of a verifier's bitmap.
const MaxTracked = maxTracked

// Due gives the plan of a paced publisher.
func Due(start time.Time, rate float64, index, publishers int, message uint64) time.Time {
	return newSpread(start, rate, index, publishers).due(message)
}

// SleepUntil waits as paced publishers do.
func SleepUntil(ctx context.Context, at time.Time) error { return sleepUntil(ctx, at) }

// StampAge stamps an instant and reads back how long ago it is.
func StampAge(at time.Time) time.Duration {
	c := newClock()
	return c.since(c.ticks(at))
}

// Summarize compares one case over all rounds.
func Summarize(name string, rounds int, singles []Single) CaseSummary {
	return summarize(name, rounds, singles)
}

// CaseNames lists the names of the cases that a scenario has by default.
func (s Scenario) CaseNames() []string {
	var names []string
	for _, p := range s.Variants {
		names = append(names, s.Name+s.label(p))
	}
	return names
}
