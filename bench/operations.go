package bench

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// operations is work in equal pieces that workers do side by side. A worker waits for each of its
// pieces before it begins the next one.
type operations struct {
	session *session
	workers int
	// do does piece n, which was to begin at a moment. It may be called by several workers at once.
	do func(ctx context.Context, worker int, n uint64, due time.Time) error
	// untimed leaves it to others to record latencies; began, if set, is called when the phase that
	// counts begins.
	untimed bool
	began   func()

	next      atomic.Uint64 // the piece that comes next
	latencies []*Recorder   // one for each worker
}

// run does the warm-up and then the phase that counts.
func (o *operations) run(ctx context.Context) error {
	s := o.session
	for range o.workers {
		o.latencies = append(o.latencies, NewRecorder())
	}
	warm := s.warmUp()
	if s.params.Messages > 0 {
		s.total.Store(s.params.Messages + warm)
	}
	if err := o.phase(ctx, warm, time.Time{}); err != nil {
		return err
	}
	return o.measured(ctx)
}

// measured is the phase that counts.
func (o *operations) measured(ctx context.Context) error {
	s := o.session
	for _, r := range o.latencies {
		r.Reset()
	}
	if o.began != nil {
		o.began()
	}
	published, delivered := s.published.Load(), s.delivered()
	s.begin()
	var until time.Time
	if s.params.Duration > 0 {
		until = s.measure.begun.Add(s.params.Duration)
	}
	err := o.phase(ctx, s.params.Messages, until)
	s.end(s.published.Load()-published, s.delivered()-delivered)
	for _, r := range o.latencies {
		if !o.untimed {
			s.measure.addLatency(r)
		}
	}
	return err
}

// phase does n pieces (0 with a deadline: as many as begin before it) and, where a piece has
// deliveries, waits for all of them.
func (o *operations) phase(ctx context.Context, n int64, until time.Time) error {
	if n == 0 && until.IsZero() {
		return nil
	}
	var left atomic.Int64
	left.Store(n)
	if n == 0 {
		left.Store(math.MaxInt64)
	}
	start := time.Now()
	errs := make([]error, o.workers)
	var group sync.WaitGroup
	for i := range o.workers {
		group.Go(func() {
			if errs[i] = o.work(ctx, i, &left, start, until); errs[i] != nil {
				o.session.fail(errs[i])
			}
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s := o.session
	return s.waitFor(ctx, func() bool { return s.delivered() >= s.published.Load()*int64(s.fan) })
}

// work is what one worker does in a phase. With a rate each piece has a moment at which it is due,
// from which its latency counts.
func (o *operations) work(ctx context.Context, worker int, left *atomic.Int64, start, until time.Time) error {
	s := o.session
	paced := s.params.Rate > 0
	var plan spread
	if paced {
		lockPreciseTimer()
		plan = newSpread(start, s.params.Rate, worker, o.workers)
	}
	for i := uint64(0); left.Add(-1) >= 0; i++ {
		due := time.Now()
		if paced {
			due = plan.due(i)
		}
		if !until.IsZero() && !due.Before(until) {
			return nil
		}
		if paced {
			if err := sleepUntil(ctx, due); err != nil {
				return context.Cause(ctx)
			}
		}
		if err := o.do(ctx, worker, o.next.Add(1)-1, due); err != nil {
			return err
		}
		if !o.untimed {
			o.latencies[worker].Record(time.Since(due))
		}
		s.published.Add(1)
	}
	return nil
}
