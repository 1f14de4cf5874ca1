package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/server/servertest"
)

// shop is a server with a stream ORDERS and a consumer work of it.
type shop struct {
	t        *testing.T
	nc       *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

func newShop(t *testing.T, change func(*jetstream.ConsumerConfig)) *shop {
	t.Helper()
	s := &shop{t: t, nc: start(t)}
	var err error
	if s.js, err = jetstream.New(s.nc); err != nil {
		t.Fatal(err)
	}
	s.stream(jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	cfg := jetstream.ConsumerConfig{Durable: "work", AckPolicy: jetstream.AckExplicitPolicy}
	if change != nil {
		change(&cfg)
	}
	if s.consumer, err = s.js.CreateConsumer(t.Context(), "ORDERS", cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) stream(cfg jetstream.StreamConfig) {
	s.t.Helper()
	if _, err := s.js.CreateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) publish(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if _, err := s.js.Publish(s.t.Context(), "orders.new", []byte(text)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// settled waits until nothing is left to be processed.
func (s *shop) settled() {
	s.t.Helper()
	servertest.Eventually(s.t, "all to be processed", func() bool {
		info, err := s.consumer.Info(s.t.Context())
		return err == nil && info.NumPending == 0 && info.NumAckPending == 0
	})
}

// process runs Process until the function that it returns is called, which returns its error.
func process[T any](s *shop, w client.Work[T]) (end func() error) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	w.Stream, w.Consumer = "ORDERS", "work"
	go func() { done <- client.Process(ctx, s.js, w) }()
	end = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(servertest.Patience):
			return errors.New("it does not end")
		}
	})
	s.t.Cleanup(func() {
		if err := end(); err != nil {
			s.t.Errorf("process: %v", err)
		}
	})
	return end
}

type order struct {
	Number int
}

// journal is what handlers have seen.
type journal struct {
	mu   sync.Mutex
	list []string
}

func (l *journal) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, fmt.Sprintf(format, args...))
}

func (l *journal) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list, ", ")
}

// TestProcess processes many messages with some workers, each once.
func TestProcess(t *testing.T) {
	s := newShop(t, nil)
	var mu sync.Mutex
	seen := map[int]int{}
	end := process(s, client.Work[order]{Workers: 4, Handle: func(_ context.Context, m *client.Message[order]) error {
		mu.Lock()
		defer mu.Unlock()
		seen[m.Value.Number]++
		if m.Subject != "orders.new" || m.Stream != "ORDERS" || m.Consumer != "work" || m.Sequence != uint64(m.Value.Number+1) || m.Deliveries != 1 || m.Stored.IsZero() {
			t.Errorf("got %+v", m)
		}
		return nil
	}})
	for i := range 100 {
		s.publish(fmt.Sprintf(`{"Number":%d}`, i))
	}
	s.settled()
	if err := end(); err != nil {
		t.Error(err)
	}
	for i := range 100 {
		if seen[i] != 1 {
			t.Errorf("order %d was processed %d times", i, seen[i])
		}
	}
}

// TestProcessFailures lets messages fail in every way.
func TestProcessFailures(t *testing.T) {
	s := newShop(t, nil)
	var handled, failed journal
	process(s, client.Work[string]{
		Workers: 1,
		Decode: func(data []byte) (string, error) {
			if string(data) == "garbage" {
				return "", errors.New("not readable")
			}
			return string(data), nil
		},
		Handle: func(_ context.Context, m *client.Message[string]) error {
			handled.add("%s %d", m.Value, m.Deliveries)
			first := m.Deliveries == 1
			switch {
			case m.Value == "poison":
				return fmt.Errorf("order: %w", client.Permanent(errors.New("no such customer")))
			case m.Value == "later" && first:
				return client.RetryIn(time.Millisecond, errors.New("busy"))
			case m.Value == "again" && first:
				return errors.New("down")
			case m.Value == "panics" && first:
				panic("oh")
			}
			return nil
		},
		Failed: func(f *client.Failure) {
			var p *client.Panic
			failed.add("%d/%d permanent=%v panic=%v: %v", f.Sequence, f.Deliveries, f.Permanent, errors.As(f.Err, &p) && len(p.Stack) > 0, f.Err)
		},
	})
	s.publish("poison", "garbage")
	s.settled()
	if got, want := failed.String(), "1/1 permanent=true panic=false: order: no such customer, 2/1 permanent=true panic=false: decode: not readable"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, text := range []string{"again", "later", "panics"} {
		s.publish(text)
		s.settled()
	}
	if got, want := handled.String(), "poison 1, again 1, again 2, later 1, later 2, panics 1, panics 2"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := failed.String(); !strings.HasSuffix(got, "3/1 permanent=false panic=false: down, 4/1 permanent=false panic=false: busy, 5/1 permanent=false panic=true: the handler panicked: oh") {
		t.Errorf("got %s", got)
	}
}

