package bench

import (
	"context"
	"io"
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

// ProgressState is what a run knows of its time.
type ProgressState struct {
	Duration time.Duration // it is to last
	Passed   time.Duration // it has lasted
}

// Progress asks a run with the given counts how far it is.
func Progress(state ProgressState, published, total, delivered int64, fan int) (float64, int64) {
	s := &session{clock: newClock(), fan: fan, params: Params{Duration: state.Duration}}
	s.published.Store(published)
	s.total.Store(total)
	s.newCounter().n.Store(delivered)
	return s.progress(s.clock.base.Add(state.Passed))
}

// DrawBar draws a bar for each of the parts, and clears it.
func DrawBar(out io.Writer, name string, parts []float64, count int64) {
	bar := progressBar{out: out, name: name}
	for _, part := range parts {
		bar.draw(part, count)
	}
	bar.clear()
}

// Tail writes to the keeper of a server's output and returns what it quotes.
func Tail(writes ...string) string {
	var t tail
	for _, text := range writes {
		_, _ = t.Write([]byte(text))
	}
	return t.quoted()
}

// Window is the flow control of a run without connections.
func Window(size, fan int) (limit, batch int64) {
	w := newWindow(&session{fan: fan, params: Params{SizeBytes: size}})
	return w.limit, w.batch
}

// Reserve asks a fresh window for room until it has to wait for more than the
// context allows, and returns how many messages it let through.
func Reserve(ctx context.Context, size, fan int, delivered int64) int64 {
	s := &session{fan: fan, params: Params{SizeBytes: size}}
	s.newCounter().n.Store(delivered)
	w := newWindow(s)
	var passed int64
	for w.reserve(ctx, w.batch) == nil {
		passed += w.batch
	}
	return passed
}

// CaseNames lists the names of the cases that a scenario has by default.
func (s Scenario) CaseNames() []string {
	var names []string
	for _, p := range s.Variants {
		names = append(names, s.Name+s.label(p))
	}
	return names
}

// EndedBy gives what ends a run when its connection reports an error, and when the
// client that reads a stream complains of it; nil for nothing.
func EndedBy(err error) (reported, complained error) {
	s := &session{fail: func(why error) { reported = why }}
	s.reported(err)
	r := &reading{stored: &stored{session: &session{fail: func(why error) { complained = why }}}}
	r.complain(err)
	return reported, complained
}
