package sourcing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/sourcing"
)

// request is what an origin was asked.
type request struct {
	subject, reply string
	header         string
	body           string
	at             time.Time
}

// consumer reads the body of a create.
func (r *request) consumer(t *testing.T) config.Consumer {
	t.Helper()
	var q api.ConsumerRequest
	if err := json.Unmarshal([]byte(r.body), &q); err != nil {
		t.Fatalf("request %q: %v", r.body, err)
	}
	return q.Config
}

// origin is the other side: it has messages, is asked for consumers, and sends.
type origin struct {
	mu       sync.Mutex
	handlers map[string]func(*engine.Message)
	requests []request
	answers  []request // to flow control
	deliver  string    // of the consumer that there is, empty for none
	name     string
	sequence uint64
	messages []jetlog.Message
	identity string
	refuses  *api.Error // every request
	silent   bool       // does not answer
	absent   bool       // nobody gets requests
	policy   string     // of acknowledgement; default none
	floor    uint64     // delivered.stream_seq that is answered with, and before which nothing is sent
	last     uint64     // last_seq of infos, 0 for that of the last message
	infos    int        // that were asked for
	deleted  []string
}

func newOrigin() *origin {
	return &origin{handlers: make(map[string]func(*engine.Message)), identity: "identity", policy: "none"}
}

func (o *origin) subscribe(_ *accounts.Account, subject string, handler func(*engine.Message)) func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers[subject] = handler
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.handlers, subject)
	}
}

// publish is what a puller sends.
func (o *origin) publish(_ *accounts.Account, subject, reply string, header, payload []byte) int {
	o.mu.Lock()
	r := request{subject, reply, string(header), string(payload), time.Now()}
	switch {
	case strings.HasPrefix(subject, "$JS.FC."):
		o.answers = append(o.answers, r)
		o.mu.Unlock()
		return 1
	case strings.Contains(subject, "CONSUMER.DELETE"):
		o.deleted = append(o.deleted, subject)
		o.mu.Unlock()
		return 1
	}
	if strings.HasPrefix(subject, "$JS.API.STREAM.INFO.") {
		o.infos++
		last := o.last
		if n := len(o.messages); n > 0 && last == 0 {
			last = o.messages[n-1].Sequence
		}
		o.mu.Unlock()
		o.send(reply, "", "", nil, fmt.Appendf(nil, `{"state":{"last_seq":%d}}`, last))
		return 1
	}
	o.requests = append(o.requests, r)
	absent, silent := o.absent, o.silent
	o.mu.Unlock()
	if absent {
		return 0
	}
	if !silent {
		o.answer(&r)
	}
	return 1
}

// answer makes the consumer of a request, and sends what it is to get.
func (o *origin) answer(r *request) {
	o.mu.Lock()
	header := headers.Build(headers.Field{Name: sourcing.IdentityHeader, Value: o.identity})
	if known, _ := headers.Get([]byte(r.header), sourcing.IdentityHeader); len(known) > 0 && string(known) != o.identity {
		o.mu.Unlock()
		o.send(r.reply, "", "", nil, refusal(api.NewError(api.IdentityMismatch)))
		return
	}
	if o.refuses != nil {
		e := o.refuses
		o.mu.Unlock()
		o.send(r.reply, "", "", nil, refusal(e))
		return
	}
	var q api.ConsumerRequest
	_ = json.Unmarshal([]byte(r.body), &q) // a reset has none
	o.deliver, o.name, o.sequence = q.Config.DeliverSubject, q.Config.Name, 0
	if o.deliver == "" {
		o.deliver, o.name = "shared", "dur"
	}
	var send []jetlog.Message
	for _, m := range o.messages {
		if m.Sequence >= max(q.Config.StartSequence, o.floor+1) {
			send = append(send, m)
		}
	}
	body := fmt.Sprintf(`{"name":"C%d","num_pending":%d,"config":{"ack_policy":%q,"deliver_subject":"shared"},"delivered":{"stream_seq":%d}}`,
		len(o.requests), len(send), o.policy, o.floor)
	o.mu.Unlock()
	o.send(r.reply, "", "", header, []byte(body))
	for _, m := range send {
		o.push(m)
	}
}

func refusal(e *api.Error) []byte {
	body, _ := json.Marshal(map[string]any{"error": e})
	return body
}

// send lets a subscriber have a message, and tells whether there was one.
func (o *origin) send(to, subject, reply string, header, payload []byte) bool {
	o.mu.Lock()
	handler := o.handlers[to]
	o.mu.Unlock()
	if handler == nil {
		return false
	}
	if subject == "" {
		subject = to
	}
	m := &engine.Message{Subject: []byte(subject), Header: header, Payload: payload}
	if reply != "" {
		m.Reply = []byte(reply)
	}
	handler(m)
	return true
}

// push delivers a message to the consumer that there is.
func (o *origin) push(m jetlog.Message) {
	o.mu.Lock()
	o.sequence++
	reply := string(api.AppendAckSubject(nil, &api.AckSubject{
		Stream: "O", Consumer: o.name, Deliveries: 1, StreamSequence: m.Sequence, ConsumerSequence: o.sequence,
		Time: m.Time, Pending: 3,
	}))
	to := o.deliver
	o.mu.Unlock()
	o.send(to, m.Subject, reply, m.Header, m.Payload)
}

