package ingest

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
)

// Log is a stream as its publishers need it; *store.Stream is one.
type Log interface {
	// Name returns the name of the stream within its account.
	Name() string
	// Config returns the configuration as it was last applied.
	Config() config.Stream
	// Start has a command carried out. Commands that one goroutine starts are carried out, and answered by done, in
	// that order. With an error done is not called.
	Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
	// StartAll has publishes carried out, one by one, as if they had been given to Start. With a context that has
	// ended it does not wait: the error is context.Canceled where it would have. The publishes may be used again when
	// all are answered.
	StartAll(ctx context.Context, publishes []command.Publish, answers store.Answers) error
	// State returns sequences and sizes.
	State() jetlog.State
	// View calls do with the state and the messages, which do not change meanwhile.
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
}

// Outlet stages messages of the server and writes them out with Flush. One goroutine uses it at a time; header and
// payload stay unchanged until Flush.
type Outlet interface {
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	Flush()
	Close()
}

// Config says how publishes are taken in. Zero values mean the defaults.
type Config struct {
	Outlet func() Outlet // required; called once for each acker
	Ackers int           // that answer publishers, each for some streams; default GOMAXPROCS, at most 4
	// QueueMessages and QueueBytes bound what waits in front of one stream; default 100,000 and 128 MiB.
	QueueMessages int
	QueueBytes    int
	// TotalBytes bounds what of all streams together is taken and not stored yet; 0 for no bound. See Hold.
	TotalBytes int64
	Batch      BatchLimits
	Domain     string           // named in acknowledgements; empty for none
	Clock      func() time.Time // default time.Now
	Logger     *slog.Logger     // default: nothing is logged
}

// The defaults of Config.
const (
	ackersMax            = 4
	defaultQueueMessages = 100_000
	defaultQueueBytes    = 128 << 20
)

func (c *Config) fill() {
	if c.Ackers <= 0 {
		c.Ackers = min(runtime.GOMAXPROCS(0), ackersMax)
	}
	if c.QueueMessages <= 0 {
		c.QueueMessages = defaultQueueMessages
	}
	if c.QueueBytes <= 0 {
		c.QueueBytes = defaultQueueBytes
	}
	c.Batch.fill()
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Hooks are what the owner of a stream wants to know and to say. Those that are nil are not called. They must be
// quick.
type Hooks struct {
	// Stored is called by the stream's acker for each message that was stored, in the order of the sequences.
	Stored func(subject string, sequence uint64)
	// Withdrawn is called when a message that was stored has made others go to whose delivery an answer was awaited.
	Withdrawn func([]jetlog.Withdrawn)
	// Abandoned is called when an atomic batch will not be completed, with one of the reasons of package api.
	Abandoned func(batch, reason string)
	// Wanted tells whether a message on the subject would be kept for some consumer; nil where that is no condition.
	Wanted func(subject string) bool
	// Admit says whether a message of this many bytes fits what the account and the server may still use; nil if so.
	Admit func(bytes int) *api.Error
	// Cause finds out which delivery an acknowledgement, by its subject, is for, and whether that waits for one. It returns what it
	// knows at once; if that is not all, known is false, and it calls found later, once.
	Cause func(ack string, found Found) (c *causes.Cause, refusal *api.Error, known bool)
	// Settle sees to it that a delivery is acknowledged of which a message was published whose outcome the stream has already, by an id or a
	// number. It is true if that is so by now; if not, it calls done when it is, or cannot be.
	Settle func(c *causes.Cause, done func(settled bool)) bool
	// Imported tells whether messages on a subject may come from another account, whose clients must not acknowledge here.
	Imported func(subject string) bool
	// Delay takes a message over that asks to be stored later, if its time has not come yet; otherwise it returns the headers
	// without what asks for that. Nothing of the message may change any more.
	Delay func(subject, reply string, header, payload []byte) (taken bool, rest []byte, refusal *api.Error)
	// Owed is called when a message is stored that acknowledges another one: the stream may owe that now.
	Owed func(*causes.Cause)
	// Now is the time of the stream, in nanoseconds since 1970; nil for that of the configuration's clock.
	Now func() int64
}

// Ingest takes in the publishes of all streams of a server. Its methods are safe for concurrent use.
type Ingest struct {
	cfg     Config
	ackers  []*acker
	next    atomic.Uint32   // acker of the next stream
	records sync.Pool       // of *record
	packs   sync.Pool       // of *pack
	never   context.Context // that has ended

	// Open batches of all streams: their number, and the bytes of the atomic ones.
	atomics, fasts, atomicBytes atomic.Int64
	// waiting is what counts for TotalBytes.
	waiting atomic.Int64
	// soon and late tell publishers that nobody has taken their messages.
	soon, late late

	mu      sync.Mutex // guards streams
	streams map[*Stream]struct{}
}

// New returns an Ingest without streams.
func New(cfg Config) *Ingest {
	cfg.fill()
	g := &Ingest{cfg: cfg, streams: make(map[*Stream]struct{})}
	ended, end := context.WithCancel(context.Background())
	end()
	g.never = ended
	g.soon = late{outlet: cfg.Outlet, delay: soonTime}
	g.late = late{outlet: cfg.Outlet, delay: lateTime}
	for range cfg.Ackers {
		g.ackers = append(g.ackers, newAcker(cfg.Outlet()))
	}
	return g
}

// Open begins to take in what is published for a stream of the account.
func (g *Ingest) Open(a *accounts.Account, log Log, h Hooks) *Stream {
	s := newStream(g, a, log, h)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.streams[s] = struct{}{}
	return s
}

// Close ends everything: what was taken is carried out as Stream.Close says, and acknowledged. Calling it again
// does nothing.
func (g *Ingest) Close() {
	var closing sync.WaitGroup
	for _, s := range g.open() {
		closing.Go(s.Close)
	}
	closing.Wait()
	for _, a := range g.ackers {
		a.close()
	}
	g.soon.close()
	g.late.close()
}

// open returns the streams that were not closed.
func (g *Ingest) open() []*Stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	streams := make([]*Stream, 0, len(g.streams))
	for s := range g.streams {
		streams = append(streams, s)
	}
	return streams
}

// forget takes a closed stream out.
func (g *Ingest) forget(s *Stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.streams, s)
}

// record returns an empty record.
func (g *Ingest) record(s *Stream) *record {
	r, ok := g.records.Get().(*record)
	if !ok {
		r = newRecord()
	}
	r.stream = s
	return r
}

// release takes a record back that nobody refers to any more.
func (g *Ingest) release(r *record) {
	if r.trace != nil {
		r.tell()
	}
	g.discharge(r)
	r.reset()
	g.records.Put(r)
}
