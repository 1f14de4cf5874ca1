package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/ingest"
)

const ok1, ok2 = `{"stream":"S","seq":1}`, `{"stream":"S","seq":2}`

// refusal is how an answer says no.
func refusal(code, errCode int, text string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"err_code":%d,"description":%q},"stream":"S","seq":0}`, code, errCode, text)
}

func TestAcknowledgements(t *testing.T) {
	type publish struct {
		subject, payload string
		fields           []string
		want             string
	}
	wrong := func(seq int) string { return refusal(400, 10071, fmt.Sprint("wrong last sequence: ", seq)) }
	tooLarge := refusal(400, 10054, "message size exceeds maximum allowed")
	limit10 := func(c *config.Stream) { c.MaxMessageBytes = 10 }
	tests := map[string]struct {
		change    func(*config.Stream)
		publishes []publish
	}{
		"plain": {publishes: []publish{
			{"s.a", "x", nil, ok1},
			{"s.b", "", []string{"A", "b"}, ok2},
		}},
		"duplicate": {publishes: []publish{
			{"s.a", "x", []string{"Nats-Msg-Id", "m1"}, ok1},
			{"s.zz", "x", []string{"Nats-Msg-Id", "m1"}, `{"stream":"S","seq":1,"duplicate":true}`},
			{"s.zz", "x", []string{"nats-msg-id", "m1"}, ok2},
			{"s.zz", "x", []string{"Previous-Nats-Msg-Id", "m1"}, `{"stream":"S","seq":3}`},
		}},
		"bad expectations": {publishes: []publish{
			{"s.a", "x", nil, ok1},
			{"s.a", "x", nil, ok2},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "0"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "1"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "abc"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "-1"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "99999999999999999999"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Last-Subject-Sequence", "9"}, wrong(2)},
			{"s.a", "x", []string{"Nats-Expected-Stream", "T"}, refusal(400, 10060, "expected stream does not match")},
			{"s.a", "x", []string{"Nats-Expected-Last-Sequence", "2"}, `{"stream":"S","seq":3}`},
		}},
		"headers that share a prefix": {publishes: []publish{
			{"s.b", "x", nil, ok1},
			{"s.c", "x", []string{
				"Nats-Expected-Last-Subject-Sequence-Subject", "s.b", "Nats-Expected-Last-Subject-Sequence", "1",
			}, ok2},
		}},
		"message size counts headers": {change: limit10, publishes: []publish{
			{"s.a", "0123456789", nil, ok1},
			{"s.a", "01234567890", nil, tooLarge},
			{"s.a", "012345678", []string{"A", "b"}, tooLarge},
			{"s.a", "012345678", []string{"Nats-Msg-Id", "b"}, tooLarge},
		}},
		"a duplicate is one whatever its size": {
			change: func(c *config.Stream) { c.MaxMessageBytes = 60 },
			publishes: []publish{
				{"s.a", "x", []string{"Nats-Msg-Id", "m"}, ok1},
				{"s.a", strings.Repeat("x", 61), []string{"Nats-Msg-Id", "m"}, `{"stream":"S","seq":1,"duplicate":true}`},
				{"s.a", strings.Repeat("x", 61), nil, tooLarge},
			},
		},
		"header size": {publishes: []publish{
			{"s.a", "x", []string{"A", strings.Repeat("b", 65536)}, refusal(400, 10097, "header size exceeds maximum allowed of 64k")},
		}},
		"sealed comes first": {
			change: func(c *config.Stream) { c.Sealed, c.MaxMessageBytes = true, 1 },
			publishes: []publish{
				{"s.a", "xxxx", nil, refusal(400, 10109, "invalid operation on sealed stream")},
			},
		},
		"counters": {change: func(c *config.Stream) { c.AllowCounter, c.MaxMessageBytes = true, 40 }, publishes: []publish{
			{"s.a", "", []string{"Nats-Incr", "5"}, `{"stream":"S","seq":1,"val":"5"}`},
			{"s.a", "", []string{"Nats-Incr", "-7"}, `{"stream":"S","seq":2,"val":"-2"}`},
			{"s.a", strings.Repeat("x", 41), nil, refusal(400, 10169, "message counter increment is missing")},
		}},
		"a full stream": {
			change: func(c *config.Stream) { c.MaxMessages, c.Discard = 1, config.DiscardNew },
			publishes: []publish{
				{"s.a", "x", nil, ok1},
				{"s.a", "x", nil, refusal(503, 10077, "maximum messages exceeded")},
			},
		},
		"no interest": {
			change: func(c *config.Stream) { c.Retention = config.InterestRetention },
			publishes: []publish{
				{"s.a", "x", nil, ok1},
				{"s.a", "x", nil, ok2},
			},
		},
		"a TTL where there are none": {publishes: []publish{
			{"s.a", "x", []string{"Nats-TTL", "5s"}, refusal(400, 10166, "per-message TTL is disabled")},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*config.Stream) {}
			}
			b := newBench(t, ingest.Config{}, change)
			for i, p := range test.publishes {
				if got := b.ask(p.subject, p.payload, p.fields...); got != p.want {
					t.Errorf("message %d: got %s, want %s", i+1, got, p.want)
				}
			}
		})
	}
}

func TestTTLValues(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) { c.AllowTTL = true })
	for _, v := range []string{"0", "500ms", "-1", "abc", "99999999999999999999"} {
		if got, want := b.ask("s.a", "x", "Nats-TTL", v), refusal(400, 10165, "invalid per-message TTL"); got != want {
			t.Errorf("TTL %q: got %s, want %s", v, got, want)
		}
	}
	for i, v := range []string{"never", "5"} {
		if got, want := b.ask("s.a", "x", "Nats-TTL", v), fmt.Sprintf(`{"stream":"S","seq":%d}`, i+1); got != want {
			t.Errorf("TTL %q: got %s, want %s", v, got, want)
		}
	}
}

func TestDomain(t *testing.T) {
	b := newBench(t, ingest.Config{Domain: `hub "1"`})
	if got, want := b.ask("s.a", "x"), `{"stream":"S","seq":1,"domain":"hub \"1\""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNobodyAsks(t *testing.T) {
	b := newBench(t, ingest.Config{})
	b.publish("s.a", "", "x")
	b.publish("s.a", "", "x", "Nats-Expected-Last-Sequence", "9")
	b.quiet()
	b.configure(func(c *config.Stream) { c.NoAck, c.MaxMessageBytes = true, 10 })
	b.publish("s.a", "reply", "x")
	b.publish("s.a", "reply", "too large a message")
	b.quiet()
	if got := b.log.State().Last; got != 2 {
		t.Errorf("got last sequence %d, want 2", got)
	}
	if got, _ := b.hooks(); got != "s.a 1, s.a 2" {
		t.Errorf("got %q as stored, want both messages", got)
	}
}

// The memory that Take is given is the worker's: it is used for something else at once.
func TestTakeCopies(t *testing.T) {
	b := newBench(t, ingest.Config{})
	subject, reply, header, payload := []byte("s.a"), []byte("reply"), block("A", "b"), []byte("payload")
	b.stream.Take(subject, reply, header, payload)
	b.stream.Flush()
	for _, s := range [][]byte{subject, reply, header, payload} {
		clear(s)
	}
	if got := b.next(); got.subject != "reply" || got.payload != ok1 || got.account != b.account {
		t.Errorf("got %v, want the acknowledgement to reply", got)
	}
	if got, want := b.load(1), `s.a "NATS/1.0\r\nA: b\r\n\r\n" payload`; got != want {
		t.Errorf("got %s stored, want %s", got, want)
	}
}

func TestInjectedHeaders(t *testing.T) {
	b := newBench(t, ingest.Config{})
	b.ask("s.a", "x", "A", "b", "Nats-Request-Info", `{"acc":"X"}`, "C", "d")
	if got, want := b.load(1), `s.a "NATS/1.0\r\nA: b\r\nC: d\r\n\r\n" x`; got != want {
		t.Errorf("got %s stored, want %s", got, want)
	}
	b.ask("s.a", "x", "Nats-Request-Info", `{"acc":"X"}`)
	if got, want := b.load(2), `s.a x`; got != want {
		t.Errorf("got %s stored, want %s", got, want)
	}
}

func TestOrder(t *testing.T) {
	for _, storage := range []config.Storage{config.FileStorage, config.MemoryStorage} {
		b := newBench(t, ingest.Config{}, func(c *config.Stream) { c.Storage = storage })
		const publishers, each = 4, 500
		var wg sync.WaitGroup
		for p := range publishers {
			wg.Go(func() {
				for i := range each {
					b.publish(fmt.Sprint("s.", p), fmt.Sprint("r.", p), fmt.Sprint(i))
				}
			})
		}
		wg.Wait()
		b.barrier()
		if got := len(b.box.arrived); got != publishers*each {
			t.Fatalf("got %d acknowledgements after the barrier, want %d", got, publishers*each)
		}
		next := map[string]int{}
		for seq := range uint64(publishers * each) {
			m, err := b.log.Load(seq + 1)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(m.Payload), fmt.Sprint(next[m.Subject]); got != want {
				t.Fatalf("sequence %d on %s: got message %s, want %s", seq+1, m.Subject, got, want)
			}
			next[m.Subject]++
		}
		stored, _ := b.hooks()
		for i, line := range strings.Split(stored, ", ") {
			if !strings.HasSuffix(line, fmt.Sprint(" ", i+1)) {
				t.Fatalf("message %d that was told of is %q", i+1, line)
			}
		}
	}
}

func TestAdmit(t *testing.T) {
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	var asked []int
	log := &failing{start: func(context.Context, command.Command, func(jetlog.Result, error)) error {
		t.Error("a message that was not admitted has reached the log")
		return nil
	}}
	b.open(ingest.Config{}, log, ingest.Hooks{Admit: func(bytes int) *api.Error {
		asked = append(asked, bytes)
		return api.NewError(api.AccountExceeded)
	}})
	if got, want := b.ask("s.a", "xx"), refusal(400, 10002, "resource limits exceeded for account"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b.ingest.Close(); len(asked) != 1 || asked[0] != 5 {
		t.Errorf("got asked for %v bytes, want 5", asked)
	}
}

func TestErrorsOfTheLog(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"full":   {fmt.Errorf("%w: disk", store.ErrFull), refusal(503, 10077, "no space: try again later: disk")},
		"halted": {fmt.Errorf("%w: block 7", store.ErrHalted), refusal(503, 10077, "stream is halted: block 7")},
		"failed": {store.ErrFailed, refusal(503, 10077, "store has failed")},
		"closed": {store.ErrClosed, ""},
		"gone":   {store.ErrNotFound, ""},
		"ended":  {fmt.Errorf("append: %w", context.Canceled), ""},
	}
	for name, test := range tests {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " late ", late), func(t *testing.T) {
				b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
				b.open(ingest.Config{}, &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
					if late {
						go done(jetlog.Result{}, test.err)
						return nil
					}
					return test.err
				}}, ingest.Hooks{})
				defer b.ingest.Close()
				b.publish("s.a", "reply", "x")
				if test.want == "" {
					b.quiet()
				} else if got := b.next().payload; got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				if got, _ := b.hooks(); got != "" {
					t.Errorf("got %q as stored, want nothing", got)
				}
			})
		}
	}
}

