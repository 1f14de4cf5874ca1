package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
)

// ErrStalled is why a run was given up: nothing moved for Target.Stall.
var ErrStalled = errors.New("stalled")

// Target is the server that a case runs against, and how.
type Target struct {
	// URL is where the server listens; several are separated by commas.
	URL string
	// Options are added to every connection (credentials, TLS).
	Options []nats.Option
	// Verify checks every delivery; without it only their number counts.
	Verify bool
	// PID is the server's process on this machine; 0 when it is not known.
	PID int
	// Stall is how long nothing may move before the run is given up; 0 means
	// DefaultStall.
	Stall time.Duration
	// Subject is the first token (or tokens) of every subject used; empty means
	// DefaultSubject. pub and sub use it as it is.
	Subject string
	// Progress receives a progress bar for a terminal; nil for none.
	Progress io.Writer
}

const (
	// DefaultStall is the patience of a Target that states none.
	DefaultStall = 10 * time.Second
	// DefaultSubject is the subject prefix of a Target that states none.
	DefaultSubject = "bench"
	// watchInterval is how often progress, memory and stalling are looked at.
	watchInterval = 100 * time.Millisecond
	// pollInterval is how often a waiting phase looks whether it is over.
	pollInterval = time.Millisecond
)

// session is one run of one case: its connections, its watchdog and what was
// measured. The goroutines of a scenario stop when ctx, given to them by Run,
// is done; the first failure becomes its cause.
type session struct {
	target  Target
	params  Params
	name    string
	prefix  string // unique to the run, so that two runs do not meet
	fan     int    // deliveries of one message
	limited bool   // a payload is a message, and so not larger than the server allows
	clock   clock

	fail context.CancelCauseFunc

	mu       sync.Mutex // guards sockets, conns, counters and measure.server
	sockets  []net.Conn
	conns    []*nats.Conn
	counters []*counter // the deliveries of each subscription

	// published counts messages, requests or connections so far, warm-up
	// included. The watchdog looks at it and at the counters.
	published atomic.Int64
	opened    atomic.Int64 // connections
	total     atomic.Int64 // published when all is done; 0 if that is not known
	patient   atomic.Bool  // the watchdog does not call silence a stall

	measure measurement
}

// counter counts the deliveries of one subscription on a cache line of its own.
type counter struct {
	n atomic.Int64
	_ [56]byte
}

// measurement is what a scenario leaves behind for the Result.
type measurement struct {
	server     string // name and version
	begun      time.Time
	seconds    float64
	messages   int64
	deliveries int64
	cpu        time.Duration
	measured   bool // cpu and memory are known
	before     Usage
	rssPeak    atomic.Int64
	latency    *Recorder
	tally      verify.Tally
}

// Run carries the case out and returns what it measured, also when it failed or
// was interrupted by its caller; Result.Error and Result.Partial tell. It ends by
// itself, and closes all that it opened.
func (c Case) Run(caller context.Context, target Target) Result {
	s, err := c.open(target)
	if err != nil {
		return s.result(c, err)
	}
	ctx, fail := context.WithCancelCause(caller)
	defer fail(nil)
	s.fail = fail
	var watch sync.WaitGroup
	watchCtx, stopWatch := context.WithCancel(ctx)
	watch.Go(func() { s.watch(watchCtx) })
	// A publisher that is blocked in a write sees no context: cut its socket.
	stopCut := context.AfterFunc(ctx, s.cut)
	err = c.Scenario.run(ctx, s)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	if caller.Err() != nil {
		// Ctrl-C may reach a server that we started before it reaches us.
		err = caller.Err()
	}
	if c.Scenario.advise != nil {
		err = c.Scenario.advise(err)
	}
	stopCut()
	stopWatch()
	watch.Wait()
	s.close()
	return s.result(c, err)
}

// open checks the case against the target and fills in its defaults.
func (c Case) open(target Target) (*session, error) {
	if target.Stall == 0 {
		target.Stall = DefaultStall
	}
	if target.Subject == "" {
		target.Subject = DefaultSubject
	}
	s := &session{
		target:  target,
		params:  c.Params,
		name:    c.Name,
		prefix:  target.Subject + "." + runToken(),
		fan:     c.Scenario.fan(c.Params),
		limited: !c.Scenario.chunked,
		clock:   newClock(),
	}
	s.measure.begun = s.clock.base
	if size := c.Params.SizeBytes; size > 0 && size < verify.StampBytes && (target.Verify || c.Params.Rate > 0) {
		return s, fmt.Errorf("a payload of %d bytes has no room for the stamp of %d that verification and send times need: use a larger size, or switch verification and rate off", size, verify.StampBytes)
	}
	return s, nil
}

// runToken returns a subject token that no other run has.
func runToken() string {
	inbox := nats.NewInbox()
	return inbox[len(nats.InboxPrefix):]
}

// Dial opens the socket of a connection and remembers it, so that it can be cut
// while a write is blocked. It makes the session a nats.CustomDialer.
func (s *session) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, nats.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = append(s.sockets, conn)
	return conn, nil
}

