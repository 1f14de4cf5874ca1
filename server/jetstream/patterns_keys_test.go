package jetstream_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/server"
	"runnel/server/servertest"
)

// worked is what workers have done, by key.
type worked map[string][]uint64

// TestPatternKeys lets workers process a queue whose messages have customers as their keys: nobody gets a message of a customer
// of whom another one is in somebody's hands, whatever they answer, and the server is started again meanwhile.
func TestPatternKeys(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["orders.*.>"],"retention":"workqueue"`)
	s.refuses("CONSUMER.CREATE.S.bad", `{"stream_name":"S","config":{"name":"bad","ack_policy":"explicit","metadata":{"runnel.key":"customer"}}}`, 10012)
	s.refuses("CONSUMER.CREATE.S.bad", `{"stream_name":"S","config":{"name":"bad","ack_policy":"none","metadata":{"runnel.key":"token:2"}}}`, 10012)
	s.consumer("S", "c", `"ack_policy":"explicit","ack_wait":60000000000,"metadata":{"runnel.key":"token:2"}`)
	const messages = 60
	s.many(messages, func(i int) string { return fmt.Sprintf("orders.customer%d.new", min(i%7, i%3)) })
	hands, done := map[string]*nats.Msg{}, worked{}
	for round := 0; len(hands) > 0 || s.consumerState("S", "c").Pending > 0; round++ {
		if round > 4*messages {
			t.Fatalf("no end: %v", done)
		}
		if round == 10 {
			s.restart()
			for key := range hands { // nobody answers for them now: they come again
				s.acknowledge(hands[key], "-NAK")
				delete(hands, key)
			}
		}
		for _, m := range s.rest("S", "c") {
			if other := hands[m.Subject]; other != nil {
				t.Fatalf("message %d comes while somebody has %d", metadata(m).Sequence.Stream, metadata(other).Sequence.Stream)
			}
			hands[m.Subject] = m
		}
		for key, m := range hands {
			delete(hands, key)
			if round%4 == 3 {
				s.acknowledge(m, "-NAK")
				break
			}
			s.acknowledge(m, "+ACK")
			done[key] = append(done[key], metadata(m).Sequence.Stream)
		}
	}
	total := 0
	for key, list := range done {
		if total += len(list); !slices.IsSorted(list) {
			t.Errorf("%s: in the order %v", key, list)
		}
	}
	if total != messages {
		t.Errorf("%d messages were done, want %d", total, messages)
	}
	s.holds("S", 0, messages+1, messages)
}

// TestPatternKeyFailed: what becomes of a key when one of its messages has failed for good.
func TestPatternKeyFailed(t *testing.T) {
	for failed, after := range map[string][]uint64{"skip": {2}, "block": {3}} {
		s := newSite(t, "")
		s.stream("S", `"subjects":["s.*"]`)
		s.consumer("S", "c", `"ack_policy":"explicit","max_deliver":2,"metadata":{"runnel.key":"token:2","runnel.key_failed":"`+failed+`"}`)
		s.stores(1, "s.a", "fails")
		s.stores(2, "s.a", "waits")
		s.stores(3, "s.b", "is another")
		s.stores(4, "s.b", "waits, too")
		for n := range 2 {
			m := s.next("S", "c", 1)[0]
			if about := metadata(m); about.Sequence.Stream != 1 || about.NumDelivered != uint64(n+1) {
				t.Fatalf("%s: message %d, delivery %d, want 1, %d", failed, about.Sequence.Stream, about.NumDelivered, n+1)
			}
			s.acknowledge(m, "-NAK")
		}
		var got []uint64
		for _, m := range s.rest("S", "c") {
			got = append(got, metadata(m).Sequence.Stream)
		}
		if want := append(slices.Clone(after), 3); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Compact(want)) {
			t.Errorf("%s: got %v, want %v", failed, got, want)
		}
		var keys struct {
			InFlight int    `json:"in_flight"`
			Blocked  int    `json:"blocked"`
			Waiting  uint64 `json:"waiting"`
			Failed   string `json:"key_failed"`
			Keys     []struct {
				Key, State string
				Seq        uint64
				Behind     int
			}
		}
		if code := own(t, s.conn, "CONSUMER.KEYS.S.c", "", &keys); code != 0 {
			t.Fatalf("keys: code %d", code)
		}
		s.consumer("S", "plain", `"ack_policy":"explicit"`)
		if code := own(t, s.conn, "CONSUMER.KEYS.S.plain", "", nil); code != 11030 {
			t.Errorf("keys of a consumer without: code %d, want 11030", code)
		}
		text := fmt.Sprintf("%s: %d in flight, %d blocked, %d wait, %v", keys.Failed, keys.InFlight, keys.Blocked, keys.Waiting, keys.Keys)
		if want := map[string]string{
			"skip": "skip: 2 in flight, 0 blocked, 1 wait, [{b in_flight 3 1} {a in_flight 2 0}]", "block": "block: 1 in flight, 1 blocked, 2 wait, [{a blocked 1 1} {b in_flight 3 1}]",
		}[failed]; text != want {
			t.Errorf("got %s, want %s", text, want)
		}
		if failed == "block" {
			s.must("STREAM.MSG.DELETE.S", `{"seq":1}`, nil)
			if m := s.next("S", "c", 1)[0]; metadata(m).Sequence.Stream != 2 {
				t.Errorf("when 1 is deleted: got %d, want 2", metadata(m).Sequence.Stream)
			}
		}
	}
}

// TestPatternFilter: a consumer gets the messages that its pattern matches, by their body, their headers and their subject, and
// is through with the others.
func TestPatternFilter(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"interest"`)
	s.refuses("CONSUMER.CREATE.S.bad", `{"stream_name":"S","config":{"name":"bad","ack_policy":"explicit","metadata":{"runnel.filter":"{\"a\":1}"}}}`, 10012)
	s.consumer("S", "c", `"ack_policy":"explicit","metadata":{"runnel.filter":"{\"body\":{\"total\":[{\"numeric\":[\">=\",100]}]},\"headers\":{\"Region\":[\"eu\",\"us\"]}}"}`)
	s.stores(1, "s.a", `{"total":99}`, "Region", "eu")
	s.stores(2, "s.a", `{"total":100}`, "Region", "eu")
	s.stores(3, "s.a", `{"total":1e3}`, "Region", "asia")
	s.stores(4, "s.b", `not JSON`, "Region", "us")
	s.stores(5, "s.b", `{"total":5000,"more":[1,2,3]}`, "Region", "us")
	s.stores(6, "s.b", `{}`)
	for _, want := range []uint64{2, 5} {
		m := s.next("S", "c", 1)[0]
		if metadata(m).Sequence.Stream != want {
			t.Fatalf("got message %d, want %d", metadata(m).Sequence.Stream, want)
		}
		s.acknowledge(m, "+ACK")
	}
	if left := s.rest("S", "c"); len(left) > 0 {
		t.Errorf("got %d messages more", len(left))
	}
	if c := s.consumerState("S", "c"); c.Pending != 0 || c.AckFloor.Stream != 6 {
		t.Errorf("%d pending, floor %d, want 0 and 6", c.Pending, c.AckFloor.Stream)
	}
	s.holds("S", 0, 7, 6)
	// A waiting request is not held up by what does not match.
	waiting := s.subscribe("waits")
	if err := s.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.S.c", waiting.Subject, []byte(`{"batch":1,"expires":60000000000}`)); err != nil {
		t.Fatal(err)
	}
	s.stores(7, "s.b", `{"total":1}`)
	s.stores(8, "s.b", `{"total":200}`, "Region", "eu")
	m, err := waiting.NextMsg(10 * time.Second)
	if err != nil || metadata(m).Sequence.Stream != 8 {
		t.Fatalf("got %v, %v, want 8", m, err)
	}
}

