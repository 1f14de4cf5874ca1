package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/servertest"
)

// TestClusterChangeUnderLoad lets other servers lead a stream again and again while clients publish and consume. What was
// acknowledged is there, once; what is there was delivered; and consumers go on without a word.
func TestClusterChangeUnderLoad(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lossy %v", lossy), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3,"duplicate_window":120000000000}`, nil)
			g := w.group("S")
			g.lossy = lossy
			const publishers, each, changes = 4, 300, 12
			seen := newSeen()
			stop := w.consume(nc, seen)
			var publishing sync.WaitGroup
			for p := range publishers {
				publishing.Go(func() { w.publishAll(p, each) })
			}
			done := make(chan struct{})
			go func() { publishing.Wait(); close(done) }()
			random := rand.New(rand.NewPCG(1, 2))
			for i := range changes {
				// Not before something was acknowledged under the leader that goes.
				want := uint64((i + 1) * publishers * each / (changes + 2))
				servertest.Eventually(t, "messages to come in", func() bool { return g.logs[0].State().Last >= want })
				g.elect(random.IntN(3))
			}
			<-done
			servertest.Eventually(t, "all messages to be delivered", func() bool { return seen.count() == publishers*each })
			stop()
			st := g.logs[0].State()
			if st.Messages != publishers*each {
				t.Errorf("the stream has %d messages, want %d", st.Messages, publishers*each)
			}
			g.drain()
			for i, log := range g.logs {
				_, first := g.logs[0].Hash()
				if _, hash := log.Hash(); hash != first {
					t.Errorf("n%d has another state than n1", i+1)
				}
			}
		})
	}
}

// publishAll publishes messages, each until it is acknowledged.
func (w *world) publishAll(publisher, n int) {
	nc := w.connect()
	for i := range n {
		id := fmt.Sprintf("%d-%d", publisher, i)
		m := nats.NewMsg("s." + id)
		m.Header.Set(nats.MsgIdHdr, id)
		m.Data = []byte(id)
		for {
			r, err := nc.RequestMsg(m, 250*time.Millisecond)
			if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) {
				continue // nobody leads, or nobody knows what has become of it
			}
			if err != nil {
				w.t.Error(err)
				return
			}
			if string(r.Data[:10]) != `{"stream":` {
				w.t.Errorf("%s is answered with %s", id, r.Data)
			}
			break
		}
	}
}

// seen is what was delivered.
type seen struct {
	mu    sync.Mutex
	times map[string]int
}

func newSeen() *seen { return &seen{times: map[string]int{}} }

func (s *seen) note(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[id]++
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.times)
}

// consume begins to consume the stream by a durable pull consumer, as clients do.
func (w *world) consume(nc *nats.Conn, s *seen) (stop func()) {
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	c, err := js.CreateOrUpdateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	run, err := c.Consume(func(m jetstream.Msg) {
		s.note(string(m.Data()))
		_ = m.Ack()
	}, jetstream.PullExpiry(2*time.Second), jetstream.ConsumeErrHandler(func(jetstream.ConsumeContext, error) {}))
	if err != nil {
		w.t.Fatal(err)
	}
	return run.Stop
}

// TestClusterPullsAreTold: who waits for messages is told that another server leads, and is served by that.
func TestClusterPullsAreTold(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	inbox, err := nc.SubscribeSync("inbox")
	if err != nil {
		t.Fatal(err)
	}
	for i, steps := range []struct{ subject, body string }{
		{"STREAM.LEADER.STEPDOWN.S", ""},
		{"CONSUMER.LEADER.STEPDOWN.S.c", ""},
		{"STREAM.LEADER.STEPDOWN.S", `{"placement":{"preferred":"n1"}}`},
	} {
		if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.S.c", "inbox", []byte(`{"batch":1,"expires":60000000000}`)); err != nil {
			t.Fatal(err)
		}
		var info struct {
			Waiting int `json:"num_waiting"`
			Cluster struct{ Leader string }
		}
		w.must(nc, "CONSUMER.INFO.S.c", "", &info)
		if want := fmt.Sprintf("n%d", i+1); info.Waiting != 1 || info.Cluster.Leader != want {
			t.Errorf("%d wait at %s, want one at %s", info.Waiting, info.Cluster.Leader, want)
		}
		w.must(nc, steps.subject, steps.body, nil)
		m, err := inbox.NextMsg(servertest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Status") != "409" || m.Header.Get("Description") != "Leadership Change" {
			t.Errorf("got %v %s", m.Header, m.Data)
		}
	}
	w.must(nc, "CONSUMER.INFO.S.c", "", nil) // somebody leads
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.S.c", "inbox", []byte(`{"batch":1,"expires":60000000000}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request("s.x", []byte("at last"), servertest.Patience); err != nil {
		t.Fatal(err)
	}
	m, err := inbox.NextMsg(servertest.Patience)
	if err != nil || string(m.Data) != "at last" {
		t.Fatalf("got %v, %v", m, err)
	}
	if err := acknowledge(m); err != nil {
		t.Errorf("a message is acknowledged: %v", err)
	}
}

