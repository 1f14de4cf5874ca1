package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/bench/verify"
)

const (
	// opTime is how long scenarios run that do one thing after the other.
	opTime = 3 * time.Second
	// fillInflight is how many publishes are under way while a stream is filled.
	fillInflight = 1024
)

// publishScenarios store messages.
func publishScenarios() []Scenario {
	return []Scenario{
		{
			Name: "publish", Explanation: "N publishers, each on its own connection, wait for every acknowledgement before they send the next message: what a careful client sees.",
			Variants: []Params{
				{SizeBytes: 128, Publishers: 1, Duration: opTime},
				{SizeBytes: 128, Publishers: 16, Duration: opTime},
			},
			load: 1, fan: noDelivery, label: byPublishers, run: runStreamPublish, alone: true,
		},
		{
			Name: "async", Explanation: "One publisher with up to N messages that are not acknowledged yet: how much a connection can store.",
			Variants: []Params{
				{SizeBytes: 128, Publishers: 1, Inflight: 16, Duration: opTime},
				{SizeBytes: 128, Publishers: 1, Inflight: 256, Duration: opTime},
				{SizeBytes: 128, Publishers: 1, Inflight: 4096, Duration: opTime},
				{SizeBytes: 16 << 10, Publishers: 1, Inflight: 256, Duration: opTime},
			},
			load: 1, fan: noDelivery, label: byInflight, run: runStreamAsync, alone: true,
		},
		{
			Name: "paced", Explanation: "Messages at a fixed rate, up to 256 not acknowledged yet: how long an acknowledgement takes where nothing queues, counted from the moment each message was due.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Inflight: 256, Rate: 500, Duration: opTime}},
			load:     1, fan: noDelivery, label: bySize, run: runStreamAsync, alone: true,
		},
		{
			Name: "filters", Explanation: "A stream has N consumers that nobody reads, each with a filter subject of its own; one publisher with 256 messages in flight sends to all these subjects: what consumers cost that a message does not concern.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Subjects: 1000, Inflight: 256, Duration: opTime}},
			load:     1, fan: noDelivery, label: bySubjects, run: runStreamFilters, alone: true,
		},
	}
}

// runStreamPublish waits for each acknowledgement.
func runStreamPublish(ctx context.Context, s *session) error {
	return withStream(ctx, s, func(ctx context.Context, st *stored) error {
		clients := make([]jetstream.JetStream, s.params.Publishers)
		payloads := make([]*verify.Payload, len(clients))
		for i := range clients {
			nc, err := s.connect(ctx)
			if err != nil {
				return err
			}
			if clients[i], err = s.jetStream(nc); err != nil {
				return err
			}
			payloads[i] = verify.NewPayload(s.params.SizeBytes, uint32(i))
		}
		subject := st.subject()
		o := &operations{session: s, workers: len(clients), do: func(ctx context.Context, worker int, n uint64, _ time.Time) error {
			begun := time.Now()
			ack, err := clients[worker].Publish(ctx, subject, payloads[worker].Stamped(n, 0))
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
			st.acks.note(ack.Stream, ack.Sequence, ack.Duplicate, time.Since(begun))
			return nil
		}}
		if err := o.run(ctx); err != nil {
			return err
		}
		return st.holds(ctx, o.next.Load(), s.published.Load())
	})
}

// runStreamAsync keeps a number of messages under way.
func runStreamAsync(ctx context.Context, s *session) error {
	return withStream(ctx, s, func(ctx context.Context, st *stored) error {
		return st.publishAll(ctx, []string{st.subject()})
	})
}

// runStreamFilters publishes beside many consumers.
func runStreamFilters(ctx context.Context, s *session) error {
	return withStream(ctx, s, func(ctx context.Context, st *stored) error {
		s.total.Store(int64(s.params.Subjects))
		subjects := make([]string, s.params.Subjects)
		for i := range subjects {
			subjects[i] = s.prefix + "." + strconv.Itoa(i)
			_, err := st.js.CreateConsumer(ctx, st.name, jetstream.ConsumerConfig{
				Durable: "c" + strconv.Itoa(i), FilterSubject: subjects[i], AckPolicy: jetstream.AckExplicitPolicy,
			})
			if err != nil {
				return fmt.Errorf("create consumer %d: %w", i, err)
			}
			s.opened.Add(1)
		}
		s.total.Store(0)
		if err := st.publishAll(ctx, subjects); err != nil {
			return err
		}
		return st.pending(ctx, len(subjects))
	})
}