// crew is workers of several servers, and what they must never see.
type crew struct {
	t     *testing.T
	mu    sync.Mutex // guards what follows
	hands map[string]uint64
	done  map[uint64]bool
	last  map[string]uint64 // the last that was done first, by key
}

// takes notes that a worker has got a message.
func (c *crew) takes(m jetstream.Msg) (seq uint64, key string) {
	about, err := m.Metadata()
	if err != nil {
		c.t.Error(err)
		return 0, ""
	}
	seq, key = about.Sequence.Stream, m.Subject()
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.hands[key]; other != 0 && other != seq {
		c.t.Errorf("message %d of %s comes while somebody has message %d", seq, key, other)
	}
	c.hands[key] = seq
	return seq, key
}

// finishes notes that a worker is done with it, and about to say so.
func (c *crew) finishes(seq uint64, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.hands, key)
	if !c.done[seq] && seq < c.last[key] {
		c.t.Errorf("message %d of %s is done after message %d", seq, key, c.last[key])
	}
	c.done[seq] = true
	c.last[key] = max(c.last[key], seq)
}

func (c *crew) finished() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.done)
}

// work is a worker, until the context ends.
func (c *crew) work(ctx context.Context, url string) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		consumer, err := js.Consumer(ctx, "S", "c")
		if err != nil {
			continue // nobody leads, or its server is away
		}
		batch, err := consumer.Fetch(5, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			seq, key := c.takes(m)
			c.finishes(seq, key)
			_ = m.DoubleAck(ctx) // if that fails the message comes again
		}
	}
}

