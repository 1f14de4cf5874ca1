package delivery

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/jetstream/api"
)

// Outlet stages messages and writes them with Flush, or earlier; *engine.Publisher is one. One goroutine uses it at a
// time. Headers and payloads stay unchanged until Flush.
type Outlet interface {
	// Publish sends a message to the subscribers of its subject, and returns how many get it.
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	// Deliver sends a message to the subscribers of `to`, with a queue to one member of that group, who see it as
	// published on subject. It returns how many get it.
	Deliver(a *accounts.Account, to, queue, subject, reply string, header, payload []byte) int
	// Blocked tells whether those to whom Deliver would send have too much waiting. If so, w is woken when that
	// is over.
	Blocked(a *accounts.Account, to, queue string, w interface{ Wake() }) bool
	Flush()
	Close()
}

// Config says how a Pool works. Outlet, Watch and Events are required.
type Config struct {
	Workers int           // consumers that are served at the same time; default GOMAXPROCS
	Outlet  func() Outlet // each worker has one
	// Watch calls changed when a subject gets its first subscriber or loses its last one, and at once; with a queue
	// only members of that group count.
	Watch  func(a *accounts.Account, subject, queue string, changed func(bool)) (cancel func())
	Events Events
	// Letters begins to hand over what consumers of a stream give up, by the time of the stream; default: nothing is handed
	// over.
	Letters func(s *Stream, log Log, now func() int64) Letters
	// Refuse has somebody told, unless others answer first, that nobody has taken an acknowledgement: the stream is not led here
	// any more. Default: nobody is told.
	Refuse func(a *accounts.Account, reply []byte)
	Logger *slog.Logger     // default: nothing is logged
	Clock  func() time.Time // default time.Now
	// Ticket returns a new random name, for what clients have to send back. It is safe for concurrent use; default
	// 22 characters of crypto/rand.
	Ticket func() string
}

// Pool is the workers that all deliveries share. Its methods may be called concurrently.
type Pool struct {
	cfg Config
	// never has ended: what gets it does not wait.
	never   context.Context
	boxes   sync.Pool // empty mailboxes
	working sync.WaitGroup
	held    atomic.Int64 // bytes, of all consumers

	mu          sync.Mutex // guards everything below, and the next of consumers
	first, last *consumer  // those that are ready, in the order in which they became so
	running     int
	resting     []*worker
	streams     map[*Stream]struct{}
	closed      bool
}

// New returns a pool without streams.
func New(cfg Config) *Pool {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Ticket == nil {
		cfg.Ticket = newTicket
	}
	never, cancel := context.WithCancel(context.Background())
	cancel()
	return &Pool{
		cfg: cfg, never: never, streams: make(map[*Stream]struct{}),
		boxes: sync.Pool{New: func() any { return &mailbox{} }},
	}
}

// Close ends all deliveries. Every waiting pull request gets 409 Server Shutdown. It returns when all is told.
func (p *Pool) Close() {
	for _, s := range p.shut() {
		s.end(api.StatusServerShutdown)
	}
	p.working.Wait()
	for _, w := range p.retire() {
		w.out.Close()
	}
}

// shut lets no stream be opened any more and returns those that are open.
func (p *Pool) shut() []*Stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var open []*Stream
	for s := range p.streams {
		open = append(open, s)
	}
	clear(p.streams)
	return open
}

// retire returns the workers, which nobody needs any more.
func (p *Pool) retire() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	workers := p.resting
	p.resting = nil
	return workers
}

// enter takes a stream in; it is false when the pool is closed.
func (p *Pool) enter(s *Stream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.streams[s] = struct{}{}
	return true
}

// leave forgets a stream.
func (p *Pool) leave(s *Stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.streams, s)
}

// enqueue gives a consumer a turn, after those that wait for theirs. It must not be in the queue.
func (p *Pool) enqueue(c *consumer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.first = c
	} else {
		p.last.next = c
	}
	p.last = c
	if p.running == p.cfg.Workers {
		return
	}
	p.running++
	w := &worker{pool: p}
	if n := len(p.resting); n > 0 {
		w = p.resting[n-1]
		p.resting = p.resting[:n-1]
	}
	p.working.Go(w.work)
}

// take returns who comes next, nil for nobody.
func (p *Pool) take() *consumer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takeLocked()
}

// takeOrRest is take for a worker that ends when there is nobody.
func (p *Pool) takeOrRest(w *worker) *consumer {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.takeLocked()
	if c == nil {
		p.running--
		p.resting = append(p.resting, w)
	}
	return c
}

func (p *Pool) takeLocked() *consumer {
	c := p.first
	if c == nil {
		return nil
	}
	p.first, c.next = c.next, nil
	if p.first == nil {
		p.last = nil
	}
	return c
}

// flushTurns and flushBytes are after how many turns, or bytes, a worker flushes although others are ready.
const (
	flushTurns = 16
	flushBytes = 128 << 10
)

// worker gives consumers their turns. What it has besides is used again from turn to turn.
type worker struct {
	pool  *Pool
	out   Outlet
	turns int             // since the last flush
	bytes int             // likewise
	told  []chan struct{} // to be closed after the next flush
	// settled are to be closed when everybody can see how the turns have ended.
	settled []chan struct{}
	// done are those whose turn has ended since the last flush. Until then nobody else gives them a turn: another worker
	// could flush what they send next before this one flushes what they sent first.
	done []ended
	turn turn
	text []byte
	ends []int
}

// ended is a consumer whose turn has ended, and how.
type ended struct {
	consumer *consumer
	shown    shown
	more     bool  // there is another turn
	served   int   // messages that the consumer was through with,
	at       int64 // at that time
}

// work runs turns until nobody is ready.
func (w *worker) work() {
	if w.out == nil {
		w.out = w.pool.cfg.Outlet()
	}
	for {
		c := w.pool.take()
		if c == nil {
			w.flush()
			if c = w.pool.takeOrRest(w); c == nil {
				return
			}
		}
		w.turn.run(w, c)
		if w.turns++; w.turns >= flushTurns || w.bytes >= flushBytes {
			w.flush()
		}
	}
}

// flush writes what turns have staged.
func (w *worker) flush() {
	w.turns, w.bytes = 0, 0
	w.out.Flush()
	w.told = closeAll(w.told)
	for i, e := range w.done {
		w.done[i] = ended{}
		e.consumer.rest(&e)
	}
	w.done = w.done[:0]
	w.settled = closeAll(w.settled)
}

// closeAll closes channels and returns the empty list.
func closeAll(list []chan struct{}) []chan struct{} {
	for i, done := range list {
		close(done)
		list[i] = nil
	}
	return list[:0]
}