// add stores a message, and delivers it if there is a consumer.
func (o *origin) add(sequence uint64, subject, payload string, fields ...headers.Field) {
	m := jetlog.Message{Sequence: sequence, Time: int64(sequence) * 1000, Subject: subject, Payload: []byte(payload)}
	if len(fields) > 0 {
		m.Header = headers.Build(fields...)
	}
	o.mu.Lock()
	o.messages = append(o.messages, m)
	deliver := o.deliver
	o.mu.Unlock()
	if deliver != "" {
		o.push(m)
	}
}

// beat sends a heartbeat.
func (o *origin) beat(last uint64) {
	o.mu.Lock()
	to := o.deliver
	o.mu.Unlock()
	o.send(to, "", "", api.AppendHeartbeat(nil, last, 0, ""), nil)
}

// beatAll sends heartbeats for a while, one a second, so that nothing is missed.
func (o *origin) beatAll(d time.Duration) {
	for range d / time.Second {
		<-time.After(time.Second)
		o.mu.Lock()
		last := o.sequence
		o.mu.Unlock()
		o.beat(last)
		synctest.Wait()
	}
}

// consumer is where the consumer that there is delivers, empty for none.
func (o *origin) consumer() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.deliver
}

func (o *origin) asked() []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.requests)
}

func (o *origin) flows() []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.answers)
}

func (o *origin) change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

// log is a stream in memory.
type log struct {
	mu      sync.Mutex
	state   *jetlog.Stream
	body    *jetlog.Memory
	held    []func() // what is not answered yet
	holds   bool     // answers only when it is told to
	refuses error    // every command
	lost    bool     // commands fail after they were started
}

func newLog(t testing.TB, cfg config.Stream) *log {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "S"
	}
	normal, err := cfg.Normalized(config.Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return &log{state: jetlog.New(7, normal, 1), body: jetlog.NewMemory()}
}

func (l *log) Name() string { return l.state.Config().Name }

func (l *log) Config() config.Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.state.Config()
}

func (l *log) State() jetlog.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.State()
}

func (l *log) View(do func(*jetlog.Stream, jetlog.Messages) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return do(l.state, l.body)
}

func (l *log) Start(_ context.Context, c command.Command, done func(jetlog.Result, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuses != nil {
		return l.refuses
	}
	finish := func() {
		if l.lost {
			done(jetlog.Result{}, errors.New("the disk is gone"))
			return
		}
		done(l.state.Apply(c, l.body))
	}
	if l.holds {
		l.held = append(l.held, finish)
		return nil
	}
	finish()
	return nil
}

// release carries out what was held.
func (l *log) release() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.held)
	for _, finish := range l.held {
		finish()
	}
	l.held, l.holds = nil, false
	return n
}

func (l *log) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = true
}

func (l *log) apply(t testing.TB, c command.Command) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, err := l.state.Apply(c, l.body); err != nil || r.Code != 0 {
		t.Fatalf("%T: %+v, %v", c, r, err)
	}
}

// configure gives the stream another configuration.
func (l *log) configure(t testing.TB, change func(*config.Stream)) {
	t.Helper()
	cfg := l.Config()
	change(&cfg)
	l.apply(t, &command.Configure{Time: time.Now().UnixNano(), Config: cfg})
}

// String is what the log has: sequence, subject and payload of each message.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for seq, _ := l.body.Next(1); seq != 0; seq, _ = l.body.Next(seq + 1) {
		m, _ := l.body.Load(seq)
		all = append(all, fmt.Sprintf("%d %s %s", m.Sequence, m.Subject, m.Payload))
	}
	return strings.Join(all, ", ")
}

func (l *log) load(t testing.TB, seq uint64) jetlog.Message {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	m, err := l.body.Load(seq)
	if err != nil || m.Sequence != seq {
		t.Fatalf("message %d: got %+v, %v", seq, m, err)
	}
	return m
}

// fixture is a stream with an origin.
type fixture struct {
	*origin
	log     *log
	all     *sourcing.Sourcing
	stream  *sourcing.Stream
	account *accounts.Account
	logged  bytes.Buffer // by pullers that are at rest
	mu      sync.Mutex
	stored  []string   // what the hook was told
	full    *api.Error // why nothing is admitted, nil if all is
}

func newAccount(t *testing.T) *accounts.Account {
	t.Helper()
	policy, err := accounts.NewRegistry().Compile(accounts.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Global()
}

// begin opens a stream.
func begin(t *testing.T, cfg config.Stream, o *origin) *fixture {
	t.Helper()
	f := &fixture{origin: o, log: newLog(t, cfg), account: newAccount(t)}
	f.open()
	synctest.Wait()
	t.Cleanup(func() { f.stream.Close() })
	return f
}

func (f *fixture) open() {
	f.all = sourcing.New(sourcing.Config{
		Subscribe: f.subscribe, Publish: f.publish, Logger: slog.New(slog.NewTextHandler(&f.logged, nil)),
	})
	f.stream = f.all.Open(f.account, f.log, sourcing.Hooks{Stored: func(m jetlog.Message, _ jetlog.Result) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stored = append(f.stored, strconv.FormatUint(m.Sequence, 10)+" "+m.Subject)
	}, Admit: func(int) *api.Error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.full
	}})
}

func (f *fixture) told() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.stored, ", ")
}

// has fails unless the log has just this.
func (f *fixture) has(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := f.log.String(); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func mirror(s config.Source) config.Stream {
	s.Name = "O"
	return config.Stream{Mirror: &s}
}

func source(s config.Source) config.Stream {
	s.Name = "O"
	return config.Stream{Sources: []*config.Source{&s}}
}
