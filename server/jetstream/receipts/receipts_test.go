package receipts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/receipts"
	"runnel/server/servertest"
)

// pair is an origin, stream IN with five messages and some consumers, and a target, stream OUT.
type pair struct {
	t       *testing.T
	in, out *store.Stream
	origin  *receipts.Origin
	cfg     receipts.Config
	sent    atomic.Uint64 // up to where consumer c was sent messages
	settled atomic.Int64

	mu   sync.Mutex // guards what follows
	here bool       // the origin is led here
	gone bool       // and there is none at all
}

func newPair(t *testing.T) *pair {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, here: true}
	for name, stream := range map[string]**store.Stream{"IN": &p.in, "OUT": &p.out} {
		if *stream, err = s.Create("A", config.Stream{
			Name: name, Subjects: []string{name}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(p.in.Check(), p.out.Check(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	for range 5 {
		p.apply(p.in, &command.Publish{Time: now(), Subject: "IN"})
	}
	for name, ack := range map[string]config.Ack{"c": config.AckExplicit, "none": config.AckNone} {
		p.apply(p.in, &command.ConsumerCreate{Time: now(), Config: config.Consumer{Name: name, Durable: name, Ack: ack, AckWait: time.Minute, MaxAckPending: 100}})
	}
	p.deliver("c", 1, 2, 3)
	p.apply(p.in, &command.Ack{Time: now(), Consumer: "c", Replies: []command.Reply{{Sequence: 2}}})
	p.sent.Store(3)
	p.origin = &receipts.Origin{
		Log: p.in, Now: now, Propose: p.in.Propose, Settled: func(_ string, list []uint64) { p.settled.Add(int64(len(list))) },
		Sent: func(consumer string) (uint64, uint64) {
			if consumer != "c" {
				return 0, 0
			}
			return p.sent.Load(), p.incarnation()
		},
	}
	p.cfg = receipts.Config{
		Account: "A", Domain: "hub", Now: now, Propose: p.out.Propose,
		Local: func(stream string) *receipts.Origin {
			p.mu.Lock()
			defer p.mu.Unlock()
			if stream != "IN" || !p.here || p.gone {
				return nil
			}
			return p.origin
		},
		Exists: func(id uint64) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return id == p.in.ID() && !p.gone
		},
	}
	return p
}

func now() int64 { return time.Now().UnixNano() }

// set changes where the origin is.
func (p *pair) set(here, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here, p.gone = here, gone
}

func (p *pair) apply(s *store.Stream, c command.Command) {
	p.t.Helper()
	if r, err := s.Propose(p.t.Context(), c); err != nil || r.Code != 0 {
		p.t.Fatalf("%+v: %+v, %v", c, r, err)
	}
}

// consumer looks at one of the origin.
func (p *pair) consumer(do func(*jetlog.Consumer)) {
	p.t.Helper()
	if err := p.in.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		do(s.Consumer("c"))
		return nil
	}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) incarnation() (n uint64) {
	p.consumer(func(c *jetlog.Consumer) { n = c.Incarnation() })
	return n
}

func (p *pair) awaits() (n int) {
	p.consumer(func(c *jetlog.Consumer) { n = c.AckPending() })
	return n
}

func (p *pair) deliver(consumer string, sequences ...uint64) {
	p.t.Helper()
	d := &command.Deliver{Time: now(), Consumer: consumer}
	p.consumer(func(c *jetlog.Consumer) { d.Incarnation, d.From = c.Incarnation(), c.Delivered().Consumer+1 })
	for _, seq := range sequences {
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
	}
	p.apply(p.in, d)
}

// owed is what the target owes.
func (p *pair) owed() (n int) {
	p.t.Helper()
	if err := p.out.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		n = s.Causes().Owed()
		return nil
	}); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// owe has the target store a message that was made from one of the origin.
func (p *pair) owe(sequence uint64) {
	p.t.Helper()
	p.apply(p.out, &command.Publish{Time: now(), Subject: "OUT", Cause: &causes.Cause{
		Source: causes.Source{ID: p.in.ID(), Stream: "IN", Consumer: "c", Incarnation: p.incarnation()}, Sequence: sequence,
	}})
}

func (p *pair) open() *receipts.Stream {
	s := receipts.Open(p.out, p.cfg)
	p.t.Cleanup(s.Close)
	return s
}

func (p *pair) paid(what string) {
	p.t.Helper()
	servertest.Eventually(p.t, what, func() bool { return p.owed() == 0 })
}

func ackOf(consumer string, sequence uint64) string {
	return fmt.Sprintf("$JS.ACK.IN.%s.1.%d.%d.1.0", consumer, sequence, sequence)
}

// TestFind asks for deliveries of an origin that is led here, and is answered at once.
func TestFind(t *testing.T) {
	p := newPair(t)
	s := p.open()
	for _, c := range []struct {
		name, ack string
		code      config.Code
	}{
		{"waiting", ackOf("c", 1), 0},
		{"with a domain", "$JS.ACK.hub.HASH.IN.c.1.3.3.1.0", 0},
		{"acknowledged", ackOf("c", 2), config.CauseSettled},
		{"not delivered", ackOf("c", 4), config.CauseSettled},
		{"sequence 0", ackOf("c", 0), config.CauseSettled},
		{"no consumer", ackOf("x", 1), config.CauseUnknown},
		{"wants none", ackOf("none", 1), api.AckInvalid},
		{"no stream", "$JS.ACK.X.c.1.1.1.1.0", config.CauseUnknown},
		{"another domain", "$JS.ACK.edge.HASH.IN.c.1.3.3.1.0", api.AckInvalid},
		{"garbage", "garbage", api.AckInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			cause, refusal, known := s.Find(c.ack, nil)
			code := config.Code(0)
			if refusal != nil {
				code = config.Code(refusal.ErrCode)
			}
			if !known || code != c.code || (cause != nil) != (c.code == 0) {
				t.Fatalf("got %+v, %v, %v, want %d", cause, refusal, known, c.code)
			}
			if cause != nil && (cause.ID != p.in.ID() || cause.Stream != "IN" || cause.Consumer != "c" || cause.Incarnation != p.incarnation()) {
				t.Errorf("got %+v", cause)
			}
		})
	}
	p.sent.Store(4)
	if cause, refusal, _ := s.Find(ackOf("c", 4), nil); cause == nil {
		t.Errorf("sent, and not in the state yet: got %v", refusal)
	}
	p.owe(1)
	p.apply(p.in, &command.Ack{Time: now(), Consumer: "c", Replies: []command.Reply{{Sequence: 1}}})
	if cause, refusal, _ := s.Find(ackOf("c", 1), nil); cause == nil {
		t.Errorf("acknowledged since, and known here: got %v", refusal)
	}
}

