package soak

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gapMost is how long a publisher to a stream may wait for its acknowledgement while others misbehave. It is long, since clients and
// server share a machine, and in tests with others.
const gapMost = 30 * time.Second

// beside publishes to the stream while f runs, and wants it to be acknowledged without a long pause.
func (r *rig) beside(ctx context.Context, f func(context.Context) error) error {
	publishing, stop := context.WithCancel(ctx)
	defer stop()
	longest := make(chan time.Duration, 1)
	go func() { longest <- r.ledger.keep(publishing, 1<<10) }()
	err := f(ctx)
	stop()
	if gap := <-longest; gap > gapMost {
		r.violated("a publisher to the stream waited for %v meanwhile", gap.Round(time.Millisecond))
	} else {
		r.noted("longest wait of a publisher %v", gap.Round(time.Millisecond))
	}
	return err
}

// slowSubscribers has subscribers that never read, and one that does and must get everything.
func slowSubscribers(ctx context.Context, r *rig) error {
	var mute crowd
	defer mute.leave(true)
	address := r.server.Config().Client
	if err := mute.joinAll(ctx, address, r.load.Consumers, 64, func(int) string { return "SUB soak.core 1\r\n" }); err != nil {
		return err
	}
	reader, err := connect(r.server.ClientURL())
	if err != nil {
		return err
	}
	defer reader.Close()
	var got atomic.Int64
	sub, err := reader.Subscribe("soak.core", func(*nats.Msg) { got.Add(1) })
	if err == nil {
		// The one that reads may fall behind as far as it likes on its side: only what the server drops is to be seen.
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = reader.Flush()
	}
	if err != nil {
		return err
	}
	return r.beside(ctx, func(ctx context.Context) error {
		sent, err := r.chatter(ctx)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, settleTime)
		defer cancel()
		if !until(limited, func() bool { return got.Load() == sent }) {
			r.violated("the subscriber that reads got %d of %d messages", got.Load(), sent)
		}
		r.noted("%d messages for %d subscribers that do not read", sent, r.load.Consumers)
		return nil
	})
}

// chatter publishes to all who subscribe, for the length of the load.
func (r *rig) chatter(ctx context.Context) (sent int64, err error) {
	nc, err := connect(r.server.ClientURL())
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	payload := make([]byte, 4<<10)
	for end := time.Now().Add(r.load.Length); time.Now().Before(end) && ctx.Err() == nil; {
		for range 16 {
			if err := nc.Publish("soak.core", payload); err != nil {
				return sent, err
			}
			sent++
		}
		if err := nc.FlushTimeout(settleTime); err != nil {
			return sent, fmt.Errorf("publish to who does not read: %w", err)
		}
	}
	return sent, nil
}

// slowConsumers has consumers that ask for all that a stream has, or are pushed it, and never read.
func slowConsumers(ctx context.Context, r *rig) error {
	if err := r.ledger.some(ctx, 500, 16<<10); err != nil {
		return err
	}
	var mute crowd
	defer mute.leave(true)
	names := make([]string, r.load.Consumers)
	for i := range names {
		names[i] = fmt.Sprintf("mute%d", i)
		if err := r.consumer(ctx, names[i], i); err != nil {
			return err
		}
	}
	err := mute.joinAll(ctx, r.server.Config().Client, len(names), 64, func(i int) string {
		say := fmt.Sprintf("SUB %s 1\r\n", muteSubject(i))
		if asks(i) {
			const ask = `{"batch":100000,"expires":600000000000}`
			say += fmt.Sprintf("PUB $JS.API.CONSUMER.MSG.NEXT.%s.%s %s %d\r\n%s\r\n", streamName, names[i], muteSubject(i), len(ask), ask)
		}
		return say
	})
	if err != nil {
		return err
	}
	err = r.beside(ctx, func(ctx context.Context) error {
		var reading sync.WaitGroup
		var failed error
		reading.Go(func() { _, failed = r.ledger.read(ctx) })
		wait(ctx, r.load.Length)
		reading.Wait()
		if failed != nil {
			r.violated("a consumer that reads: %v", failed)
		}
		return nil
	})
	// They go before the server is judged: what a consumer keeps while it exists is not to be given back.
	mute.leave(true)
	for _, name := range names {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		if gone := r.ledger.js.DeleteConsumer(limited, streamName, name); gone != nil && err == nil {
			r.violated("delete a consumer: %v", gone)
		}
		cancel()
	}
	return err
}

// muteSubject is where one of the clients that do not read gets its messages.
func muteSubject(i int) string { return fmt.Sprintf("soak.to.%d", i) }

// asks reports whether one of these clients asks for messages; the others are pushed to.
func asks(i int) bool { return i%2 == 0 }

// consumer makes the one of such a client.
func (r *rig) consumer(ctx context.Context, name string, i int) error {
	cfg := jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckNonePolicy, MaxWaiting: 512}
	if asks(i) {
		_, err := r.ledger.js.CreateConsumer(ctx, streamName, cfg)
		return err
	}
	cfg.MaxWaiting, cfg.DeliverSubject = 0, muteSubject(i)
	_, err := r.ledger.js.CreatePushConsumer(ctx, streamName, cfg)
	return err
}

// wait waits for so long, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
