package bench

import (
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// pendingBytes bounds what one subscription may hold that it has not handled.
const pendingBytes = 1 << 30

// listener receives and checks the deliveries of one subscription.
type listener struct {
	clock   clock
	counter *counter
	timed   bool // the stamps' due times can be trusted without verification
	literal string
	header  nats.Header

	mu       sync.Mutex // guards what follows; hardly ever contended
	verifier *Verifier  // nil when deliveries are only counted
	latency  *Recorder  // nil until a message with a due time comes
}

// newListener makes the listener of a plan.
func newListener(s *session, plan listenerPlan) *listener {
	l := &listener{clock: s.clock, counter: s.newCounter(), timed: s.params.Rate > 0, header: plan.header}
	if !strings.ContainsAny(plan.pattern, "*>") {
		l.literal = plan.pattern
	}
	if !s.target.Verify {
		return l
	}
	name := fmt.Sprintf("subscriber %d", plan.conn)
	if plan.lanes == nil {
		l.verifier = NewLearningVerifier(name)
	} else {
		l.verifier = NewVerifier(name, plan.lanes...)
	}
	return l
}

// subscribe starts the deliveries.
func (l *listener) subscribe(nc *nats.Conn, plan listenerPlan) error {
	sub, err := nc.QueueSubscribe(plan.pattern, plan.queue, l.receive)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", plan.pattern, err)
	}
	// The window keeps what waits far below this; only a publisher elsewhere that
	// nothing holds back can reach it.
	if err := sub.SetPendingLimits(-1, pendingBytes); err != nil {
		return fmt.Errorf("subscribe to %s: %w", plan.pattern, err)
	}
	return nil
}

// receive handles one delivery.
func (l *listener) receive(m *nats.Msg) {
	l.check(m)
	// Counted last: who sees the count finds the delivery checked.
	l.counter.n.Add(1)
}

// check verifies one delivery and notes its latency.
func (l *listener) check(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var stamp Stamp
	switch {
	case l.verifier != nil:
		var ok bool
		if stamp, ok = l.verifier.Observe(m.Data); !ok {
			return
		}
		if l.literal != "" && m.Subject != l.literal {
			l.verifier.foreign(stamp)
		}
		l.checkHeader(m)
	case l.timed && len(m.Data) >= StampBytes:
		stamp = decodeStamp(m.Data)
	}
	if stamp.Due == 0 {
		return
	}
	if l.latency == nil {
		l.latency = NewRecorder()
	}
	l.latency.Record(l.clock.since(stamp.Due))
}

// checkHeader compares the header with what was sent.
func (l *listener) checkHeader(m *nats.Msg) {
	for key, values := range l.header {
		if got := m.Header.Get(key); got != values[0] {
			l.verifier.CorruptHeader(fmt.Sprintf("%s is %q, %q was sent", key, got, values[0]))
			return
		}
	}
}

// restart forgets the latencies of the warm-up.
func (l *listener) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency = nil
}

// detach takes out what was found. Deliveries that come later change nothing.
func (l *listener) detach() (*Verifier, *Recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	verifier, latency := l.verifier, l.latency
	l.verifier, l.latency, l.timed = nil, nil, false
	return verifier, latency
}