// connect opens one connection. Whatever goes wrong on it later ends the run.
func (s *session) connect(ctx context.Context, options ...nats.Option) (*nats.Conn, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	base := []nats.Option{
		nats.Name("runnel bench " + s.name),
		nats.NoReconnect(),
		nats.SetCustomDialer(s),
		nats.FlusherTimeout(s.target.Stall),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.reported(err) }),
		nats.ClosedHandler(func(nc *nats.Conn) { s.closed(nc) }),
	}
	nc, err := nats.Connect(s.target.URL, append(append(base, s.target.Options...), options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", redacted(s.target.URL), err)
	}
	s.opened.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, nc)
	if s.measure.server == "" {
		s.measure.server = nc.ConnectedServerName() + " " + nc.ConnectedServerVersion()
	}
	return nc, s.fits(nc)
}

// redacted hides the credentials that a list of URLs may hold.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, text := range list {
		if at := strings.LastIndexByte(text, '@'); at >= 0 {
			scheme, _, found := strings.Cut(text[:at], "://")
			if found {
				list[i] = scheme + "://***@" + text[at+1:]
			} else {
				list[i] = "***@" + text[at+1:]
			}
		}
	}
	return strings.Join(list, ",")
}

// fits checks the payload against the server's limit.
func (s *session) fits(nc *nats.Conn) error {
	if limit := nc.MaxPayload(); s.limited && limit > 0 && int64(s.params.SizeBytes) > limit {
		return fmt.Errorf("a payload of %d bytes exceeds the server's max_payload of %d", s.params.SizeBytes, limit)
	}
	return nil
}

// reported ends the run for what a client says of its connection. One that is
// lost may be reported as the write that has failed, before it is closed.
func (s *session) reported(err error) {
	var network *net.OpError
	if errors.As(err, &network) {
		err = fmt.Errorf("connection lost: %w", err)
	}
	s.fail(err)
}

// closed ends the run when a connection closes; close makes that harmless by
// cancelling first.
func (s *session) closed(nc *nats.Conn) {
	err := nc.LastError()
	if err == nil {
		err = errors.New("closed by the server")
	}
	s.fail(fmt.Errorf("connection lost: %w", err))
}

// connectAll opens n connections.
func (s *session) connectAll(ctx context.Context, n int, options ...nats.Option) ([]*nats.Conn, error) {
	conns := make([]*nats.Conn, 0, n)
	for range n {
		nc, err := s.connect(ctx, options...)
		if err != nil {
			return nil, err
		}
		conns = append(conns, nc)
	}
	return conns, nil
}

// cut closes the sockets under the connections.
func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, socket := range s.sockets {
		_ = socket.Close() // the other end may have closed it before
	}
}

// close ends all connections.
func (s *session) close() {
	s.fail(nil)
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	for _, nc := range conns {
		nc.Close()
	}
}

// delivered is the number of all deliveries so far.
func (s *session) delivered() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for _, c := range s.counters {
		sum += c.n.Load()
	}
	return sum
}

// newCounter adds a counter.
func (s *session) newCounter() *counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &counter{}
	s.counters = append(s.counters, c)
	return c
}

// begin starts the measured phase.
func (s *session) begin() {
	if s.target.PID != 0 {
		if usage, err := ReadUsage(s.target.PID); err == nil {
			s.measure.before, s.measure.measured = usage, true
			s.measure.rssPeak.Store(usage.RSSBytes)
		} else if !errors.Is(err, ErrNotMeasured) {
			s.fail(fmt.Errorf("read the server's usage: %w", err))
		}
	}
	s.measure.begun = time.Now()
}

// end finishes the measured phase.
func (s *session) end(messages, deliveries int64) {
	s.measure.seconds = time.Since(s.measure.begun).Seconds()
	s.measure.messages, s.measure.deliveries = messages, deliveries
	if !s.measure.measured {
		return
	}
	usage, err := ReadUsage(s.target.PID)
	if err != nil {
		s.measure.measured = false
		s.fail(fmt.Errorf("read the server's usage: %w", err))
		return
	}
	s.measure.cpu = usage.CPUSince(s.measure.before)
	s.notePeak(usage.RSSBytes)
}

// notePeak keeps the highest memory seen.
func (s *session) notePeak(rss int64) {
	for {
		peak := s.measure.rssPeak.Load()
		if rss <= peak || s.measure.rssPeak.CompareAndSwap(peak, rss) {
			return
		}
	}
}

// waitFor polls until done says so, or the run ends.
func (s *session) waitFor(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return nil
}

// quiesce returns when nothing more can come over the connections: the server has
// answered a PING on each, and what arrived before the answer was handled.
func (s *session) quiesce(ctx context.Context, conns []*nats.Conn) error {
	for _, nc := range conns {
		if err := s.flush(ctx, nc); err != nil {
			return err
		}
		handled := make(chan struct{})
		if err := nc.Barrier(func() { close(handled) }); err != nil {
			return fmt.Errorf("wait for the last deliveries: %w", err)
		}
		select {
		case <-handled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// interrupted reports whether a run ended because its caller wanted it to.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
