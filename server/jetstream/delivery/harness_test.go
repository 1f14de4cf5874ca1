package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// message is what a client got.
type message struct {
	subject, reply  string
	header, payload string
	at              time.Time
}

// String is the message in short: the payload, or the status line with what follows it.
func (m message) String() string {
	if code, text := headers.StatusOf([]byte(m.header)); code != 0 {
		var line strings.Builder
		fmt.Fprintf(&line, "%d %s", code, text)
		for name, value := range headers.All([]byte(m.header)) {
			fmt.Fprintf(&line, " %s=%s", strings.TrimPrefix(string(name), "Nats-"), value)
		}
		return line.String()
	}
	return m.payload
}

// ack is what the ack subject of a message says.
func (m message) ack(t testing.TB) api.AckSubject {
	t.Helper()
	a, ok := api.ParseAck(m.reply)
	if !ok {
		t.Fatalf("message %q has the ack subject %q", m.payload, m.reply)
	}
	return a
}

// network is the clients: what subscribers got, by subject. It is the Outlet of all workers.
type network struct {
	mu       sync.Mutex
	inboxes  map[string]*inbox
	watchers map[string][]func(bool)
	blocked  map[string]func()
}

type inbox struct{ got []message }

func newNetwork() *network {
	return &network{
		inboxes: make(map[string]*inbox), watchers: make(map[string][]func(bool)), blocked: make(map[string]func()),
	}
}

// key is a subject with a queue group.
func key(subject, queue string) string {
	if queue == "" {
		return subject
	}
	return subject + " " + queue
}

// subscribe lets messages to a subject arrive.
func (n *network) subscribe(subject string) { n.change(subject, true) }

// leave lets them arrive no more.
func (n *network) leave(subject string) { n.change(subject, false) }

// change does either, and returns what has arrived there and nobody has taken.
func (n *network) change(subject string, is bool) (left []message) {
	n.mu.Lock()
	if b := n.inboxes[subject]; b != nil {
		left = b.got
	}
	if is {
		n.inboxes[subject] = &inbox{}
	} else {
		delete(n.inboxes, subject)
	}
	watchers := slices.Clone(n.watchers[subject])
	n.mu.Unlock()
	for _, changed := range watchers {
		changed(is)
	}
	return left
}

func (n *network) watch(_ *accounts.Account, subject, queue string, changed func(bool)) func() {
	n.mu.Lock()
	k := key(subject, queue)
	place := len(n.watchers[k])
	n.watchers[k] = append(n.watchers[k], changed)
	is := n.inboxes[k] != nil
	n.mu.Unlock()
	changed(is)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.watchers[k][place] = func(bool) {}
	}
}

// take returns and forgets what arrived.
func (n *network) take(subject string) []message {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.inboxes[subject]
	if b == nil {
		return nil
	}
	got := b.got
	b.got = nil
	return got
}

// block lets a client take no more, or take more again.
func (n *network) block(subject string, is bool) {
	n.mu.Lock()
	ready := n.blocked[subject]
	delete(n.blocked, subject)
	if is {
		n.blocked[subject] = func() {}
	}
	n.mu.Unlock()
	if ready != nil {
		ready()
	}
}

func (n *network) Blocked(_ *accounts.Account, to, queue string, w interface{ Wake() }) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.blocked[key(to, queue)] == nil {
		return false
	}
	n.blocked[key(to, queue)] = w.Wake
	return true
}

func (n *network) Publish(a *accounts.Account, subject, reply string, header, payload []byte) int {
	return n.Deliver(a, subject, "", subject, reply, header, payload)
}

func (n *network) Deliver(_ *accounts.Account, to, queue, subject, reply string, header, payload []byte) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.inboxes[key(to, queue)]
	if b == nil {
		return 0
	}
	b.got = append(b.got, message{subject, reply, string(header), string(payload), time.Now()})
	return 1
}

func (n *network) Flush() {}
func (n *network) Close() {}

// events notes what is told, one line each.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (e *events) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

func (e *events) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	e.lines = nil
	return lines
}

func (e *events) MaxDeliveries(_ *delivery.Stream, consumer string, sequence, deliveries uint64) {
	e.add("max deliveries %s %d %d", consumer, sequence, deliveries)
}

func (e *events) Nak(_ *delivery.Stream, consumer string, d delivery.Delivered) {
	e.add("nak %s %v", consumer, d)
}

func (e *events) Terminated(_ *delivery.Stream, consumer string, d delivery.Delivered, reason string) {
	e.add("terminated %s %v %q", consumer, d, reason)
}