// TestProcessProgress: a message whose handler takes its time stays with it.
func TestProcessProgress(t *testing.T) {
	s := newShop(t, func(c *jetstream.ConsumerConfig) { c.AckWait = 500 * time.Millisecond })
	acks, err := s.nc.SubscribeSync("$JS.ACK.>")
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	var handled journal
	process(s, client.Work[string]{Workers: 2, Handle: func(_ context.Context, m *client.Message[string]) error {
		handled.add("%s %d", m.Value, m.Deliveries)
		<-release
		return nil
	}})
	s.publish("long")
	begun := time.Now()
	for time.Since(begun) < 2*time.Second {
		if m, err := acks.NextMsg(servertest.Patience); err != nil || string(m.Data) != "+WPI" {
			t.Fatalf("got %v, %v, want progress", m, err)
		}
	}
	close(release)
	s.settled()
	if got := handled.String(); got != "long 1" {
		t.Errorf("got %s, want one delivery", got)
	}
}

// TestProcessDrains: what is being processed when it is to end is processed.
func TestProcessDrains(t *testing.T) {
	s := newShop(t, nil)
	begun, release := make(chan struct{}), make(chan struct{})
	end := process(s, client.Work[string]{Workers: 1, Handle: func(ctx context.Context, m *client.Message[string]) error {
		close(begun)
		<-release
		return ctx.Err()
	}})
	s.publish("a", "b")
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		t.Fatalf("it has ended before its handler: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "one message to be processed", func() bool {
		info, err := s.consumer.Info(t.Context())
		return err == nil && info.NumPending == 1 && info.NumAckPending == 0
	})
}

// TestProcessGrace: handlers that take too long are told to end, and their message comes again.
func TestProcessGrace(t *testing.T) {
	s := newShop(t, nil)
	begun := make(chan struct{})
	end := process(s, client.Work[string]{Grace: time.Millisecond, Handle: func(ctx context.Context, m *client.Message[string]) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	s.publish("a")
	<-begun
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if m, err := s.consumer.Next(jetstream.FetchMaxWait(servertest.Patience)); err != nil || string(m.Data()) != "a" {
		t.Errorf("again: got %v, %v", m, err)
	}
}

// TestProcessTimeout: a handler that hangs is told so, and the message comes again.
func TestProcessTimeout(t *testing.T) {
	s := newShop(t, nil)
	process(s, client.Work[[]byte]{Timeout: time.Millisecond, Handle: func(ctx context.Context, m *client.Message[[]byte]) error {
		if m.Deliveries == 1 {
			<-ctx.Done()
		}
		return ctx.Err()
	}})
	s.publish("a")
	s.settled()
}

// TestProcessEnds: what cannot go on ends with an error.
func TestProcessEnds(t *testing.T) {
	s := newShop(t, nil)
	nothing := func(context.Context, *client.Message[string]) error { return nil }
	if _, err := s.js.CreateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{Durable: "none", AckPolicy: jetstream.AckNonePolicy}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		work client.Work[string]
		want string
	}{
		{"no handler", client.Work[string]{Stream: "ORDERS", Consumer: "work"}, "no Handle"},
		{"no consumer", client.Work[string]{Stream: "ORDERS", Consumer: "x", Handle: nothing}, "consumer not found"},
		{"no stream", client.Work[string]{Stream: "X", Consumer: "x", Handle: nothing}, "stream not found"},
		{"no acks", client.Work[string]{Stream: "ORDERS", Consumer: "none", Handle: nothing}, "ack_policy explicit"},
	} {
		if err := client.Process(t.Context(), s.js, tt.work); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.want)
		}
	}
	done := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		done <- client.Process(t.Context(), s.js, client.Work[string]{Stream: "ORDERS", Consumer: "work", Workers: 2, Handle: func(context.Context, *client.Message[string]) error {
			close(begun)
			return nil
		}})
	}()
	s.publish("a")
	<-begun
	if err := s.js.DeleteConsumer(t.Context(), "ORDERS", "work"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, jetstream.ErrConsumerDeleted) && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			t.Errorf("deleted: got %v", err)
		}
	case <-time.After(servertest.Patience):
		t.Error("it goes on without its consumer")
	}
}

