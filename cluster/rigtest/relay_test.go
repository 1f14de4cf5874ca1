//go:build unix

package rigtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/cluster/rigtest"
)

// answered is how long a request may take whose server has gone: 5 s, and more for a machine that is busy with other tests.
const answered = 8 * time.Second

// pull asks for messages of a consumer, and fails the test unless one, or a status that says why not, comes in time. Its reply subject
// has a subscription of its own: messages do not come on the subject that a request of the client would know again.
func pull(t *testing.T, nc *nats.Conn, consumer, body string) {
	asked := time.Now()
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err == nil {
		defer func() { _ = inbox.Unsubscribe() }()
		err = nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox.Subject, []byte(body))
	}
	if err != nil {
		t.Errorf("pull of %s: %v", consumer, err)
		return
	}
	m, err := inbox.NextMsg(answered)
	if err != nil {
		t.Errorf("pull of %s: %v after %v", consumer, err, time.Since(asked))
		return
	}
	t.Logf("pull of %s: %q %v after %v", consumer, m.Data, m.Header, time.Since(asked))
	if status := m.Header.Get("Status"); status != "" && status != "409" {
		t.Errorf("pull of %s: got %v, want a message or 409", consumer, m.Header)
	}
}

// TestPullsOfDeadLeader: pulls that wait at a leader that dies, and those that come before anybody knows or before there is another
// one, are answered; a client that consumes goes on without waiting for heartbeats. The leader is killed once, and once it is frozen,
// so that its connections stay.
func TestPullsOfDeadLeader(t *testing.T) {
	for name, harm := range map[string]func(n *rigtest.Node){"killed": (*rigtest.Node).Kill, "frozen": (*rigtest.Node).Pause} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rigtest.Start(t, rigtest.Config{Servers: 3, JetStream: true, SyncAlways: true})
			nc := c.Connect()
			c.CreateStream(nc, stream, 3)
			c.WaitReplicas(nc, stream)
			dead := c.Leader(nc, stream)
			client := c.Others(dead)[0].Connect()
			got := consume(t, client, "EATER")
			for _, name := range []string{"WAITING", "LATE"} {
				makeConsumer(t, client, name)
			}
			publish(t, client, 0)
			await(t, got)
			var running sync.WaitGroup
			pull(t, client, "WAITING", `{"batch":1}`) // which there is
			running.Go(func() { pull(t, client, "WAITING", `{"batch":10,"expires":30000000000}`) })
			rigtest.Eventually(t, "a pull that waits", func() error { return waits(client, "WAITING") })
			harm(dead)
			began := time.Now()
			for i := range pulls {
				running.Go(func() { pull(t, client, "LATE", `{"batch":1,"expires":20000000000}`) })
				if i%5 == 4 {
					c.Pass(100 * time.Millisecond)
				}
			}
			publish(t, client, 0)
			await(t, got)
			if took := time.Since(began); took > answered {
				t.Errorf("who consumes went on after %v", took)
			} else {
				t.Logf("who consumes went on after %v", took)
			}
			publish(t, client, pulls) // for those whose pulls wait at the new leader
			running.Wait()
			if name == "frozen" {
				dead.Resume()
			} else {
				dead.Start()
			}
			c.WaitReady()
		})
	}
}

// pulls is how many come before there is a new leader.
const pulls = 10

// waits is nil when a pull of a consumer waits for messages.
func waits(nc *nats.Conn, consumer string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), rigtest.Patience)
	defer cancel()
	c, err := js.Consumer(ctx, stream, consumer)
	if err != nil {
		return err
	}
	if c.CachedInfo().NumWaiting == 0 {
		return errors.New("none waits")
	}
	return nil
}

// makeConsumer makes a durable consumer of the stream.
func makeConsumer(t *testing.T, nc *nats.Conn, name string) jetstream.Consumer {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), rigtest.Patience)
	defer cancel()
	made, err := js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// consume reads all messages with the defaults of the client, which notices a leader that is gone by itself after 30 s.
func consume(t *testing.T, nc *nats.Conn, name string) <-chan string {
	t.Helper()
	got := make(chan string, 1000)
	reading, err := makeConsumer(t, nc, name).Consume(func(m jetstream.Msg) {
		_ = m.Ack()
		got <- string(m.Data())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reading.Stop)
	return got
}

// await waits for one message.
func await(t *testing.T, got <-chan string) {
	t.Helper()
	select {
	case <-got:
	case <-time.After(rigtest.Patience):
		t.Fatal("no message comes")
	}
}

// publish stores messages, at least one, again and again until they are acknowledged.
func publish(t *testing.T, nc *nats.Conn, more int) {
	t.Helper()
	for i := range more + 1 {
		rigtest.Eventually(t, "an acknowledgement", func() error {
			_, err := nc.Request(stream+".x", fmt.Append(nil, i), time.Second)
			return err
		})
	}
}

// TestReadsOfDeadReplica: direct gets of a client whose server has no replica are answered by one that is there, also before anybody
// knows that another one is frozen.
func TestReadsOfDeadReplica(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{Servers: 3, JetStream: true, SyncAlways: true})
	nc := c.Connect()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}, Replicas: 2, AllowDirect: true}
	if _, err := rigtest.Retry(func(ctx context.Context) error { _, err := js.CreateOrUpdateStream(ctx, cfg); return err }); err != nil {
		t.Fatal(err)
	}
	c.WaitReplicas(nc, stream)
	publish(t, nc, 0)
	info, err := rigtest.StreamInfo(nc, stream)
	if err != nil {
		t.Fatal(err)
	}
	frozen := c.Node(info.Cluster.Leader)
	var client *nats.Conn
	for _, n := range c.Others(frozen) {
		if n.Name != info.Cluster.Replicas[0].Name {
			client = n.Connect()
		}
	}
	c.Pass(2 * time.Second) // until both replicas answer
	frozen.Pause()
	var running sync.WaitGroup
	for range 4 {
		for range 20 {
			running.Go(func() {
				asked := time.Now()
				m, err := client.Request("$JS.API.DIRECT.GET."+stream, []byte(`{"seq":1}`), answered)
				if err != nil || string(m.Data) != "0" {
					t.Errorf("got %+v, %v after %v, want the message", m, err, time.Since(asked))
				}
			})
		}
		c.Pass(500 * time.Millisecond)
	}
	running.Wait()
	frozen.Resume()
	c.WaitReady()
}