func (e *events) AckSample(_ *delivery.Stream, consumer string, d delivery.Delivered, took time.Duration) {
	e.add("sample %s %v %v", consumer, d, took)
}

func (e *events) Pinned(_ *delivery.Stream, consumer, group, id string) {
	e.add("pinned %s %s %s", consumer, group, id)
}

func (e *events) Unpinned(_ *delivery.Stream, consumer, group, reason string) {
	e.add("unpinned %s %s %s", consumer, group, reason)
}

func (e *events) Tripped(_ *delivery.Stream, consumer string, t delivery.Trip) {
	e.add("tripped %s %d of %d, pause %v", consumer, t.Failed, t.Attempts, t.Pause)
}

func (e *events) Inactive(_ *delivery.Stream, consumer string) { e.add("inactive %s", consumer) }

// complaints counts the lines of a log.
type complaints struct {
	mu    sync.Mutex
	lines []string
}

func (c *complaints) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, string(line))
	return len(line), nil
}

func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

// world is a stream with its deliveries, in a bubble of synctest.
type world struct {
	t       testing.TB
	net     *network
	events  *events
	logged  *complaints
	log     *faultyLog
	store   *store.Store // of a stream of one server
	group   *group       // of a replicated one
	pool    *delivery.Pool
	stream  *delivery.Stream
	account *accounts.Account
	began   time.Time
	tickets int
}

// faultyLog is a stream of a store whose Start or Read fails on demand.
type faultyLog struct {
	*store.Stream
	mu         sync.Mutex
	err, spoil error
	reading    func() // called by each Read, nil for nothing
	far        bool   // nothing is near
}

func (l *faultyLog) Near(sequence uint64) bool {
	l.mu.Lock()
	far := l.far
	l.mu.Unlock()
	return !far && l.Stream.Near(sequence)
}

func (l *faultyLog) failReads(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoil = err
}

func (l *faultyLog) Read(
	from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool,
) (uint64, error) {
	l.mu.Lock()
	err, reading := l.spoil, l.reading
	l.mu.Unlock()
	if err != nil {
		return from, err
	}
	if reading != nil {
		reading()
	}
	return l.Stream.Read(from, filter, messages, bytes, yield)
}

func (l *faultyLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *faultyLog) Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Stream.Start(ctx, c, done)
}

func (l *faultyLog) StartTogether(ctx context.Context, list []command.Command, done func(jetlog.Result, error)) error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.Stream.StartTogether(ctx, list, done)
}

// streamConfig is the configuration of a stream for tests.
func streamConfig() config.Stream {
	return config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1,
	}
}

