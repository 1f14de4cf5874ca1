//go:build unix

package rigtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/cluster/rigtest"
)

// TestWorkersHoldMessages: when the leader ends while workers have messages in hand, its successor knows of them. Nobody
// else gets them before their time for an answer is over, and acknowledgements from before are good.
func TestWorkersHoldMessages(t *testing.T) {
	t.Parallel()
	const held, all, wait = 20, 50, time.Minute
	c := rigtest.Start(t, rigtest.Config{JetStream: true})
	c.CreateStream(c.Connect(), stream, 3)
	leader := c.Leader(c.Connect(), stream)
	nc := rigtest.Connect(t, c.Others(leader))
	c.WaitReplicas(nc, stream)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	info, err := rigtest.StreamInfo(nc, stream)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if _, err := js.Publish(ctx, info.Config.Subjects[0], fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	consumer, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: "HOLD", AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait, MaxDeliver: 1, MaxAckPending: all,
	})
	if err != nil {
		t.Fatal(err)
	}
	before := fetch(t, consumer, held, 10*time.Second)
	leader.Kill()
	rigtest.Eventually(t, "a leader that is left", func() error {
		if l := c.Leader(nc, stream); l == leader {
			return fmt.Errorf("%s still leads", l.Name)
		}
		return nil
	})
	seen := make(map[uint64]bool)
	for _, m := range append(before, fetch(t, consumer, all-held, 10*time.Second)...) {
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if seen[meta.Sequence.Stream] || meta.NumDelivered != 1 {
			t.Errorf("message %d comes with delivery %d, seen before %v", meta.Sequence.Stream, meta.NumDelivered, seen[meta.Sequence.Stream])
		}
		seen[meta.Sequence.Stream] = true
		if err := m.DoubleAck(ctx); err != nil {
			t.Errorf("acknowledge message %d: %v", meta.Sequence.Stream, err)
		}
	}
	state, err := consumer.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if state.AckFloor.Stream != all || state.NumAckPending != 0 || state.NumRedelivered != 0 {
		t.Errorf("in the end the ack floor is %d of %d, %d wait, %d were redelivered", state.AckFloor.Stream, all, state.NumAckPending, state.NumRedelivered)
	}
}

// fetch gets so many messages from a consumer.
func fetch(t *testing.T, consumer jetstream.Consumer, count int, wait time.Duration) (list []jetstream.Msg) {
	t.Helper()
	rigtest.Eventually(t, fmt.Sprintf("%d messages", count), func() error {
		batch, err := consumer.Fetch(count-len(list), jetstream.FetchMaxWait(wait))
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			list = append(list, m)
		}
		if len(list) < count {
			return fmt.Errorf("there are %d: %w", len(list), batch.Error())
		}
		return nil
	})
	return list
}