// pending checks that consumer i of n has to deliver every message on its subject.
func (st *stored) pending(ctx context.Context, n int) error {
	for i := 0; i < n && st.target.Verify; i += max(1, n/20) {
		c, err := st.js.Consumer(ctx, st.name, "c"+strconv.Itoa(i))
		if err != nil {
			return fmt.Errorf("look at consumer %d: %w", i, err)
		}
		total := uint64(st.published.Load())
		want := total / uint64(n)
		if uint64(i) < total%uint64(n) {
			want++
		}
		if got := c.CachedInfo().NumPending; got != want {
			return fmt.Errorf("consumer %d has %d messages pending of the %d on its subject", i, got, want)
		}
	}
	return nil
}

// publishAll does the warm-up and the measured phase of a publisher that does not wait for each
// acknowledgement.
func (st *stored) publishAll(ctx context.Context, subjects []string) error {
	s := st.session
	p, err := st.newAsync(ctx, subjects, s.params.Inflight)
	if err != nil {
		return err
	}
	warm := s.warmUp()
	if s.params.Messages > 0 {
		s.total.Store(s.params.Messages + warm)
	}
	if err := p.send(ctx, warm, time.Time{}); err != nil {
		return err
	}
	st.acks.restart()
	before := s.published.Load()
	s.begin()
	var until time.Time
	if s.params.Duration > 0 {
		until = s.measure.begun.Add(s.params.Duration)
	}
	err = p.send(ctx, s.params.Messages, until)
	s.end(s.published.Load()-before, 0)
	st.acks.addLatency(&s.measure)
	if err != nil {
		return err
	}
	return st.holds(ctx, p.next, s.published.Load())
}

// async publishes numbered messages without waiting for each acknowledgement. It is used by one
// goroutine at a time.
type async struct {
	*stored
	js       jetstream.JetStream
	subjects []string // used in turn
	payload  *verify.Payload
	untimed  bool   // messages do not say when they were sent
	next     uint64 // sequence of the next message

	free  chan *nats.Msg // messages that are not under way
	acked atomic.Uint64
}

// newAsync prepares a publisher on a connection of its own, with as many messages as may be under
// way.
func (st *stored) newAsync(ctx context.Context, subjects []string, inflight int) (*async, error) {
	nc, err := st.connect(ctx)
	if err != nil {
		return nil, err
	}
	size := max(st.params.SizeBytes, verify.StampBytes) // the stamp says when it was sent
	p := &async{stored: st, subjects: subjects, payload: verify.NewPayload(size, 0), free: make(chan *nats.Msg, inflight)}
	for range inflight {
		p.free <- &nats.Msg{Data: make([]byte, size)}
	}
	p.js, err = st.jetStream(nc,
		jetstream.WithPublishAsyncMaxPending(2*inflight), // ours is the limit that counts
		jetstream.WithPublishAsyncAckHandler(p.done),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) {
			st.fail(fmt.Errorf("publish: %w", err))
		}))
	return p, err
}

// done handles an acknowledgement.
func (p *async) done(_ jetstream.JetStream, m *nats.Msg, ack *jetstream.PubAck) {
	p.acks.note(ack.Stream, ack.Sequence, ack.Duplicate, p.clock.since(verify.DecodeStamp(m.Data).Due))
	p.published.Add(1)
	p.acked.Add(1)
	p.free <- m
}

// send publishes n messages (0 with a deadline: until then) and returns when all are acknowledged.
func (p *async) send(ctx context.Context, n int64, until time.Time) error {
	if n == 0 && until.IsZero() {
		return nil
	}
	paced := p.params.Rate > 0 && !until.IsZero()
	var plan spread
	if paced {
		lockPreciseTimer()
		plan = newSpread(time.Now(), p.params.Rate, 0, 1)
	}
	for i := int64(0); n == 0 || i < n; i++ {
		due := time.Now()
		if paced {
			due = plan.due(uint64(i))
		}
		if !until.IsZero() && !due.Before(until) {
			break
		}
		if paced {
			if err := sleepUntil(ctx, due); err != nil {
				return context.Cause(ctx)
			}
		}
		if err := p.publish(ctx, due); err != nil {
			return err
		}
	}
	return p.waitFor(ctx, func() bool { return p.acked.Load() == p.next })
}

// publish sends the next message when there is room for it.
func (p *async) publish(ctx context.Context, due time.Time) error {
	var m *nats.Msg
	select {
	case m = <-p.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.params.Rate == 0 {
		due = time.Now() // waiting for room was not the server's time alone
	}
	ticks := p.clock.ticks(due)
	if p.untimed {
		ticks = 0
	}
	copy(m.Data, p.payload.Stamped(p.next, ticks))
	m.Subject, m.Reply = p.subjects[p.next%uint64(len(p.subjects))], ""
	if _, err := p.js.PublishMsgAsync(m); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	p.next++
	return nil
}
