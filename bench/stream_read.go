package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// readScenarios read what was stored before.
func readScenarios() []Scenario {
	const messages = 200_000
	return []Scenario{
		{
			Name: "fetch", Explanation: "Reads a stream with a pull consumer, one batch after the other, and acknowledges every message; ends when the server has all acknowledgements.",
			Variants: []Params{{SizeBytes: 128, Subscribers: 1, Batch: 500, Messages: messages}},
			load:     messages, fan: noDelivery, label: byBatch, run: runFetch, alone: true, counted: true,
		},
		{
			Name: "consume", Explanation: "N clients read a stream through one pull consumer, each with requests that overlap, and acknowledge every message; ends when the server has all acknowledgements.",
			Variants: []Params{
				{SizeBytes: 128, Subscribers: 1, Batch: 500, Messages: messages},
				{SizeBytes: 128, Subscribers: 8, Batch: 500, Messages: messages},
			},
			load: messages, fan: noDelivery, label: bySubscribers, run: runConsume, alone: true, counted: true,
		},
		{
			Name: "ordered", Explanation: "N clients read the whole stream, each with an ordered consumer: replay, without acknowledgements.",
			Variants: []Params{{SizeBytes: 128, Subscribers: 1, Batch: 500, Messages: messages}},
			load:     messages, fan: noDelivery, label: bySubscribers, run: runOrdered, alone: true, counted: true,
		},
	}
}

// byBatch labels a case by the size of its batches.
func byBatch(p Params) string { return fmt.Sprintf("%d%s", p.Batch, bySize(p)) }

// reading is the reading of a stream that was filled before.
type reading struct {
	*stored
	readers []*listener
	shared  bool // the readers together get every message, rather than each of them
}

// withFilled fills a stream and then measures work, which ends when everything was read.
func withFilled(ctx context.Context, s *session, work func(context.Context, *reading) error) error {
	return withStream(ctx, s, func(ctx context.Context, st *stored) error {
		n := s.params.Messages
		s.total.Store(n)
		p, err := st.newAsync(ctx, []string{st.subject()}, fillInflight)
		if err != nil {
			return err
		}
		p.untimed = true
		if err := p.send(ctx, n, time.Time{}); err != nil {
			return fmt.Errorf("fill the stream: %w", err)
		}
		if err := st.holds(ctx, uint64(n), n); err != nil {
			return err
		}
		s.total.Store(0) // the end of filling is no end
		r := &reading{stored: st}
		s.begin()
		err = work(ctx, r)
		s.end(s.delivered(), 0)
		r.settle(err)
		return err
	})
}

// subject is that of all messages where one is enough.
func (st *stored) subject() string { return st.prefix + ".0" }

// reader adds a reader.
func (r *reading) reader() *listener {
	l := newListener(r.session, listenerPlan{conn: len(r.readers), pattern: r.subject(), lanes: all(1)})
	if l.verifier != nil && r.shared {
		l.verifier.AllowOvertaking()
	}
	r.readers = append(r.readers, l)
	return l
}

// settle judges what was read.
func (r *reading) settle(err error) {
	sent := map[uint32]uint64{0: uint64(r.params.Messages)}
	if interrupted(err) {
		sent = nil
	}
	if r.shared {
		r.measure.settle(sent, r.readers)
		return
	}
	for i := range r.readers {
		r.measure.settle(sent, r.readers[i:i+1])
	}
}