func openWorld(t testing.TB, cfg config.Stream) *world {
	t.Helper()
	w := newWorld(t)
	if cfg.Replicas > 1 {
		w.group = newGroup(t, cfg, 1)
		w.log = &faultyLog{Stream: w.group.leader.stream}
	} else {
		w.store = openStore(t)
		stream, err := w.store.Create("A", cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.log = &faultyLog{Stream: stream}
	}
	w.open()
	return w
}

// newWorld is a world without a stream.
func newWorld(t testing.TB) *world {
	t.Helper()
	policy, err := accounts.NewRegistry().Compile(accounts.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, net: newNetwork(), events: &events{}, logged: &complaints{}, account: policy.Global(), began: time.Now(),
	}
}

// open begins the deliveries.
func (w *world) open() {
	w.pool = delivery.New(delivery.Config{
		Workers: 2, Outlet: func() delivery.Outlet { return w.net }, Watch: w.net.watch, Events: w.events,
		Logger: slog.New(slog.NewTextHandler(w.logged, nil)),
		Ticket: func() string { w.tickets++; return fmt.Sprintf("ticket%d", w.tickets) },
	})
	w.stream = w.pool.Open(w.account, w.log, nil)
}

// close ends all, and checks the stream.
func (w *world) close() {
	w.t.Helper()
	w.pool.Close()
	if w.group != nil {
		w.group.close()
		return
	}
	if err := w.log.Check(); err != nil {
		w.t.Errorf("check: %v", err)
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

// bubble runs a test with a world in a bubble: one with a stream of one server, one with a replicated stream.
func bubble(t *testing.T, cfg config.Stream, test func(*testing.T, *world)) {
	t.Helper()
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("R%d", replicas), func(t *testing.T) { bubbleOf(t, cfg, replicas, test) })
	}
}

// bubbleOf is bubble for a stream of so many servers.
func bubbleOf(t *testing.T, cfg config.Stream, replicas int, test func(*testing.T, *world)) {
	t.Helper()
	cfg.Replicas = replicas
	synctest.Test(t, func(t *testing.T) {
		w := openWorld(t, cfg)
		defer w.close()
		test(t, w)
	})
}

// propose carries out a command, and tells no one.
func (w *world) propose(c command.Command) jetlog.Result {
	w.t.Helper()
	r, err := w.log.Propose(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func now() int64 { return time.Now().UnixNano() }

// publish stores messages, and tells the deliveries.
func (w *world) publish(subject string, payloads ...string) {
	w.t.Helper()
	for _, payload := range payloads {
		r := w.propose(&command.Publish{Time: now(), Subject: subject, Payload: []byte(payload)})
		if r.Code != 0 {
			w.t.Fatalf("publish on %q: %v %s", subject, r.Code, r.Detail)
		}
		w.stream.Stored(subject, r.Sequence)
	}
}

// consumer makes a consumer, and waits until it has had its first turn.
func (w *world) consumer(cfg config.Consumer) {
	w.t.Helper()
	w.makeConsumer(cfg)
	w.wait()
}

// makeConsumer makes a consumer, normalised as the service would.
func (w *world) makeConsumer(cfg config.Consumer) {
	w.t.Helper()
	if cfg.Name == "" {
		cfg.Name = "c"
	}
	if cfg.Durable == "" && cfg.Inactive == 0 {
		cfg.Durable = cfg.Name
	}
	stream := w.log.Config()
	cfg, err := cfg.Normalized(&stream, config.Limits{}, false)
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.propose(&command.ConsumerCreate{Time: now(), Config: cfg})
	if r.Code != 0 {
		w.t.Fatalf("create a consumer: %v %s", r.Code, r.Detail)
	}
	w.stream.Update(cfg.Name)
}

// jetlogResult is what a command did.
type jetlogResult = jetlog.Result

// wait lets everything happen that does not need time to pass.
func (w *world) wait() { synctest.Wait() }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// pull sends a pull request from a subscriber.
func (w *world) pull(inbox, body string) {
	w.t.Helper()
	w.pullOf("c", inbox, body)
}

func (w *world) pullOf(consumer, inbox, body string) {
	w.t.Helper()
	w.net.mu.Lock()
	known := w.net.inboxes[inbox] != nil
	w.net.mu.Unlock()
	if !known {
		w.net.subscribe(inbox)
	}
	if !w.stream.Pull(consumer, delivery.Request{Reply: inbox, Body: []byte(body)}) {
		w.t.Fatalf("pull: no consumer %q", consumer)
	}
	w.wait()
}

// ack answers a message.
func (w *world) ack(m message, payload, reply string) {
	w.t.Helper()
	a := m.ack(w.t)
	w.stream.Ack(a.Consumer, delivery.Ack{Subject: a, Payload: []byte(payload), Reply: reply})
	w.wait()
}

// got takes what has arrived and compares it, in short.
func (w *world) got(inbox string, want ...string) []message {
	w.t.Helper()
	list := w.net.take(inbox)
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].String()
	}
	if !slices.Equal(texts, want) {
		w.t.Fatalf("%s got\n\t%q, want\n\t%q", inbox, texts, want)
	}
	return list
}

// told compares what was told of events.
func (w *world) told(want ...string) {
	w.t.Helper()
	if got := w.events.take(); !slices.Equal(got, want) {
		w.t.Fatalf("events\n\t%q, want\n\t%q", got, want)
	}
}

// numbers compares the state of a consumer: the sequences delivered and acked, and what is pending.
func (w *world) numbers(consumer string, want string) {
	w.t.Helper()
	if err := w.stream.Settle(context.Background(), consumer); err != nil {
		w.t.Fatal(err)
	}
	got := "none"
	err := w.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		if c := s.Consumer(consumer); c != nil {
			d, f := c.Delivered(), c.AckFloor()
			got = fmt.Sprintf("delivered %d/%d floor %d/%d pending %d ack pending %d redelivered %d",
				d.Consumer, d.Stream, f.Consumer, f.Stream, c.Pending(), c.AckPending(), c.Redelivered())
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if got != want {
		w.t.Fatalf("consumer %q:\n\t%s, want\n\t%s", consumer, got, want)
	}
}

// explicit is a consumer that wants each message acknowledged.
func explicit() config.Consumer { return config.Consumer{Ack: config.AckExplicit} }

// ackOf is an acknowledgement without an answer.
func ackOf(a api.AckSubject, payload string) delivery.Ack {
	return delivery.Ack{Subject: a, Payload: []byte(payload)}
}
