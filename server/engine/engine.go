package engine

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/interest"
	"runnel/server/engine/intern"
	"runnel/server/engine/lines"
	"runnel/server/engine/outbound"
	"runnel/server/engine/replies"
	"runnel/server/msgtrace"
	"runnel/server/wire"
)

// Settings may change while the server runs. A value is immutable once it was given to the engine.
type Settings struct {
	MaxPayloadBytes       int // of one message, header block included
	MaxControlLineBytes   int
	MaxPendingBytes       int // that may wait for one connection
	MaxSubscriptions      int // of one connection; 0: no limit
	MaxSubscriptionTokens int // of a subscription's subject; 0: no limit
	PingInterval          time.Duration
	PingMax               int           // PINGs that may be unanswered
	WriteDeadline         time.Duration // without progress while something waits
	AuthTimeout           time.Duration // until an accepted CONNECT, where one is required
	NoHeaders             bool          // headers are not supported
	NoStall               bool          // never park a publisher for a slow subscriber
	Trace                 bool          // log each protocol operation
	TraceHeaders          bool          // of messages with headers log those only
	MaxTracedBytes        int           // of a message; 0: all
}

// Handler decides what the engine does not: who may in, and what they are told.
type Handler interface {
	// Authenticate says who the client is. An error refuses it; see [Refusal]. It is called on a
	// goroutine of its own when MayBlock says so, else on the worker, where it must not block.
	Authenticate(c *Conn, o *wire.Connect) (*accounts.Identity, error)
	// MayBlock tells whether Authenticate would take long for this request.
	MayBlock(c *Conn, o *wire.Connect) bool
	// Admit is called on the worker that reads c before c becomes a connection of id; an error refuses it
	// as one of Authenticate does. It must not block.
	Admit(c *Conn, id *accounts.Identity) error
	// Bound is called on the worker after c was bound to an identity, which may be outdated by then. It must
	// not block.
	Bound(c *Conn)
	// AuthRequired tells whether a client that says nothing is cut off after AuthTimeout.
	AuthRequired(c *Conn) bool
	// Info is what c is to be told about the server; the caller may change the copy.
	Info(c *Conn) wire.Info
	// Connected is called when c's first CONNECT was accepted. It must not block.
	Connected(c *Conn)
	// Closed is called once when c is gone; c.Reason says why. It must not block.
	Closed(c *Conn)
}

// Config is what an engine needs.
type Config struct {
	Handler  Handler
	Logger   *slog.Logger
	Settings Settings
	// Traced is called when it is known what has become of a message whose way is to be told on destination in
	// account a: on a worker, or on whoever's goroutine has taken it last. It must not block. Without it no way is told.
	Traced func(a *accounts.Account, destination string, t *msgtrace.Trace)
	// Routes is how other servers are met; nil for a server alone.
	Routes *RouteConfig
	// ServerName is what services are told about the server of who asks.
	ServerName string
	// Pollers is the number of epoll threads for plain TCP; 0 uses a goroutine for each connection, as
	// does every system but Linux.
	Pollers int
}

const (
	pollerCache = 16384
	// A borrowed worker remembers few subjects at first, since it may be one of many, and more when it needs to.
	pooledCache     = 512
	pooledCacheMost = 8192
	// pooledWorkers is how many idle workers are kept for those who borrow one.
	pooledWorkers = 8
)

// Engine moves messages between the connections that it is given. Its methods are safe for concurrent use.
type Engine struct {
	handler    Handler
	logger     *slog.Logger
	serverName string
	settings   atomic.Pointer[Settings]
	scarcity   atomic.Pointer[Scarcity]
	// traced is Config's, nil when nobody tells the ways of messages.
	traced    func(*accounts.Account, string, *msgtrace.Trace)
	env       outbound.Env // its clock is renewed by housekeeping and by pollers once a batch
	names     intern.Table
	nextID    atomic.Uint64
	ended     atomic.Int64 // connections that are gone
	slow      slowCounters
	stalled   atomic.Int64
	announcer *interest.Announcer
	routing   *routing     // nil for a server alone
	requests  *requests    // to other accounts that wait for answers
	toldFar   atomic.Int64 // when tooFar was told last

	idle    chan *worker
	checks  chan struct{} // has an element for each check of credentials under way
	pollers []*lines.Poller
	running sync.WaitGroup
	stop    context.CancelFunc

	// mu guards what follows.
	mu         sync.Mutex
	lines      []*lines.Line // by slot; nil where free
	slots      []int32       // free slots
	byID       map[uint64]*Conn
	workers    []*totals // of the workers in use
	publishers []*Publisher
	retired    Counters // of those that are not
	closed     bool
}

