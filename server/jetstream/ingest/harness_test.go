package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// message is what somebody would have received.
type message struct {
	account         *accounts.Account
	subject         string
	header, payload string
}

func (m message) String() string {
	if m.header == "" {
		return m.subject + " " + m.payload
	}
	return fmt.Sprintf("%s %q %s", m.subject, m.header, m.payload)
}

// mailbox collects what outlets have flushed.
type mailbox struct {
	arrived chan message
	closed  sync.WaitGroup
}

func newMailbox() *mailbox { return &mailbox{arrived: make(chan message, 4096)} }

// outlet keeps messages until Flush, as slices: whoever changes them too early is seen.
type outlet struct {
	box    *mailbox
	staged []staged
}

type staged struct {
	account         *accounts.Account
	subject         string
	header, payload []byte
}

func (b *mailbox) outlet() ingest.Outlet {
	b.closed.Add(1)
	return &outlet{box: b}
}

func (o *outlet) Publish(a *accounts.Account, subject, _ string, header, payload []byte) int {
	o.staged = append(o.staged, staged{a, subject, header, payload})
	return 1
}

func (o *outlet) Flush() {
	for _, s := range o.staged {
		o.box.arrived <- message{s.account, s.subject, string(s.header), string(s.payload)}
	}
	o.staged = o.staged[:0]
}

func (o *outlet) Close() { o.box.closed.Done() }

// bench is everything that a test of one stream needs.
type bench struct {
	t       testing.TB
	box     *mailbox
	store   *store.Store
	log     *store.Stream
	ingest  *ingest.Ingest
	account *accounts.Account
	stream  *ingest.Stream

	mu     sync.Mutex
	stored []string
	gone   []string
}

// streamConfig is a stream S on s.> that keeps everything, changed by the functions.
func streamConfig(change ...func(*config.Stream)) config.Stream {
	cfg := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1, DuplicateWindow: 2 * time.Minute,
	}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

