package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// rate spaces out bytes so that no more than perSecond pass, apart from short bursts.
type rate struct {
	perSecond atomic.Int64 // 0 for no bound

	mu   sync.Mutex // guards what follows
	next time.Time  // when the bytes that were let through will have passed
}

// SetRate changes Config.Rate; what was let through already keeps its pause.
func (t *Transport) SetRate(perSecond int64) { t.rate.perSecond.Store(perSecond) }

// burst is how much time's worth of bytes may pass at once after a pause.
const burst = 100 * time.Millisecond

// wait waits until so many bytes may pass, or ctx ends.
func (r *rate) wait(ctx context.Context, bytes int) error {
	pause := r.reserve(time.Now(), bytes)
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// reserve lets bytes through after the pause that it returns.
func (r *rate) reserve(now time.Time, bytes int) time.Duration {
	perSecond := r.perSecond.Load()
	if perSecond <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if earliest := now.Add(-burst); r.next.Before(earliest) {
		r.next = earliest
	}
	pause := r.next.Sub(now)
	r.next = r.next.Add(time.Duration(float64(bytes) / float64(perSecond) * float64(time.Second)))
	return pause
}
