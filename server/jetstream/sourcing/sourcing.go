package sourcing

import (
	"context"
	"log/slog"
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// Log is a stream into which others are copied; *store.Stream is one.
type Log interface {
	// Name returns the name of the stream within its account.
	Name() string
	// Config returns the configuration as it was last applied.
	Config() config.Stream
	// State returns sequences and sizes.
	State() jetlog.State
	// Start has a command carried out. Commands that are started one after the other are carried out, and answered by
	// done, in that order. With an error done is not called.
	Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
	// View lets do see the stream's state.
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
}

// Config says what pullers stand on.
type Config struct {
	// Subscribe makes the server a subscriber of a subject; the handler must be quick, and its message is valid during
	// the call only.
	Subscribe func(a *accounts.Account, subject string, handler func(*engine.Message)) (cancel func())
	// Publish sends a message and returns how many got it. It is not called from a handler.
	Publish func(a *accounts.Account, subject, reply string, header, payload []byte) int
	Logger  *slog.Logger // default: nothing is logged
}

// Hooks are what the owner of a stream wants to know.
type Hooks struct {
	// Stored is called for each message that was stored, with the result of that, in the order of one puller's
	// messages. It may wait a little.
	Stored func(m jetlog.Message, r jetlog.Result)
	// Withdrawn is called when a message that was stored has made others go to whose delivery an answer was awaited.
	Withdrawn func([]jetlog.Withdrawn)
	// Admit says whether messages of this many bytes fit what the account and the server may still use; nil if so. A
	// Hooks without it admits everything.
	Admit func(bytes int) *api.Error
}

// Sourcing has the pullers of all streams of a server. Its methods are safe for concurrent use.
type Sourcing struct {
	cfg Config

	mu      sync.Mutex           // guards streams
	streams map[*Stream]struct{} // those that copy
}

// New returns a Sourcing without streams.
func New(cfg Config) *Sourcing {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sourcing{cfg: cfg, streams: make(map[*Stream]struct{})}
}

// Open begins to copy what the stream's configuration says.
func (g *Sourcing) Open(a *accounts.Account, log Log, h Hooks) *Stream {
	s := &Stream{sourcing: g, account: a, log: log, hooks: h}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Configure()
	return s
}

// Appeared tells that the account has a new stream of the name: whoever copies that one looks at once.
func (g *Sourcing) Appeared(a *accounts.Account, name string) {
	for _, s := range g.open() {
		for _, p := range s.pullers() {
			if p.source.Name == name {
				p.appeared(s.account == a && p.source.External == nil)
			}
		}
	}
}

// open returns the streams that copy.
func (g *Sourcing) open() []*Stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]*Stream, 0, len(g.streams))
	for s := range g.streams {
		all = append(all, s)
	}
	return all
}

// follow notes whether the stream copies any other: most do not, and then they cost nothing.
func (g *Sourcing) follow(s *Stream, copies bool) {
	if !copies {
		g.forget(s)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.streams[s] = struct{}{}
}

// forget takes a stream out that copies nothing any more.
func (g *Sourcing) forget(s *Stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.streams, s)
}
