package jetstream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestClusterPublishUnderChange: whoever publishes to a stream while its leaders come and go learns what has become of the message, or
// that nobody has it: nobody waits in vain, nothing that was acknowledged is missing, and nothing is there twice.
func TestClusterPublishUnderChange(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	s := w.group("S")
	s.handsOver = true
	const each, changes = 60, 12
	var working sync.WaitGroup
	for i := range 6 {
		nc := w.connect()
		working.Go(func() {
			for n := range each {
				for {
					_, err := nc.Request("s.a", fmt.Appendf(nil, "%d-%d", i, n), servertest.Patience)
					if err == nil {
						break
					}
					if !errors.Is(err, nats.ErrNoResponders) {
						t.Errorf("message %d-%d: %v", i, n, err)
						return
					}
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range changes {
		want := uint64((i + 1) * 6 * each / (changes + 2))
		servertest.Eventually(t, "messages to come in", func() bool { return s.logs[0].State().Last >= want || t.Failed() })
		s.elect(random.IntN(3))
	}
	working.Wait()
	s.drain()
	seen := map[string]bool{}
	for seq := uint64(1); seq <= s.logs[0].State().Last; seq++ {
		m, err := s.logs[0].Load(seq)
		if err != nil || seen[string(m.Payload)] {
			t.Fatalf("message %d, %q: there twice, or %v", seq, m.Payload, err)
		}
		seen[string(m.Payload)] = true
	}
	if len(seen) != 6*each {
		t.Errorf("there are %d messages, want %d", len(seen), 6*each)
	}
}

// TestClusterAcknowledgeUnderChange: who acknowledges a message and waits for the confirmation gets it, or learns that it is to be asked
// for again.
func TestClusterAcknowledgeUnderChange(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit","ack_wait":60000000000}}`, nil)
	const messages, changes = 120, 8
	for i := range messages {
		if _, err := nc.Request("s.a", fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	s := w.group("S")
	s.handsOver = true
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	sub, err := js.PullSubscribe("", "c", nats.Bind("S", "c"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	var electing sync.WaitGroup
	for done := 0; done < messages && !t.Failed(); {
		list, _ := sub.Fetch(1, nats.MaxWait(time.Second)) // nobody may lead
		for _, m := range list {
			if done%(messages/changes) == 0 {
				electing.Go(func() { s.elect(random.IntN(3)) })
			}
			for {
				_, err := nc.Request(m.Reply, nil, servertest.Patience)
				if err == nil {
					break
				}
				if !errors.Is(err, nats.ErrNoResponders) {
					t.Fatalf("acknowledge message %s: %v", m.Data, err)
				}
			}
			electing.Wait()
			done++
		}
	}
	var info struct {
		Floor struct {
			Stream uint64 `json:"stream_seq"`
		} `json:"ack_floor"`
	}
	servertest.Eventually(t, "all to be acknowledged", func() bool {
		w.must(nc, "CONSUMER.INFO.S.c", "", &info)
		return info.Floor.Stream == messages
	})
}
