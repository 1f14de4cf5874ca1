package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/servertest"
)

// takings are the messages that workers have got of a consumer with a filter, and acknowledged.
type takings struct {
	mu    sync.Mutex // guards everything below
	wrong []string   // what the filter should have left out
	times map[uint64]int
	first map[uint64]int // deliveries that said that they were the first one
}

func (k *takings) take(m jetstream.Msg) error {
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if (about.Sequence.Stream-1)%filterEvery != 0 {
		k.wrong = append(k.wrong, fmt.Sprint(about.Sequence.Stream))
	}
	k.times[about.Sequence.Stream]++
	if about.NumDelivered == 1 {
		k.first[about.Sequence.Stream]++
	}
	return nil
}

func (k *takings) number() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.times)
}

// filterEvery: of so many messages one matches the filter.
const filterEvery = 5

// TestPatternFilterReplicas has a consumer with a content filter on a stream with three replicas, and stops the server that leads it in the
// middle, twice. All that matches is delivered, nothing else is, a delivery is never counted twice, and what was passed over counts as done: the ack floor comes to
// the end of the stream, whoever leads it.
func TestPatternFilterReplicas(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()+"/"+servertest.ServerName))
	nc, err := nats.Connect(cluster.Servers[0].ClientURL()+","+cluster.Servers[1].ClientURL()+","+cluster.Servers[2].ClientURL(),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	servertest.Eventually(t, "a stream with three replicas", func() bool {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: 3})
		return err == nil
	})
	_, err = js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{
		Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second, MaxAckPending: 50,
		Metadata: map[string]string{"runnel.filter": `{"total":[{"numeric":[">=",100]}]}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 1000
	for i := range messages {
		total := 5
		if i%filterEvery == 0 {
			total = 100 + i
		}
		if _, err := js.Publish(ctx, "s.a", fmt.Appendf(nil, `{"total":%d}`, total)); err != nil {
			t.Fatal(err)
		}
	}
	k := &takings{times: map[uint64]int{}, first: map[uint64]int{}}
	for round := 0; k.number() < messages/filterEvery && ctx.Err() == nil; round++ {
		if round == 2 || round == 5 {
			restartLeader(ctx, t, cluster, js, "S")
		}
		consumer, err := js.Consumer(ctx, "S", "c")
		if err != nil {
			continue // nobody leads, or its server is away
		}
		batch, err := consumer.Fetch(20, jetstream.FetchMaxWait(500*time.Millisecond))
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			if err := k.take(m); err != nil {
				t.Fatal(err)
			}
			_ = m.Ack() // if that is lost the message comes again
		}
	}
	for i := uint64(1); i <= messages; i += filterEvery {
		if k.times[i] == 0 || k.first[i] > 1 {
			t.Errorf("message %d was delivered %d times, %d times for the first time", i, k.times[i], k.first[i])
		}
	}
	if len(k.wrong) > 0 {
		t.Errorf("delivered although the filter leaves them out: %v", k.wrong)
	}
	settled := func() bool {
		c, err := js.Consumer(ctx, "S", "c")
		if err != nil {
			return false
		}
		if batch, err := c.FetchNoWait(50); err == nil { // what comes again, since its acknowledgement was lost
			for m := range batch.Messages() {
				_ = m.DoubleAck(ctx)
			}
		}
		info, err := c.Info(ctx)
		return err == nil && info.AckFloor.Stream == messages && info.NumPending == 0 && info.NumAckPending == 0
	}
	servertest.Eventually(t, "the ack floor to be at the end", settled)
	restartLeader(ctx, t, cluster, js, "S")
	servertest.Eventually(t, "the ack floor to be there with another leader", settled)
}