func TestErrors(t *testing.T) {
	if client.Permanent(nil) != nil || client.RetryIn(time.Second, nil) != nil {
		t.Error("nil is no error any more")
	}
	cause := errors.New("cause")
	if !errors.Is(client.Permanent(cause), cause) || !errors.Is(client.RetryIn(time.Second, cause), cause) {
		t.Error("the cause is lost")
	}
	m := client.Message[string]{Stream: "S", Sequence: 7, Stored: time.Unix(0, 8)}
	if m.ID() != "S:7:8" {
		t.Errorf("got id %s", m.ID())
	}
	m.Header = nats.Header{"Nats-Msg-Id": {"x"}}
	if m.ID() != "S/x" {
		t.Errorf("got id %s", m.ID())
	}
}

// TestProcessPublishes: what handlers publish is there once, and only with the acknowledgement.
func TestProcessPublishes(t *testing.T) {
	s := newShop(t, nil)
	s.stream(jetstream.StreamConfig{Name: "BILLS", Subjects: []string{"bills.>"}, AllowAtomicPublish: true})
	var failed journal
	end := process(s, client.Work[string]{
		Workers: 2,
		Handle: func(_ context.Context, m *client.Message[string]) error {
			one, two := nats.NewMsg("bills.one"), nats.NewMsg("bills.two")
			one.Data, one.Header = []byte(m.Value), nats.Header{"Kind": {"bill"}}
			switch {
			case m.Value == "none":
			case m.Value == "both":
				m.Publish(one)
				m.Publish(two)
			case m.Value == "fails" && m.Deliveries == 1:
				m.Publish(one)
				return errors.New("after all not")
			case m.Value == "nowhere" && m.Deliveries == 1:
				m.Publish(nats.NewMsg("no.stream"))
			default:
				m.Publish(one)
			}
			return nil
		},
		Failed: func(f *client.Failure) { failed.add("%v", f.Err) },
	})
	s.publish("single", "none", "both")
	s.settled()
	s.publish("fails", "nowhere")
	s.settled()
	if err := end(); err != nil {
		t.Error(err)
	}
	if got := failed.String(); !strings.Contains(got, "after all not") || !strings.Contains(got, "publish to no.stream: no stream takes it") {
		t.Errorf("failures: got %s", got)
	}
	bills, err := s.js.Stream(t.Context(), "BILLS")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for sequence := range bills.CachedInfo().State.LastSeq {
		m, err := bills.GetMsg(t.Context(), sequence+1)
		if err != nil {
			t.Fatal(err)
		}
		got[fmt.Sprintf("%s %s %s", m.Subject, m.Data, m.Header.Get("Kind"))]++
	}
	want := map[string]int{
		"bills.one single bill": 1, "bills.one both bill": 1, "bills.two  ": 1, "bills.one fails bill": 1, "bills.one nowhere bill": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestProcessPublishesElsewhere: where nobody knows such an acknowledgement nothing is published, and Process says so.
func TestProcessPublishesElsewhere(t *testing.T) {
	server := servertest.Start(t, fmt.Sprintf(`
		jetstream { store_dir: %q, sync: os }
		accounts {
			A { jetstream: enabled, users: [{user: a, password: a}], exports: [
				{service: "$JS.API.>", response_type: stream}, {service: "$JS.ACK.>"}, {service: "out"}] }
			B { users: [{user: b, password: b}], imports: [
				{service: {account: A, subject: "$JS.API.>"}}, {service: {account: A, subject: "$JS.ACK.>"}}, {service: {account: A, subject: "out"}}] }
		}`, t.TempDir()))
	a, err := jetstream.New(servertest.Connect(t, server, nats.UserInfo("a", "a")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"in", "out"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{Durable: "work", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Publish(t.Context(), "in", nil); err != nil {
		t.Fatal(err)
	}
	b, err := jetstream.New(servertest.Connect(t, server, nats.UserInfo("b", "b")))
	if err != nil {
		t.Fatal(err)
	}
	err = client.Process(t.Context(), b, client.Work[string]{Stream: "ORDERS", Consumer: "work", Workers: 1, Handle: func(_ context.Context, m *client.Message[string]) error {
		m.Publish(nats.NewMsg("out"))
		return nil
	}})
	if !errors.Is(err, client.ErrNoAPI) {
		t.Errorf("got %v, want that nobody answers", err)
	}
	stream, err := a.Stream(t.Context(), "ORDERS")
	if err != nil || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("got %+v, %v, want the first message alone", stream.CachedInfo().State, err)
	}
}