func TestPays(t *testing.T) {
	p := newPair(t)
	p.owe(1)
	s := p.open() // finds what is owed
	p.paid("what was owed before to be paid")
	if n := p.awaits(); n != 1 || p.settled.Load() == 0 {
		t.Errorf("%d wait for an answer, want 1; told %d times", n, p.settled.Load())
	}
	p.owe(3)
	s.Owed()
	p.paid("what is owed to be paid")
	if n := p.awaits(); n != 0 {
		t.Errorf("%d wait for an answer", n)
	}
	s.Close()
	s.Owed() // does nothing any more
}

// TestSettle acknowledges deliveries whose outcomes the target had before: nothing is owed, and it is told when that is done, or cannot be.
func TestSettle(t *testing.T) {
	p := newPair(t)
	s := p.open()
	settle := func(cause *causes.Cause) (at, settled bool) {
		done := make(chan bool, 1)
		if s.Settle(cause, func(settled bool) { done <- settled }) {
			return true, true
		}
		return false, <-done
	}
	cause := func(sequence uint64) *causes.Cause {
		return &causes.Cause{Source: causes.Source{ID: p.in.ID(), Stream: "IN", Consumer: "c", Incarnation: p.incarnation()}, Sequence: sequence}
	}
	if at, settled := settle(cause(1)); at || !settled || p.awaits() != 1 || p.owed() != 0 {
		t.Errorf("got %v, %v, %d wait for an answer, want 1; %d are owed", at, settled, p.awaits(), p.owed())
	}
	p.owe(3)
	if at, settled := settle(cause(3)); !at || !settled {
		t.Errorf("of one that is owed: got %v, %v", at, settled)
	}
	p.set(false, false)
	later := make(chan bool, 1)
	s.Settle(cause(4), func(settled bool) { later <- settled })
	p.set(true, false)
	p.deliver("c", 4)
	if !<-later {
		t.Error("one that is delivered meanwhile is not acknowledged")
	}
	p.set(false, false)
	s.Settle(cause(5), func(settled bool) { later <- settled })
	s.Close()
	if <-later {
		t.Error("what is closed acknowledges")
	}
	if at, settled := settle(cause(5)); at || settled {
		t.Errorf("closed: got %v, %v", at, settled)
	}
}