// TestClusterAcksSurvive: what was acknowledged to one leader is not delivered by the next, what was not is.
func TestClusterAcksSurvive(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit","ack_wait":1000000000}}`, nil)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if _, err := nc.Request("s.x", fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := js.PullSubscribe("s.>", "c", nats.Bind("S", "c"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := sub.Fetch(3, nats.MaxWait(servertest.Patience))
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d messages, %v", len(list), err)
	}
	if err := acknowledge(list[1]); err != nil {
		t.Fatal(err)
	}
	g := w.group("S")
	g.elect(1)
	if err := acknowledge(list[0]); err != nil { // the new leader takes it as the old one would have
		t.Fatal(err)
	}
	g.elect(2)
	var got []string
	for len(got) < 2 {
		list, err := sub.Fetch(1, nats.MaxWait(servertest.Patience))
		if errors.Is(err, nats.ErrNoResponders) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(list[0].Data))
		if err := acknowledge(list[0]); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != "[3 2]" && fmt.Sprint(got) != "[2 3]" {
		t.Errorf("got %v, want 2 and 3 in any order", got)
	}
	var info struct {
		Floor struct {
			Stream uint64 `json:"stream_seq"`
		} `json:"ack_floor"`
		Pending    int `json:"num_pending"`
		AckPending int `json:"num_ack_pending"`
	}
	w.must(nc, "CONSUMER.INFO.S.c", "", &info)
	if info.Floor.Stream != 4 || info.Pending != 0 || info.AckPending != 0 {
		t.Errorf("got %+v", info)
	}
}

// acknowledge acknowledges a message, again while nobody is there who leads.
func acknowledge(m *nats.Msg) error {
	for {
		if err := m.AckSync(); !errors.Is(err, nats.ErrNoResponders) {
			return err
		}
	}
}

