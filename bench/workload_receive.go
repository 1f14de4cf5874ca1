package bench

import (
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
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

	mu       sync.Mutex       // guards what follows; hardly ever contended
	verifier *verify.Verifier // nil when deliveries are only counted
	latency  *Recorder        // nil until a message with a due time comes
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
		l.verifier = verify.NewLearningVerifier(name)
	} else {
		l.verifier = verify.NewVerifier(name, plan.lanes...)
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
	stamp, ok := l.observe(m.Subject, m.Data)
	if ok && l.verifier != nil {
		l.checkHeader(m)
	}
	l.note(stamp)
}

// read handles what was read from a stream.
func (l *listener) read(subject string, data []byte) {
	l.mu.Lock()
	stamp, _ := l.observe(subject, data)
	l.note(stamp)
	l.mu.Unlock()
	l.counter.n.Add(1)
}

// observe verifies a payload and its subject. Without a trusted stamp it returns false. l.mu is
// held.
func (l *listener) observe(subject string, data []byte) (verify.Stamp, bool) {
	switch {
	case l.verifier != nil:
		stamp, ok := l.verifier.Observe(data)
		if !ok {
			return verify.Stamp{}, false
		}
		if l.literal != "" && subject != l.literal {
			l.verifier.Foreign(stamp)
		}
		return stamp, true
	case l.timed && len(data) >= verify.StampBytes:
		return verify.DecodeStamp(data), true
	}
	return verify.Stamp{}, false
}

// note notes how long ago a message was due, if it says so. l.mu is held.
func (l *listener) note(stamp verify.Stamp) {
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
func (l *listener) detach() (*verify.Verifier, *Recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	verifier, latency := l.verifier, l.latency
	l.verifier, l.latency, l.timed = nil, nil, false
	return verifier, latency
}
