package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// firstMessageWait is how long sub waits for a publisher to begin.
const firstMessageWait = time.Minute

// runSub receives what publishers elsewhere send. It cannot know what they
// sent: a gap shows, a missing end shows as fewer messages than awaited.
func runSub(ctx context.Context, s *session) error {
	p := s.params
	t := topology{conns: p.Subscribers}
	for i := range p.Subscribers {
		t.groups = append(t.groups, []listenerPlan{{conn: i, pattern: s.target.Subject}})
	}
	f := &flow{session: s}
	if err := f.open(ctx, t); err != nil {
		return err
	}
	s.patient.Store(true)
	s.total.Store(p.Messages)
	deadline := time.Now().Add(firstMessageWait)
	err := s.waitFor(ctx, func() bool { return s.delivered() > 0 || time.Now().After(deadline) })
	if err == nil && s.delivered() == 0 {
		err = fmt.Errorf("%w: no message on %q within %v: start `runnel bench pub` with the same subject", ErrStalled, s.target.Subject, firstMessageWait)
	}
	if err == nil {
		s.patient.Store(false)
		err = f.receiveAll(ctx)
	}
	f.settle(err)
	return err
}

// receiveAll is the measured phase of sub: until every subscriber has what it
// awaits, or the time is over.
func (f *flow) receiveAll(ctx context.Context) error {
	f.begin()
	err := f.waitFor(ctx, func() bool {
		if f.params.Duration > 0 && time.Since(f.measure.begun) >= f.params.Duration {
			return true
		}
		return f.params.Messages > 0 && f.leastDelivered() >= f.params.Messages
	})
	delivered := f.delivered()
	f.end(delivered/int64(f.params.Subscribers), delivered)
	if errors.Is(err, ErrStalled) {
		err = fmt.Errorf("%w: %d of %d messages came", err, f.leastDelivered(), f.params.Messages)
	}
	return err
}

// leastDelivered is the count of the subscriber that has got least.
func (s *session) leastDelivered() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := s.counters[0].n.Load()
	for _, c := range s.counters[1:] {
		least = min(least, c.n.Load())
	}
	return least
}
