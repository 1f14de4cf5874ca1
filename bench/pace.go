package bench

import (
	"context"
	"time"
)

// spread gives the moment at which each message of a paced publisher is due. It
// never looks at how late the previous one was: a server or a client that falls
// behind does not shift the plan, so the waiting it causes is part of the
// measured latency.
type spread struct {
	start    time.Time
	interval time.Duration
}

// newSpread plans publisher number index of several that share a rate; their
// messages interleave evenly.
func newSpread(start time.Time, rate float64, index, publishers int) spread {
	interval := time.Duration(float64(publishers) / rate * float64(time.Second))
	return spread{start: start.Add(interval * time.Duration(index) / time.Duration(publishers)), interval: interval}
}

// due is when message i is to be sent.
func (s spread) due(i uint64) time.Time { return s.start.Add(s.interval * time.Duration(i)) }

// longWait is above which a sleeper waits in a way that can be interrupted.
const longWait = 20 * time.Millisecond

// sleepUntil returns at the given moment, or earlier with the context's error.
func sleepUntil(ctx context.Context, at time.Time) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wait := time.Until(at)
		switch {
		case wait <= 0:
			return nil
		case wait <= longWait:
			sleepPrecisely(wait)
		default:
			select {
			case <-ctx.Done():
			case <-time.After(wait - longWait/2):
			}
		}
	}
}
