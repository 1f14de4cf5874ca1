package client

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// progress tells the server of messages that take long, so that it does not give them to somebody else meanwhile. Its methods
// are safe for concurrent use.
type progress struct {
	every time.Duration // that the server is told

	mu      sync.Mutex                  // guards what follows
	working map[jetstream.Msg]time.Time // when it was last told, or the message came
}

// newProgress returns a progress for a consumer that waits for answers as long as its configuration says.
func newProgress(cfg *jetstream.ConsumerConfig) *progress {
	wait := cfg.AckWait
	for _, d := range cfg.BackOff {
		if d > 0 && (wait == 0 || d < wait) {
			wait = d
		}
	}
	// A third of the time: one telling may be lost.
	return &progress{every: max(wait/3, 10*time.Millisecond), working: make(map[jetstream.Msg]time.Time)}
}

// begin notes a message, and the function that it returns forgets it.
func (p *progress) begin(m jetstream.Msg) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working[m] = time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.working, m)
	}
}

// run tells until the context ends.
func (p *progress) run(ctx context.Context) {
	tick := time.NewTicker(max(p.every/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			for _, m := range p.due(now) {
				_ = m.InProgress() // if the connection is gone the message comes again anyway
			}
		case <-ctx.Done():
			return
		}
	}
}

// due returns the messages of which the server is to be told now.
func (p *progress) due(now time.Time) (list []jetstream.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for m, last := range p.working {
		if now.Sub(last) >= p.every/2 {
			p.working[m] = now
			list = append(list, m)
		}
	}
	return list
}