// TestPatternKeysReplicas has workers at three servers share a consumer with keys while the leader of the stream dies.
func TestPatternKeysReplicas(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()+"/"+servertest.ServerName))
	nc, err := nats.Connect(cluster.Servers[0].ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, Metadata: map[string]string{"runnel.key": "token:2"},
	}); err != nil {
		t.Fatal(err)
	}
	const messages, keys = 300, 7
	for i := range messages {
		if _, err := js.Publish(ctx, fmt.Sprintf("s.%d", i%keys), nil); err != nil {
			t.Fatal(err)
		}
	}
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leader := slices.IndexFunc(cluster.Servers, func(s *server.Server) bool { return s.Name() == info.Cluster.Leader })
	c := &crew{t: t, hands: map[string]uint64{}, done: map[uint64]bool{}, last: map[string]uint64{}}
	working, end := context.WithCancel(t.Context())
	var crew sync.WaitGroup
	defer crew.Wait()
	defer end()
	for i := range 6 {
		crew.Go(func() { c.work(working, cluster.Servers[i%3].ClientURL()) })
	}
	servertest.Eventually(t, "some are done", func() bool { return c.finished() > messages/4 })
	cluster.Stop(leader)
	servertest.Eventually(t, "others lead, and go on", func() bool { return c.finished() > messages/2 })
	cluster.Start(leader)
	servertest.Eventually(t, "all are done", func() bool { return c.finished() == messages })
}

// TestPatternKeysReceipts: a message that is acknowledged by what is published lets the next one of its key go.
func TestPatternKeysReceipts(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.*"],"retention":"workqueue"`)
	s.stream("T", `"subjects":["t.*"]`)
	s.consumer("S", "c", `"ack_policy":"explicit","metadata":{"runnel.key":"token:2"}`)
	s.stores(1, "s.a", "1")
	s.stores(2, "s.a", "2")
	for seq := uint64(1); seq <= 2; seq++ {
		m := s.next("S", "c", 1)[0]
		if got := metadata(m).Sequence.Stream; got != seq {
			t.Fatalf("got message %d, want %d", got, seq)
		}
		s.stores(seq, "t.a", "of it", "Runnel-Ack", m.Reply)
	}
	s.holds("S", 0, 3, 2)
}
