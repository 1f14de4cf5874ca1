package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
)

// errNoResponder is the server's answer that nobody serves the subject.
var errNoResponder = errors.New("the server says that nobody serves the requests' subject")

// requester sends requests with unique reply subjects and receives the replies
// through one wildcard subscription, as client libraries do. A reply echoes the
// request's payload, so its stamp says which request it answers and when that
// was due.
//
// Without a rate the handler of a reply sends the next request at once, so that
// no change of goroutine enters the latency.
type requester struct {
	session *session
	conn    *nats.Conn
	subject string
	inbox   string // prefix of the reply subjects
	counter *counter
	slots   chan struct{} // paced only: room for requests in flight

	mu       sync.Mutex // guards what follows
	payload  *verify.Payload
	next     uint64 // sequence of the next request
	limit    uint64 // requests up to this one may be sent
	until    time.Time
	verifier *verify.Verifier
	latency  *Recorder
}

// runRequest measures round trips.
func runRequest(ctx context.Context, s *session) error {
	responders, err := s.openResponders(ctx)
	if err != nil {
		return err
	}
	requesters, err := s.openRequesters(ctx)
	if err != nil {
		return err
	}
	warm := s.warmUp()
	s.total.Store(s.params.Messages + warm)
	err = s.requestPhase(ctx, requesters, warm, time.Time{})
	if err == nil {
		err = s.measureRequests(ctx, requesters)
	}
	if err == nil {
		err = s.awaitReplies(ctx, responders, requesters)
	}
	for _, r := range requesters {
		r.settle(err)
	}
	return err
}

// awaitReplies returns when every request has been answered that will be. A
// reply too many counts like any other until the verdict, so that there may be
// requests on their way when as many replies have come as were awaited.
func (s *session) awaitReplies(ctx context.Context, responders []*nats.Conn, requesters []*requester) error {
	conns := make([]*nats.Conn, len(requesters))
	for i, r := range requesters {
		conns[i] = r.conn
	}
	// The requests to the responders, and their replies back.
	for _, hop := range [][]*nats.Conn{conns, responders, responders, conns} {
		if err := s.quiesce(ctx, hop); err != nil {
			return err
		}
	}
	return nil
}

// openResponders connects those who answer.
func (s *session) openResponders(ctx context.Context) ([]*nats.Conn, error) {
	responders, err := s.connectAll(ctx, s.params.Subscribers)
	if err != nil {
		return nil, err
	}
	for _, nc := range responders {
		if _, err := nc.QueueSubscribe(s.prefix, "workers", s.respond); err != nil {
			return nil, fmt.Errorf("serve requests: %w", err)
		}
		if err := s.flush(ctx, nc); err != nil {
			return nil, err
		}
	}
	return responders, nil
}

// openRequesters connects those who ask.
func (s *session) openRequesters(ctx context.Context) ([]*requester, error) {
	requesters := make([]*requester, 0, s.params.Publishers)
	for i := range s.params.Publishers {
		r, err := s.newRequester(ctx, i)
		if err != nil {
			return nil, err
		}
		requesters = append(requesters, r)
	}
	return requesters, nil
}

// respond answers a request with its own payload.
func (s *session) respond(m *nats.Msg) {
	if err := m.Respond(m.Data); err != nil {
		s.fail(fmt.Errorf("responder: %w", err))
	}
}

// newRequester connects one requester and its inbox.
func (s *session) newRequester(ctx context.Context, index int) (*requester, error) {
	nc, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	id := uint32(index)
	r := &requester{
		session:  s,
		conn:     nc,
		subject:  s.prefix,
		inbox:    nc.NewInbox() + ".",
		counter:  s.newCounter(),
		payload:  verify.NewPayload(max(s.params.SizeBytes, verify.StampBytes), id),
		verifier: verify.NewVerifier(fmt.Sprintf("requester %d", index), verify.Lane{Publisher: id, Stride: 1}),
		latency:  NewRecorder(),
	}
	// Several responders may overtake each other.
	r.verifier.AllowOvertaking()
	if s.params.Rate > 0 {
		r.slots = make(chan struct{}, s.params.Inflight)
	}
	if _, err := nc.Subscribe(r.inbox+"*", r.receive); err != nil {
		return nil, fmt.Errorf("subscribe to replies: %w", err)
	}
	return r, s.flush(ctx, nc)
}