// New starts an engine.
func New(cfg Config) (*Engine, error) {
	e := &Engine{
		handler:    cfg.Handler,
		logger:     cfg.Logger,
		traced:     cfg.Traced,
		serverName: cfg.ServerName,
		requests:   replies.New[*accounts.Account, question](openBounds),
		idle:       make(chan *worker, pooledWorkers),
		checks:     make(chan struct{}, max(1, runtime.NumCPU()/2)),
		byID:       make(map[uint64]*Conn),
		announcer:  interest.New(),
	}
	e.settings.Store(&cfg.Settings)
	e.scarcity.Store(&Scarcity{})
	e.env.Most = e.mostPending
	e.env.Clock.Store(time.Now().UnixNano())
	if cfg.Routes != nil {
		x, err := newRouting(e, cfg.Routes)
		if err != nil {
			return nil, err
		}
		e.routing = x
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	e.running.Go(func() { e.housekeeping(ctx) })
	e.running.Go(func() { e.announcer.Run(ctx) })
	if err := e.startPollers(cfg.Pollers); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// DefaultPollers is half the cores, at least 1: few threads coalesce more work into each system call.
func DefaultPollers() int { return max(1, runtime.NumCPU()/2) }

// SetSettings replaces the settings; connections follow with their next batch.
func (e *Engine) SetSettings(s Settings) { e.settings.Store(&s) }

// Settings returns the settings in force.
func (e *Engine) Settings() Settings { return *e.settings.Load() }

// Close ends all connections without draining them and returns when every goroutine of the engine is gone.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	for _, l := range e.open() {
		l.End(ReasonShutdown, nil, true)
	}
	for _, l := range e.open() {
		l.End(ReasonShutdown, nil, false)
	}
	e.stop()
	for _, p := range e.pollers {
		p.Stop()
	}
	e.running.Wait()
	e.closePollers()
}

// borrow takes a worker from the pool.
func (e *Engine) borrow() *worker {
	select {
	case w := <-e.idle:
		return w
	default:
		w := e.makeWorker(pooledCache)
		w.match.most = pooledCacheMost
		return w
	}
}

func (e *Engine) makeWorker(cacheSize int) *worker {
	w := newWorker(e, cacheSize)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers = append(e.workers, &w.totals)
	return w
}

// giveBack returns a worker, flushed, to the pool.
func (e *Engine) giveBack(w *worker) {
	w.rest()
	w.maybeSweep()
	select {
	case e.idle <- w:
	default:
		e.retire(&w.totals)
	}
}

// retire folds the counters of a worker that nobody will use again into those of the first.
func (e *Engine) retire(t *totals) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, other := range e.workers {
		if other == t {
			e.workers = append(e.workers[:i], e.workers[i+1:]...)
			break
		}
	}
	e.retired.InMessages += t.inMessages.Load()
	e.retired.InBytes += t.inBytes.Load()
	e.retired.OutMessages += t.outMessages.Load()
	e.retired.OutBytes += t.outBytes.Load()
}

// WatchInterest calls changed with whether anybody subscribed to a literal subject in account a, or to what other
// accounts have imported it as, as [interest.Announcer.Watch] does: that imports have come or gone is seen at the next
// tick of housekeeping. changed may use the engine.
func (e *Engine) WatchInterest(a *accounts.Account, subject, queue string, changed func(bool)) (cancel func()) {
	return e.announcer.Watch(a, subject, queue, changed)
}

