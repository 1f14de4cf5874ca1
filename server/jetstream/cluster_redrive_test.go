package jetstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// TestClusterRedrive puts letters back while leaders of the dead-letter stream and of the one that they come from go and come, and lose
// what is under way: each gets there once, and only the consumer that has given it up.
func TestClusterRedrive(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lossy %v", lossy), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
			w.must(nc, "STREAM.CREATE.DEAD", `{"name":"DEAD","subjects":["dead"],"num_replicas":3}`, nil)
			w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c",`+dead("DEAD")+`}}`, nil)
			w.must(nc, "CONSUMER.CREATE.S.d", `{"stream_name":"S","config":{"durable_name":"d","ack_policy":"explicit"}}`, nil)
			const letters, changes = 150, 10
			w.bury(nc, letters)
			from, target := w.group("DEAD"), w.group("S")
			from.lossy, target.lossy = lossy, lossy
			var plan api.DeadRedriveAnswer
			if err := asks(nc, "DLQ.REDRIVE.DEAD", `{"all":true,"rate":150}`, &plan); err != nil || plan.Matched != letters {
				t.Fatalf("redrive: %+v, %v", plan, err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range changes {
				most := uint64(letters - (i+1)*letters/(changes+2))
				servertest.Eventually(t, "letters to be put back", func() bool { return from.logs[0].State().Messages <= most || t.Failed() })
				[]*group{from, target}[i%2].elect(random.IntN(3))
			}
			servertest.Eventually(t, "all to be put back", func() bool { return from.logs[0].State().Messages == 0 || t.Failed() })
			target.drain()
			seen := map[string]int{}
			for seq := uint64(letters + 1); seq <= target.logs[0].State().Last; seq++ {
				m, err := target.logs[0].Load(seq)
				if err != nil || !strings.Contains(string(m.Header), api.RedriveTo+": c\r\n") {
					t.Errorf("message %d has headers %q (%v)", seq, m.Header, err)
				}
				if seen[m.Subject]++; seen[m.Subject] > 1 {
					t.Errorf("%s is there %d times", m.Subject, seen[m.Subject])
				}
			}
			if len(seen) != letters {
				t.Errorf("%d letters are back, want %d", len(seen), letters)
			}
			target.lossy = false
			if c, d := w.drained(nc, "c"), w.drained(nc, "d"); c != letters || d != letters {
				t.Errorf("c gets %d messages, d %d, want %d each", c, d, letters)
			}
		})
	}
}

// asks makes a call of our own, and reads the answer.
func asks(nc *nats.Conn, subject, body string, into any) error {
	m, err := nc.Request("$RUNNEL.API."+subject, []byte(body), 2*time.Second)
	if err != nil {
		return err
	}
	var refused api.Response
	if err := json.Unmarshal(m.Data, &refused); err != nil {
		return err
	}
	if refused.Error != nil {
		return refused.Error
	}
	return json.Unmarshal(m.Data, into)
}

// bury publishes so many messages, and has consumer c of S give them up.
func (w *world) bury(nc *nats.Conn, letters int) {
	w.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range letters {
		if _, err := js.Publish(w.t.Context(), fmt.Sprint("s.", i), []byte("x")); err != nil {
			w.t.Fatal(err)
		}
	}
	consumer, err := js.Consumer(w.t.Context(), "S", "c")
	if err != nil {
		w.t.Fatal(err)
	}
	batch, err := consumer.Fetch(letters)
	if err != nil {
		w.t.Fatal(err)
	}
	for m := range batch.Messages() {
		if err := m.Term(); err != nil {
			w.t.Fatal(err)
		}
	}
	servertest.Eventually(w.t, "letters", func() bool { return w.group("DEAD").logs[0].State().Messages == uint64(letters) })
}

// drained returns how many messages a consumer of S gets that were not delivered to it yet, and acknowledges them.
func (w *world) drained(nc *nats.Conn, name string) (n int) {
	w.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	consumer, err := js.Consumer(w.t.Context(), "S", name)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		batch, err := consumer.Fetch(100, jetstream.FetchMaxWait(300*time.Millisecond))
		if err != nil {
			w.t.Fatal(err)
		}
		some := 0
		for m := range batch.Messages() {
			if about, err := m.Metadata(); err == nil && about.NumDelivered == 1 {
				n++
			}
			some++
			_ = m.Ack()
		}
		if some == 0 {
			return n
		}
	}
}

// TestPatternRedriveReplicas puts letters back while the server that leads the dead-letter stream dies, and then the one that leads the
// stream which they go to: each is there once, and whoever leads next goes on by itself.
func TestPatternRedriveReplicas(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()+"/"+servertest.ServerName))
	nc, err := nats.Connect(cluster.Servers[0].ClientURL()+","+cluster.Servers[1].ClientURL()+","+cluster.Servers[2].ClientURL(),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*servertest.Patience)
	defer cancel()
	for _, name := range []string{"S", "DEAD"} {
		servertest.Eventually(t, "a stream with three replicas", func() bool {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{strings.ToLower(name) + ".>"}, Replicas: 3})
			return err == nil
		})
	}
	c, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, Metadata: map[string]string{"runnel.dead_letter": "DEAD"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const letters = 200
	for i := range letters {
		if _, err := js.Publish(ctx, fmt.Sprint("s.", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := c.Fetch(letters)
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		_ = m.Term()
	}
	at := func(what string, is func(*api.DeadInfoAnswer) bool) {
		t.Helper()
		servertest.Eventually(t, what, func() bool {
			var info api.DeadInfoAnswer
			return asks(nc, "DLQ.INFO.DEAD", "", &info) == nil && is(&info)
		})
	}
	at("letters", func(i *api.DeadInfoAnswer) bool { return i.Messages == letters })
	if err := asks(nc, "DLQ.REDRIVE.DEAD", `{"all":true,"rate":40}`, &api.DeadRedriveAnswer{}); err != nil {
		t.Fatal(err)
	}
	at("some are back", func(i *api.DeadInfoAnswer) bool { return i.Messages < letters-10 })
	restartLeader(ctx, t, cluster, js, "DEAD")
	at("more are back", func(i *api.DeadInfoAnswer) bool { return i.Messages < letters-60 })
	restartLeader(ctx, t, cluster, js, "S")
	at("all are back", func(i *api.DeadInfoAnswer) bool { return i.Messages == 0 })
	at("it has ended", func(i *api.DeadInfoAnswer) bool { return i.Redrive == nil || i.Redrive.Ended != nil })
	s, err := js.Stream(ctx, "S")
	if err != nil || s.CachedInfo().State.LastSeq != 2*letters {
		t.Fatalf("S has %+v, %v", s, err)
	}
	seen := map[string]bool{}
	for seq := uint64(letters + 1); seq <= 2*letters; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil || seen[m.Subject] || m.Header.Get(api.RedriveTo) != "c" {
			t.Fatalf("message %d is %+v, %v", seq, m, err)
		}
		seen[m.Subject] = true
	}
}