// durable makes the consumer whose messages are acknowledged.
func (r *reading) durable(ctx context.Context) (jetstream.Consumer, error) {
	c, err := r.js.CreateConsumer(ctx, r.name, jetstream.ConsumerConfig{
		Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("create consumer: %w", err)
	}
	return c, nil
}

// settled waits until the server says that everything is acknowledged.
func (r *reading) settled(ctx context.Context, c jetstream.Consumer) error {
	for {
		info, err := c.Info(ctx)
		if err != nil {
			return fmt.Errorf("look at the consumer: %w", err)
		}
		if info.AckFloor.Stream == uint64(r.params.Messages) && info.NumAckPending == 0 {
			if info.NumRedelivered != 0 || info.NumPending != 0 {
				return fmt.Errorf("the consumer has %d redelivered and %d pending after all was acknowledged", info.NumRedelivered, info.NumPending)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollInterval):
		}
	}
}

// runFetch reads batch after batch.
func runFetch(ctx context.Context, s *session) error {
	return withFilled(ctx, s, func(ctx context.Context, r *reading) error {
		c, err := r.durable(ctx)
		if err != nil {
			return err
		}
		reader := r.reader()
		for left := s.params.Messages; left > 0; {
			batch, err := c.Fetch(int(min(left, int64(s.params.Batch))), jetstream.FetchMaxWait(flushWait))
			if err != nil {
				return fmt.Errorf("fetch: %w", err)
			}
			for m := range batch.Messages() {
				reader.read(m.Subject(), m.Data())
				if err := m.Ack(); err != nil {
					return fmt.Errorf("acknowledge: %w", err)
				}
				left--
			}
			if err := errors.Join(context.Cause(ctx), batch.Error()); err != nil {
				return fmt.Errorf("fetch: %w", err)
			}
		}
		return r.settled(ctx, c)
	})
}

// runConsume has several clients share a consumer.
func runConsume(ctx context.Context, s *session) error {
	return withFilled(ctx, s, func(ctx context.Context, r *reading) error {
		r.shared = s.params.Subscribers > 1
		c, err := r.durable(ctx)
		if err != nil {
			return err
		}
		stop, err := r.consumeAll(ctx, true, func(js jetstream.JetStream) (jetstream.Consumer, error) {
			return js.Consumer(ctx, r.name, "reader")
		})
		defer stop()
		if err != nil {
			return err
		}
		if err := s.waitFor(ctx, func() bool { return s.delivered() >= s.params.Messages }); err != nil {
			return err
		}
		return r.settled(ctx, c)
	})
}

// runOrdered has several clients read everything.
func runOrdered(ctx context.Context, s *session) error {
	return withFilled(ctx, s, func(ctx context.Context, r *reading) error {
		stop, err := r.consumeAll(ctx, false, func(js jetstream.JetStream) (jetstream.Consumer, error) {
			return js.OrderedConsumer(ctx, r.name, jetstream.OrderedConsumerConfig{})
		})
		defer stop()
		if err != nil {
			return err
		}
		return s.waitFor(ctx, func() bool { return s.delivered() >= s.params.Messages*int64(s.params.Subscribers) })
	})
}

// consumeAll begins to read with every client, each on a connection and with a consumer of its
// own. The function that it returns ends the reading, also after an error.
func (r *reading) consumeAll(ctx context.Context, ack bool, open func(jetstream.JetStream) (jetstream.Consumer, error)) (stop func(), err error) {
	var running []jetstream.ConsumeContext
	stop = func() {
		for _, c := range running {
			c.Stop()
		}
	}
	for range r.params.Subscribers {
		nc, err := r.connect(ctx)
		if err != nil {
			return stop, err
		}
		js, err := r.jetStream(nc)
		if err != nil {
			return stop, err
		}
		c, err := open(js)
		if err != nil {
			return stop, fmt.Errorf("open consumer: %w", err)
		}
		reading, err := r.consume(c, ack)
		if err != nil {
			return stop, err
		}
		running = append(running, reading)
	}
	return stop, nil
}

// consume begins to read with one client.
func (r *reading) consume(c jetstream.Consumer, ack bool) (jetstream.ConsumeContext, error) {
	reader := r.reader()
	handle := func(m jetstream.Msg) {
		if ack {
			if err := m.Ack(); err != nil {
				r.fail(fmt.Errorf("acknowledge: %w", err))
			}
		}
		// Counted last: who sees the count finds the acknowledgement sent.
		reader.read(m.Subject(), m.Data())
	}
	reading, err := c.Consume(handle, jetstream.PullMaxMessages(r.params.Batch), jetstream.PullHeartbeat(readerHeartbeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) { r.complain(err) }))
	if err != nil {
		return nil, fmt.Errorf("consume: %w", err)
	}
	return reading, nil
}

// readerHeartbeat is how often a server that has nothing says so. After two that
// are missing a client asks again, which has to be well within DefaultStall.
const readerHeartbeat = 2 * time.Second

// complain ends the run for what the client has met. A missed heartbeat is not
// enough for that: the client asks again by itself, and may only have forgotten
// to ask, which happens when messages come faster than it notes that it has
// asked for them. A server that sends nothing ends the run as stalled.
func (r *reading) complain(err error) {
	if !errors.Is(err, jetstream.ErrNoHeartbeat) {
		r.fail(fmt.Errorf("consume: %w", err))
	}
}