// Counters returns the traffic of all connections, also of those that are gone.
func (e *Engine) Counters() Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	sum := e.retired
	for _, t := range e.workers {
		sum.InMessages += t.inMessages.Load()
		sum.InBytes += t.inBytes.Load()
		sum.OutMessages += t.outMessages.Load()
		sum.OutBytes += t.outBytes.Load()
	}
	return sum
}

// Serve runs the connection on nc, whose INFO was written already or is to be written first (info), until it
// ends. It returns at once.
func (e *Engine) Serve(c *Conn, nc net.Conn, info *wire.Info) {
	if !e.enter() {
		_ = nc.Close() // the server is going down; nobody was told anything yet
		return
	}
	defer e.running.Done()
	var first []byte
	if info != nil {
		first = info.Append(nil)
	}
	c.line.Serve(nc, first, e.pollers)
}

// NewConn makes a connection that is not served yet, so that its INFO can be written and its TLS handshake
// done first. Give it to Serve, or forget it.
func (e *Engine) NewConn(m *Meta) *Conn {
	c := &Conn{engine: e, meta: m}
	c.line.Open(host{e}, &e.env, e.nextID.Add(1), (*client)(c), m.Start, 0)
	c.flags.Store(uint32(defaultFlags))
	return c
}

// enter tells whether connections are still taken. If so, Close waits until the caller has called running.Done.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.running.Add(1)
	return true
}

// register gives l a slot. It fails when the engine is closed.
func (e *Engine) register(l *lines.Line) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	if n := len(e.slots); n > 0 {
		l.Slot = e.slots[n-1]
		e.slots = e.slots[:n-1]
		e.lines[l.Slot] = l
	} else {
		l.Slot = int32(len(e.lines))
		e.lines = append(e.lines, l)
	}
	if c, ok := l.User().(*client); ok {
		e.byID[l.ID()] = c.conn()
	}
	return true
}

// forget is the last thing that happens to a line.
func (e *Engine) forget(l *lines.Line) {
	e.mu.Lock()
	e.lines[l.Slot] = nil
	e.slots = append(e.slots, l.Slot)
	delete(e.byID, l.ID())
	e.mu.Unlock()
	e.ended.Add(1)
}

// open returns the lines that are served now.
func (e *Engine) open() []*lines.Line {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*lines.Line, 0, len(e.lines)-len(e.slots))
	for _, l := range e.lines {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// Conns returns the connections that are served now.
func (e *Engine) Conns() []*Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*Conn, 0, len(e.byID))
	for _, l := range e.lines {
		if l == nil {
			continue
		}
		if c, ok := l.User().(*client); ok {
			all = append(all, c.conn())
		}
	}
	return all
}

// Conn returns the connection with that id, nil when it is not served.
func (e *Engine) Conn(id uint64) *Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byID[id]
}

// ConnCount is how many connections are served now.
func (e *Engine) ConnCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.byID)
}

// slowCounters count connections that were cut off as slow consumers, by kind.
type slowCounters struct{ pending, deadline atomic.Int64 }

// SlowConsumers is how many connections were cut off because they did not read fast enough.
func (e *Engine) SlowConsumers() int64 { return e.slow.pending.Load() + e.slow.deadline.Load() }

// Stalled is how often a publisher was paused for a slow subscriber.
func (e *Engine) Stalled() int64 { return e.stalled.Load() }

// slowConsumer cuts a line off. sub is the subscription that was delivered to last, nil when not known. Whoever finds out has
// others to serve, so what it has subscribed to is removed by its own reader, which ends now.
func (e *Engine) slowConsumer(l *lines.Line, reason Reason, sub *accounts.Subscription) {
	if !l.Mark(reason) {
		l.Cut() // it was ending already, perhaps for the same reason
		return
	}
	counter := &e.slow.pending
	if reason == ReasonSlowDeadline {
		counter = &e.slow.deadline
	}
	counter.Add(1)
	u := userOf(l)
	if a := u.Account(); a != nil {
		a.Traffic.SlowConsumers.Add(1)
	}
	args := append(u.describe(), "reason", reason.String(), "pending_bytes", l.PendingBytes())
	if sub != nil {
		args = append(args, "subject", sub.Subject, "sid", sub.SID)
	}
	e.logger.Warn("slow consumer", args...)
	l.Cut()
}