// TestClusterWithoutLeaders: a request is refused if nobody leads for long.
func TestClusterWithoutLeaders(t *testing.T) {
	for _, tt := range []struct {
		name, subject string
		stream, meta  bool // has a leader
		code          int
	}{
		{"stream without leader", "STREAM.INFO.S", false, true, 10008},
		{"nobody leads anything", "STREAM.INFO.S", false, false, 10008},
		{"a stream that nobody knows", "STREAM.INFO.X", false, false, 10008},
		{"no meta group", "STREAM.NAMES", true, false, 10008},
		{"a stream needs no meta group", "STREAM.INFO.S", true, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
			g := w.group("S")
			if w.lead(nobody); tt.meta {
				w.lead(1)
			}
			if g.elect(nobody); tt.stream {
				g.elect(0)
			}
			began := time.Now()
			if r := w.ask(nc, tt.subject, ""); r.code != tt.code {
				t.Errorf("got %d %s, want %d", r.code, r.text, tt.code)
			}
			if took := time.Since(began); took > 8*time.Second { // 4 s, and what a busy machine takes
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestClusterWaitsForLeaders: requests that come while nobody leads are answered by who leads then.
func TestClusterWaitsForLeaders(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	g := w.group("S")
	if _, err := nc.Request("s.x", nil, servertest.Patience); err != nil {
		t.Errorf("a publish with a leader: %v", err)
	}
	g.elect(nobody)
	if _, err := nc.Request("s.x", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a publish without a leader: %v", err)
	}
	w.lead(nobody)
	var answered atomic.Int32
	var asking sync.WaitGroup
	for _, subject := range []string{"STREAM.INFO.S", "STREAM.PURGE.S", "STREAM.NAMES", "CONSUMER.NAMES.S", "STREAM.INFO.X"} {
		asking.Go(func() {
			want := 0
			if subject == "STREAM.INFO.X" {
				want = 10059
			}
			if r := w.ask(nc, subject, ""); r.code != want {
				t.Errorf("%s: got %d %s, want %d", subject, r.code, r.text, want)
			}
			answered.Add(1)
		})
	}
	w.roundTrip(nc)
	g.elect(2)
	w.lead(1)
	asking.Wait()
}

// roundTrip lets everything that was published be taken.
func (w *world) roundTrip(nc *nats.Conn) {
	if err := nc.Flush(); err != nil {
		w.t.Error(err)
	}
}

// TestClusterReads: direct gets are answered by all servers that have the stream, if they are not behind, by the leader otherwise.
func TestClusterReads(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3,"allow_direct":true,"max_msgs_per_subject":1}`, nil)
	w.must(nc, "STREAM.CREATE.M", `{"name":"M","mirror":{"name":"S"},"mirror_direct":true}`, nil)
	for i := range 20 {
		if _, err := nc.Request(fmt.Sprintf("s.%d", i), fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	get := func() map[string]int {
		t.Helper()
		from := map[string]int{}
		for i := range 100 {
			m, err := nc.Request(fmt.Sprintf("$JS.API.DIRECT.GET.S.s.%d", i%20), nil, servertest.Patience)
			if err != nil {
				t.Fatal(err)
			}
			if string(m.Data) != fmt.Sprint(i%20) {
				t.Fatalf("message %d is %q %v", i%20, m.Data, m.Header)
			}
			from[m.Header.Get("Nats-Stream")]++
		}
		return from
	}
	var mirror struct{ State struct{ Messages int } }
	servertest.Eventually(t, "the mirror to be complete", func() bool {
		w.must(nc, "STREAM.INFO.M", "", &mirror)
		return mirror.State.Messages == 20
	})
	w.group("S").drain()
	get()
	servertest.Eventually(t, "the mirror to answer too", func() bool { return get()["M"] > 0 })
	g := w.group("S")
	g.mu.Lock()
	g.lagging = true
	g.mu.Unlock()
	servertest.Eventually(t, "those that are behind to be silent", func() bool { return w.readers() == 2 })
	get()
	w.must(nc, "STREAM.UPDATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3,"allow_direct":false,"max_msgs_per_subject":1}`, nil)
	w.must(nc, "STREAM.DELETE.M", "", nil)
	servertest.Eventually(t, "nobody to answer", func() bool {
		_, err := nc.Request("$JS.API.DIRECT.GET.S.s.1", nil, servertest.Patience)
		return errors.Is(err, nats.ErrNoResponders)
	})
}

// readers is how many servers would answer a direct get of stream S.
func (w *world) readers() int {
	return len(w.policy.Account("A").Interest().Match([]byte("$JS.API.DIRECT.GET.S.s.1"), nil))
}

// TestClusterUpdates: a configuration goes to all that have the stream, unless its leader refuses it.
func TestClusterUpdates(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit","max_ack_pending":500}}`, nil)
	w.lead(2) // who changes it is not who leads it
	if r := w.ask(nc, "STREAM.UPDATE.S", `{"name":"S","subjects":["s.>","t"],"num_replicas":3,"consumer_limits":{"max_ack_pending":100}}`); r.code != 10052 {
		t.Errorf("got %d %s, want 10052", r.code, r.text)
	}
	var info struct{ Config struct{ Subjects []string } }
	w.must(nc, "STREAM.UPDATE.S", `{"name":"S","subjects":["s.>","t"],"num_replicas":3}`, &info)
	if fmt.Sprint(info.Config.Subjects) != "[s.> t]" {
		t.Errorf("got %v", info.Config.Subjects)
	}
	if _, err := nc.Request("t", nil, servertest.Patience); err != nil {
		t.Errorf("a publish on the new subject: %v", err)
	}
	w.group("S").elect(1)
	w.must(nc, "STREAM.INFO.S", "", &info)
	if _, err := nc.Request("t", nil, servertest.Patience); err != nil {
		t.Errorf("a publish on the new subject, to the next leader: %v", err)
	}
}

// TestClusterElections tells who leads, and what has no majority.
func TestClusterElections(t *testing.T) {
	w := newWorld(t, 3)
	nc, sys := w.connect(), w.connectAs("s")
	own, err := nc.SubscribeSync("$JS.EVENT.ADVISORY.STREAM.>")
	if err != nil {
		t.Fatal(err)
	}
	all, err := sys.SubscribeSync("$JS.EVENT.ADVISORY.>")
	if err != nil {
		t.Fatal(err)
	}
	w.roundTrip(nc)
	w.roundTrip(sys)
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s"],"num_replicas":3}`, nil)
	next := func(sub *nats.Subscription, subject string) string {
		t.Helper()
		for {
			m, err := sub.NextMsg(servertest.Patience)
			if err != nil {
				t.Fatalf("%s: %v", subject, err)
			}
			if m.Subject == "$JS.EVENT.ADVISORY."+subject {
				return string(m.Data)
			}
		}
	}
	const replicas = `"replicas":[{"name":"n1","current":true,"active":1000000,"peer":"node0001"},`
	contains(t, next(own, "STREAM.LEADER_ELECTED.S"), `"stream":"S","leader":"n1",`+replicas, "stream_leader_elected")
	contains(t, next(all, "STREAM.LEADER_ELECTED.S"), `"account":"A","stream":"S","leader":"n1",`+replicas)
	w.group("S").elect(nobody)
	w.members[1].service.QuorumLost(w.group("S").a.ID)
	contains(t, next(own, "STREAM.QUORUM_LOST.S"), `"stream":"S",`+replicas, "stream_quorum_lost")
	contains(t, next(all, "STREAM.QUORUM_LOST.S"), `"account":"A"`)
	w.must(sys, "META.LEADER.STEPDOWN", `{"placement":{"preferred":"n3"}}`, nil)
	contains(t, next(all, "DOMAIN.LEADER_ELECTED"), `"leader":"node0003",`, `"cluster":"C"`)
	w.must(sys, "SERVER.REMOVE", `{"peer":"n2"}`, nil)
	contains(t, next(all, "SERVER.REMOVED"), `"server":"n2","server_id":"node0002","cluster":"C"`)
}