// measureRequests is the phase that counts.
func (s *session) measureRequests(ctx context.Context, requesters []*requester) error {
	for _, r := range requesters {
		r.restart()
	}
	before := s.delivered()
	s.begin()
	var until time.Time
	if s.params.Duration > 0 {
		until = s.measure.begun.Add(s.params.Duration)
	}
	err := s.requestPhase(ctx, requesters, s.params.Messages, until)
	done := s.delivered() - before
	s.end(done, done)
	return err
}

// requestPhase makes n round trips over all requesters (0 with a deadline:
// until then).
func (s *session) requestPhase(ctx context.Context, requesters []*requester, n int64, until time.Time) error {
	if n == 0 && until.IsZero() {
		return nil
	}
	begun := time.Now()
	errs := make([]error, len(requesters))
	var group sync.WaitGroup
	for i, r := range requesters {
		share := n / int64(len(requesters))
		if int64(i) < n%int64(len(requesters)) {
			share++
		}
		r.allow(share, until)
		group.Go(func() {
			if s.params.Rate > 0 {
				errs[i] = r.sendPaced(ctx, newSpread(begun, s.params.Rate, i, len(requesters)))
			} else {
				errs[i] = r.fill()
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
	return s.waitFor(ctx, func() bool {
		for _, r := range requesters {
			if !r.idle() {
				return false
			}
		}
		return true
	})
}

// allow lets n more requests be sent (0: as many as fit until the deadline).
func (r *requester) allow(n int64, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit, r.until = r.next+uint64(n), until
	if n == 0 && !until.IsZero() {
		r.limit = verify.MaxSequence
	}
}

// fill sends the first requests; their replies send the rest.
func (r *requester) fill() error {
	for range r.session.params.Inflight {
		r.mu.Lock()
		_, err := r.send(time.Now())
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// sendPaced sends each request when it is due. Waiting for room among those in
// flight does not move the plan and so counts as latency.
func (r *requester) sendPaced(ctx context.Context, plan spread) error {
	lockPreciseTimer()
	for i := uint64(0); ; i++ {
		due := plan.due(i)
		if err := sleepUntil(ctx, due); err != nil {
			return context.Cause(ctx)
		}
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.mu.Lock()
		more, err := r.send(due)
		r.mu.Unlock()
		if err != nil || !more {
			<-r.slots
			return err
		}
	}
}

// send sends the next request if one is left, and reports whether. r.mu is held.
func (r *requester) send(due time.Time) (bool, error) {
	if r.next >= r.limit || !r.until.IsZero() && due.After(r.until) {
		// What was not sent is not awaited.
		r.limit = r.next
		return false, nil
	}
	reply := r.inbox + strconv.FormatUint(r.next, 36)
	data := r.payload.Stamped(r.next, r.session.clock.ticks(due))
	r.next++
	r.session.published.Add(1)
	if err := r.conn.PublishRequest(r.subject, reply, data); err != nil {
		return false, fmt.Errorf("requester %d: %w", r.payload.Publisher(), err)
	}
	return true, nil
}

// receive handles one reply.
func (r *requester) receive(m *nats.Msg) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		r.session.fail(errNoResponder)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check(m)
	if r.slots != nil {
		select {
		case <-r.slots:
		default: // a reply too many, which the verifier has counted
		}
	} else if _, err := r.send(time.Now()); err != nil {
		r.session.fail(err)
	}
	r.counter.n.Add(1)
}

// check verifies a reply against its request. r.mu is held.
func (r *requester) check(m *nats.Msg) {
	if r.verifier == nil {
		return
	}
	stamp, ok := r.verifier.Observe(m.Data)
	if !ok {
		return
	}
	if m.Subject != r.inbox+strconv.FormatUint(stamp.Sequence, 36) {
		r.verifier.Foreign(stamp)
	}
	r.latency.Record(r.session.clock.since(stamp.Due))
}

// idle reports whether nothing is left to send and nothing is in flight.
func (r *requester) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next >= r.limit && uint64(r.counter.n.Load()) >= r.next
}

// restart forgets the latencies of the warm-up.
func (r *requester) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latency.Reset()
}

// settle takes the verdict and the latencies out.
func (r *requester) settle(err error) {
	r.mu.Lock()
	verifier, sent := r.verifier, map[uint32]uint64{r.payload.Publisher(): r.next}
	r.verifier = nil
	r.mu.Unlock()
	m := &r.session.measure
	m.addLatency(r.latency)
	if interrupted(err) {
		sent = nil
	}
	if r.session.target.Verify {
		m.tally.Add(verify.Settle(sent, verifier))
	}
}
