package system

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"runnel/server/monitor"
)

// Limits of what may wait for a goroutine of this package. What comes while a queue is full is dropped,
// counted and logged; whoever asked sees a timeout.
const (
	maxRequests        = 4096     // of the system account
	maxAccountRequests = 1024     // of all other accounts, which must not starve the system account
	maxSlowRequests    = 16       // profiles, reloads
	maxEvents          = 16384    // connects and disconnects
	maxWayBytes        = 32 << 20 // reports about messages
)

// Config is what a System is made of. All but Logger must be set.
type Config struct {
	Bus     Bus
	Pages   *monitor.Pages
	Actions Actions
	Logger  *slog.Logger // nil = none
}

// System answers requests on the $SYS subjects and publishes the events of the server. All its methods may
// be called from any goroutine; none waits for a client.
type System struct {
	cfg Config

	requests, account, slow *queue[call]
	events                  *queue[event]
	ways                    *queue[way]

	sequence atomic.Uint64 // of the messages sent, shown in each

	mu      sync.Mutex
	cancels []func() // of the subscriptions; guarded by mu
}

// New returns a system that is not on the bus yet: Start puts it there.
func New(cfg Config) *System {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &System{
		cfg:      cfg,
		requests: newQueue[call]("system requests", maxRequests),
		account:  newQueue[call]("account requests", maxAccountRequests),
		slow:     newQueue[call]("slow system requests", maxSlowRequests),
		events:   newQueue[event]("system events", maxEvents),
		ways:     newQueue[way]("message traces", maxWayBytes),
	}
	s.ways.weigh = func(w way) int { return w.trace.Bytes() }
	return s
}

// Start subscribes the services. Without a system account only the services of ordinary accounts exist.
// After an error nothing is subscribed.
func (s *System) Start() error {
	id := s.cfg.Pages.Identity()
	for _, l := range s.listeners(id.ID, id.SystemAccount) {
		subscribe := s.cfg.Bus.Subscribe
		if l.local {
			subscribe = s.cfg.Bus.SubscribeLocal
		}
		cancel, err := subscribe(l.account, l.pattern, s.receiver(l))
		if err != nil {
			s.unsubscribe()
			return fmt.Errorf("subscribe to %s in account %s: %w", l.pattern, l.account, err)
		}
		s.mu.Lock()
		s.cancels = append(s.cancels, cancel)
		s.mu.Unlock()
	}
	return nil
}

// Run answers requests and publishes events until ctx ends. It then takes the services off the bus and
// returns when nothing of it runs any more.
func (s *System) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for _, q := range []*queue[call]{s.requests, s.account, s.slow} {
		workers.Go(func() {
			q.work(ctx, s.cfg.Logger, func(c call) { s.answer(ctx, &c) })
		})
	}
	workers.Go(func() { s.publishEvents(ctx) })
	workers.Go(func() { s.ways.work(ctx, s.cfg.Logger, s.publishWay) })
	<-ctx.Done()
	s.unsubscribe()
	workers.Wait()
}

func (s *System) unsubscribe() {
	s.mu.Lock()
	cancels := s.cancels
	s.cancels = nil
	s.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}

// Queues returns the state of the internal queues, for the monitoring pages.
func (s *System) Queues() map[string]monitor.Queue {
	return map[string]monitor.Queue{
		s.requests.name: s.requests.state(),
		s.account.name:  s.account.state(),
		s.slow.name:     s.slow.state(),
		s.events.name:   s.events.state(),
		s.ways.name:     s.ways.state(),
	}
}
