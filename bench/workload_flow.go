package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
)

// topology says who publishes where and who must get what.
type topology struct {
	publishers []publisherPlan
	groups     [][]listenerPlan // each group together must get every message of its lanes once
	conns      int              // subscribing connections
	exact      bool             // no warm-up: somebody elsewhere counts the messages
	// publishing and listening say who the clients are; nil for the user of the target.
	publishing, listening []nats.Option
	// ready is called before anything is published, to look at what was opened; nil for nothing.
	ready func(context.Context, *flow) error
}

// publisherPlan is one publisher, identified by its place in the topology.
type publisherPlan struct {
	subjects []string // used in turn: sequence n goes to subject n modulo their number
	header   nats.Header
}

// listenerPlan is one subscription.
type listenerPlan struct {
	conn    int // which of the subscribing connections
	pattern string
	queue   string
	header  nats.Header // what every message must carry
	lanes   []verify.Lane
}

// flow moves messages through a topology, in a warm-up and a measured phase.
type flow struct {
	*session
	publishers []*publisher
	groups     [][]*listener
	subConns   []*nats.Conn
	window     window
}

const (
	// warmUpPart is how large the warm-up is: the measured phase divided by it.
	warmUpPart = 20
	// warmUpMax bounds it.
	warmUpMax = 100_000
)

// runTopology carries a flow out: set up, warm up, measure, verify.
func runTopology(ctx context.Context, s *session, t topology) error {
	f := &flow{session: s}
	f.window = newWindow(s)
	if err := f.open(ctx, t); err != nil {
		return err
	}
	if t.ready != nil {
		if err := t.ready(ctx, f); err != nil {
			return err
		}
	}
	warm := s.warmUp()
	if t.exact {
		warm = 0
	}
	s.total.Store(s.params.Messages + warm)
	err := f.phase(ctx, warm, time.Time{})
	if err == nil {
		err = f.measured(ctx)
	}
	if err == nil {
		err = f.quiesce(ctx, f.subConns)
	}
	f.settle(err)
	return err
}

// warmUp is how many messages the warm-up has.
func (s *session) warmUp() int64 {
	switch p := s.params; {
	case p.Messages > 0:
		return min(p.Messages/warmUpPart, warmUpMax)
	case p.Rate > 0:
		return min(int64(p.Rate/warmUpPart), warmUpMax)
	default:
		return 1000
	}
}

// open makes the connections and subscriptions. When it returns, the server has
// seen every subscription.
func (f *flow) open(ctx context.Context, t topology) error {
	var err error
	if f.subConns, err = f.connectAll(ctx, t.conns, t.listening...); err != nil {
		return err
	}
	for _, plans := range t.groups {
		group := make([]*listener, 0, len(plans))
		for _, plan := range plans {
			l := newListener(f.session, plan)
			if err := l.subscribe(f.subConns[plan.conn], plan); err != nil {
				return err
			}
			group = append(group, l)
		}
		f.groups = append(f.groups, group)
	}
	for _, nc := range f.subConns {
		if err := f.flush(ctx, nc); err != nil {
			return err
		}
	}
	options := slices.Clone(t.publishing)
	if f.params.Rate > 0 {
		// Every message is written by the publisher itself, not by nats.go's
		// flusher, whose wake-up would be part of the latency.
		options = append(options, nats.WriteBufferSize(1))
	}
	for i, plan := range t.publishers {
		nc, err := f.connect(ctx, options...)
		if err != nil {
			return err
		}
		f.publishers = append(f.publishers, newPublisher(f.session, nc, uint32(i), plan))
	}
	return nil
}

// flushWait is the deadline that nats.go insists on; the watchdog comes first.
const flushWait = time.Hour

// flush returns when the server has handled all that was sent on a connection.
func (s *session) flush(ctx context.Context, nc *nats.Conn) error {
	limited, cancel := context.WithTimeout(ctx, flushWait)
	defer cancel()
	if err := nc.FlushWithContext(limited); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// measured is the phase that counts.
func (f *flow) measured(ctx context.Context) error {
	for _, l := range f.listeners() {
		l.restart()
	}
	published, delivered := f.published.Load(), f.delivered()
	f.begin()
	var until time.Time
	if f.params.Duration > 0 {
		until = f.measure.begun.Add(f.params.Duration)
	}
	err := f.phase(ctx, f.params.Messages, until)
	f.end(f.published.Load()-published, f.delivered()-delivered)
	return err
}

// phase sends n messages over all publishers (0 with a deadline: until then),
// and returns when the server has taken the last of them and every delivery has
// arrived.
func (f *flow) phase(ctx context.Context, n int64, until time.Time) error {
	if n == 0 && until.IsZero() {
		return nil
	}
	start := time.Now()
	errs := make([]error, len(f.publishers))
	var group sync.WaitGroup
	for i, p := range f.publishers {
		share := n / int64(len(f.publishers))
		if int64(i) < n%int64(len(f.publishers)) {
			share++
		}
		if n > 0 && share == 0 {
			continue
		}
		group.Go(func() {
			errs[i] = p.send(ctx, f, sending{count: share, until: until, start: start, index: i})
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return f.waitFor(ctx, func() bool { return f.delivered() >= f.published.Load()*int64(f.fan) })
}

// settle adds up what the listeners found. After an interruption messages may
// be on their way, so that losses are not judged.
func (f *flow) settle(err error) {
	var sent map[uint32]uint64
	if !interrupted(err) {
		sent = make(map[uint32]uint64, len(f.publishers))
		for _, p := range f.publishers {
			sent[p.id] = p.next
		}
	}
	for _, group := range f.groups {
		f.measure.settle(sent, group)
	}
}

// settle joins the verdict and the latencies of one group of listeners.
func (m *measurement) settle(sent map[uint32]uint64, group []*listener) {
	verifiers := make([]*verify.Verifier, 0, len(group))
	for _, l := range group {
		verifier, latency := l.detach()
		if verifier != nil {
			verifiers = append(verifiers, verifier)
		}
		m.addLatency(latency)
	}
	if len(verifiers) > 0 {
		m.tally.Add(verify.Settle(sent, verifiers...))
	}
}

// addLatency merges a recorder, if there is one.
func (m *measurement) addLatency(r *Recorder) {
	if r == nil {
		return
	}
	if m.latency == nil {
		m.latency = NewRecorder()
	}
	m.latency.Merge(r)
}

// listeners lists the listeners of all groups.
func (f *flow) listeners() []*listener {
	var all []*listener
	for _, group := range f.groups {
		all = append(all, group...)
	}
	return all
}