func openStore(t testing.TB, fs vfs.FS) *store.Store {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: fs, Dir: "/data", LogBytes: 1 << 20, LogSegmentBytes: 64 << 10, ScrubBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newBench opens a stream of a real store in memory.
func newBench(t testing.TB, cfg ingest.Config, change ...func(*config.Stream)) *bench {
	t.Helper()
	b := &bench{t: t, box: newMailbox(), store: openStore(t, vfs.NewMemory()), account: new(accounts.Account)}
	var err error
	if b.log, err = b.store.Create("A", streamConfig(change...)); err != nil {
		t.Fatal(err)
	}
	b.open(cfg, b.log, ingest.Hooks{})
	t.Cleanup(func() {
		b.ingest.Close()
		b.box.closed.Wait()
		if err := b.log.Check(); err != nil {
			t.Error(err)
		}
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// open begins to take in messages for a log.
func (b *bench) open(cfg ingest.Config, log ingest.Log, h ingest.Hooks) {
	cfg.Outlet = b.box.outlet
	b.ingest = ingest.New(cfg)
	h.Stored = func(subject string, sequence uint64) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.stored = append(b.stored, fmt.Sprint(subject, " ", sequence))
	}
	h.Abandoned = func(batch, reason string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.gone = append(b.gone, batch+" "+reason)
	}
	b.stream = b.ingest.Open(b.account, log, h)
}

// publish publishes a message with pairs of header names and values.
func (b *bench) publish(subject, reply, payload string, fields ...string) bool {
	b.t.Helper()
	taken := b.stream.Take([]byte(subject), []byte(reply), block(fields...), []byte(payload))
	b.stream.Flush()
	return taken
}

// ask publishes a message and returns the answer.
func (b *bench) ask(subject, payload string, fields ...string) string {
	b.t.Helper()
	if !b.publish(subject, "reply", payload, fields...) {
		b.t.Fatalf("message on %s was not taken", subject)
	}
	return b.next().payload
}

// next returns the next message that somebody receives.
func (b *bench) next() message {
	b.t.Helper()
	select {
	case m := <-b.box.arrived:
		return m
	case <-time.After(10 * time.Second):
		b.t.Fatal("no message arrived")
	}
	return message{}
}

// quiet checks that nobody receives anything for what was published until now.
func (b *bench) quiet() {
	b.t.Helper()
	b.barrier()
	select {
	case m := <-b.box.arrived:
		b.t.Errorf("got %v, want no message", m)
	default:
	}
}

func (b *bench) barrier() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.stream.Barrier(ctx); err != nil {
		b.t.Fatal(err)
	}
}

// hooks returns what Stored and Abandoned were told.
func (b *bench) hooks() (stored, gone string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.stored, ", "), strings.Join(b.gone, ", ")
}

// configure changes the stream's configuration.
func (b *bench) configure(change ...func(*config.Stream)) {
	b.t.Helper()
	r, err := b.log.Propose(context.Background(), &command.Configure{Time: time.Now().UnixNano(), Config: streamConfig(change...)})
	if err != nil || r.Code != 0 {
		b.t.Fatalf("configure: %v, %v", r, err)
	}
	b.stream.Configure()
}

// load returns a stored message as text.
func (b *bench) load(seq uint64) string {
	b.t.Helper()
	m, err := b.log.Load(seq)
	if err != nil {
		b.t.Fatal(err)
	}
	return message{subject: m.Subject, header: string(m.Header), payload: string(m.Payload)}.String()
}

// block returns a header block of pairs of names and values, nil for none.
func block(fields ...string) []byte {
	var out []byte
	for i := 0; i+1 < len(fields); i += 2 {
		out = headers.Add(out, fields[i], fields[i+1])
	}
	return out
}

// failing is a log whose Start fails or waits.
type failing struct {
	ingest.Log
	start func(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
}

func (f *failing) Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error {
	return f.start(ctx, c, done)
}

// StartAll always has to wait.
func (f *failing) StartAll(ctx context.Context, publishes []command.Publish, a store.Answers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return startAll(ctx, f.Start, publishes, a)
}

func (f *failing) State() jetlog.State { return jetlog.State{} }

func (*failing) View(func(*jetlog.Stream, jetlog.Messages) error) error { return nil }

func (f *failing) Name() string          { return "S" }
func (f *failing) Config() config.Stream { return streamConfig() }

// answering is a log that stores nothing and gives every message the next sequence, or what answer returns.
type answering struct {
	change func(*config.Stream)
	answer func(c command.Command) (jetlog.Result, error)
	state  jetlog.State

	mu   sync.Mutex
	last uint64
}

func (*answering) Name() string { return "S" }

func (l *answering) Config() config.Stream {
	if l.change == nil {
		return streamConfig()
	}
	return streamConfig(l.change)
}

func (l *answering) State() jetlog.State { return l.state }

func (*answering) View(func(*jetlog.Stream, jetlog.Messages) error) error { return nil }

func (l *answering) Start(_ context.Context, c command.Command, done func(jetlog.Result, error)) error {
	done(l.result(c))
	return nil
}

func (l *answering) StartAll(ctx context.Context, publishes []command.Publish, a store.Answers) error {
	return startAll(ctx, l.Start, publishes, a)
}

func (l *answering) result(c command.Command) (jetlog.Result, error) {
	if l.answer != nil {
		if r, err := l.answer(c); r.Code != 0 || err != nil {
			return r, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 1
	if batch, ok := c.(*command.Batch); ok {
		n = len(batch.Members)
	}
	l.last += uint64(n)
	return jetlog.Result{Sequence: l.last, Stored: true, Count: n}, nil
}

// startAll makes of a function that starts a command one that starts several. If the first cannot be started none is.
func startAll(ctx context.Context, start func(context.Context, command.Command, func(jetlog.Result, error)) error,
	publishes []command.Publish, a store.Answers,
) error {
	var mu sync.Mutex
	left := len(publishes)
	for i := range publishes {
		c := publishes[i]
		done := func(r jetlog.Result, err error) {
			a.Answer(i, r, err)
			mu.Lock()
			left--
			last := left == 0
			mu.Unlock()
			if !last {
				return
			}
			if f := a.Answered(); f != nil {
				f.Flush()
			}
		}
		if err := start(ctx, &c, done); err != nil {
			if i == 0 {
				return err
			}
			done(jetlog.Result{}, err)
		}
	}
	return nil
}