// TestPaysLater owes to an origin that is elsewhere for a while, and what it does not know to be delivered yet.
func TestPaysLater(t *testing.T) {
	p := newPair(t)
	p.set(false, false)
	s := p.open()
	p.owe(1)
	p.owe(4)
	s.Owed()
	p.set(true, false)
	servertest.Eventually(t, "the first to be paid", func() bool { return p.owed() == 1 })
	if n := p.awaits(); n != 1 {
		t.Errorf("%d wait for an answer, want 1", n)
	}
	p.deliver("c", 4)
	p.paid("the other one to be paid")
	if n := p.awaits(); n != 1 {
		t.Errorf("%d wait for an answer, want 1", n)
	}
}

// TestNobodyLeft owes to a consumer that has begun again, and to a stream that is deleted.
func TestNobodyLeft(t *testing.T) {
	p := newPair(t)
	var passed atomic.Int64
	p.cfg.Clock = func() time.Time { return time.Unix(0, 0).Add(time.Duration(passed.Load())) }
	p.owe(1)
	p.apply(p.in, &command.Reset{Time: now(), Consumer: "c"})
	s := p.open()
	p.paid("what was owed to the consumer of before to be forgotten")
	p.deliver("c", 1, 2, 3)
	p.owe(3)
	p.set(false, true)
	for range 3 {
		s.Owed()
	}
	if n := p.owed(); n != 1 {
		t.Errorf("%d are owed, want 1: the stream may be new", n)
	}
	servertest.Eventually(t, "what was owed to the stream to be forgotten", func() bool {
		passed.Add(int64(10 * time.Second))
		s.Owed()
		return p.owed() == 0
	})
}

// TestAnswer has an origin answer another server.
func TestAnswer(t *testing.T) {
	p := newPair(t)
	ask := func(question string) (out struct {
		Findings []struct {
			State       string
			Incarnation uint64
		}
		Done []uint64
	},
	) {
		t.Helper()
		if err := json.Unmarshal(p.origin.Answer(t.Context(), []byte(question)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a := ask(`{"deliveries":[{"consumer":"c","seq":1},{"consumer":"c","seq":2},{"consumer":"c","seq":5},{"consumer":"x","seq":1},{"consumer":"none","seq":1}]}`)
	want := []string{receipts.Waiting, receipts.Settled, receipts.Undelivered, receipts.Unknown, receipts.Silent}
	for i, w := range want {
		if len(a.Findings) != len(want) || a.Findings[i].State != w {
			t.Fatalf("got %+v, want %v", a.Findings, want)
		}
	}
	pay := func(incarnation uint64, sequences string) []uint64 {
		return ask(fmt.Sprintf(`{"payment":{"consumer":"c","incarnation":%d,"seqs":%s}}`, incarnation, sequences)).Done
	}
	if got := pay(p.incarnation(), "[1,2,5]"); fmt.Sprint(got) != "[2 1]" {
		t.Errorf("paid: got %v, want 2 and 1", got)
	}
	if got := pay(p.incarnation()+1, "[3]"); fmt.Sprint(got) != "[3]" || p.awaits() != 1 {
		t.Errorf("for nobody: got %v, %d wait", got, p.awaits())
	}
	if got := p.origin.Answer(t.Context(), []byte("garbage")); got != nil {
		t.Errorf("garbage is answered with %s", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.origin.Propose = func(ctx context.Context, _ command.Command) (jetlog.Result, error) { return jetlog.Result{}, ctx.Err() }
	if got := p.origin.Answer(ended, fmt.Appendf(nil, `{"payment":{"consumer":"c","incarnation":%d,"seqs":[3]}}`, p.incarnation())); got != nil {
		t.Errorf("what is not durable is answered with %s", got)
	}
}