// A log that takes nothing holds up its own publishers, and only those that find no room are told.
func TestBackPressure(t *testing.T) {
	release := make(chan struct{})
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	var seq uint64
	var lines atomic.Int64
	logger := slog.New(slog.NewTextHandler(writer(func(line []byte) (int, error) {
		if strings.Contains(string(line), "messages are refused") {
			lines.Add(1)
		}
		return len(line), nil
	}), nil))
	b.open(ingest.Config{QueueMessages: 3, QueueBytes: 1000, Logger: logger}, &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
		<-release
		seq++
		done(jetlog.Result{Sequence: seq, Stored: true}, nil)
		return nil
	}}, ingest.Hooks{})
	defer b.ingest.Close()
	other := b.ingest.Open(b.account, &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
		done(jetlog.Result{Sequence: 77}, nil)
		return nil
	}}, ingest.Hooks{})
	taken := 0
	for b.publish("s.a", "", "x") {
		if taken++; taken > 10 {
			t.Fatal("a queue of 3 has taken more than 10 messages")
		}
	}
	if b.publish("s.a", "", "x") || b.publish("s.a", "me", "x") {
		t.Error("a full queue took a message")
	}
	if got, want := b.next(), "me \"NATS/1.0 429 Too Many Requests\\r\\n\\r\\n\" "; got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other.Take([]byte("o"), []byte("other"), nil, nil)
	other.Flush()
	if got, want := b.next().String(), `other {"stream":"S","seq":77}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	close(release)
	b.barrier()
	if b.publish("s.a", "", strings.Repeat("x", 1000)) {
		t.Error("a message larger than the queue was taken")
	}
	if !b.publish("s.a", "again", "x") {
		t.Error("no message is taken although there is room again")
	}
	if got, want := b.next().String(), fmt.Sprintf(`again {"stream":"S","seq":%d}`, taken+1); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.barrier()
	if got := lines.Load(); got != 2 {
		t.Errorf("got %d lines in the log, want one each time that the queue was full", got)
	}
}

// writer is a function that is written to.
type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestBarrier(t *testing.T) {
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	var waiting []func()
	started := make(chan struct{})
	b.open(ingest.Config{}, &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
		waiting = append(waiting, func() { done(jetlog.Result{Sequence: 1, Stored: true}, nil) })
		started <- struct{}{}
		return nil
	}}, ingest.Hooks{})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.stream.Barrier(ended); err != nil {
		t.Errorf("got %v with nothing to wait for, want no error", err)
	}
	b.publish("s.a", "", "x")
	b.publish("s.a", "", "x")
	<-started
	<-started
	if err := b.stream.Barrier(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while a message is on its way, want that the context has ended", err)
	}
	reached := make(chan error)
	go func() { reached <- b.stream.Barrier(context.Background()) }()
	waiting[0]()
	select {
	case <-reached:
		t.Error("the barrier is reached before the second message is stored")
	default:
	}
	waiting[1]()
	if err := <-reached; err != nil {
		t.Error(err)
	}
	if got, _ := b.hooks(); got != "s.a 1, s.a 1" {
		t.Errorf("got %q as stored after the barrier, want both", got)
	}
	b.ingest.Close()
}

func TestClose(t *testing.T) {
	t.Run("carries out what was taken", func(t *testing.T) {
		b := newBench(t, ingest.Config{})
		for range 100 {
			b.publish("s.a", "reply", "x")
		}
		b.stream.Close()
		b.stream.Close()
		if got := len(b.box.arrived); got != 100 {
			t.Errorf("got %d acknowledgements, want 100", got)
		}
		if b.publish("s.a", "reply", "x") {
			t.Error("a closed stream took a message")
		}
		if b.ingest.Close(); len(b.box.arrived) != 100 {
			t.Error("a message was answered after the end")
		}
	})
	t.Run("does not wait for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
			b.open(ingest.Config{}, &failing{start: func(ctx context.Context, _ command.Command, _ func(jetlog.Result, error)) error {
				<-ctx.Done()
				return ctx.Err()
			}}, ingest.Hooks{})
			b.publish("s.a", "reply", "x")
			b.publish("s.a", "reply", "x")
			began := time.Now()
			time.AfterFunc(time.Second, func() {
				if b.publish("s.a", "reply", "x") {
					t.Error("a stream that is being closed took a message")
				}
			})
			b.ingest.Close()
			if d := time.Since(began); d != 4500*time.Millisecond {
				t.Errorf("got closed after %v, want 4.5s", d)
			}
			if got := b.next(); len(b.box.arrived) != 0 || got.header != "NATS/1.0 503\r\n\r\n" {
				t.Errorf("got answer %v and %d more, want that nobody took what came last", got, len(b.box.arrived))
			}
		})
	})
	t.Run("late answers go nowhere", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
			var late func(jetlog.Result, error)
			b.open(ingest.Config{}, &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
				late = done
				return nil
			}}, ingest.Hooks{})
			b.publish("s.a", "reply", "x")
			b.ingest.Close()
			late(jetlog.Result{Sequence: 1}, nil)
			if len(b.box.arrived) != 0 {
				t.Errorf("got answer %v, want none", b.next())
			}
		})
	})
}
