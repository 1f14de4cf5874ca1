package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// queueLoad is W3. Messages leave the stream when they are acknowledged, so what is neither acknowledged nor there is lost.
type queueLoad struct{ *load }

const (
	queueConsumer = "workers"
)

func openQueue(l *load) part { return &queueLoad{l} }

// setup makes the stream and its consumer, which gives up nothing: what is not acknowledged comes again for ever.
func (w *queueLoad) setup(ctx context.Context) error {
	cfg := w.stream(QueueStream, "w3.>")
	cfg.Retention = jetstream.WorkQueuePolicy
	if err := w.create(ctx, cfg); err != nil {
		return err
	}
	return w.createConsumer(ctx, QueueStream, w.sharedBy(queueConsumer))
}

// sharedBy is the configuration of a consumer of this name that workers share.
func (l *load) sharedBy(name string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.cfg.AckWait, MaxAckPending: 1000}
}

// run has half of the processes write, and the other half work, carelessly. The workers end with the writers.
func (w *queueLoad) run(ctx context.Context) error {
	writers, workers := w.halves()
	k, err := w.start(ctx, workers, !rated, func(ctx context.Context, c *client) {
		h := &worker{client: c, stream: QueueStream, consumer: queueConsumer}
		for h.connected(ctx) {
			h.round(ctx, 1+c.chance.IntN(5), h.careless)
		}
	})
	if err != nil {
		return err
	}
	err = w.work(ctx, writers, writer(QueueStream, keyed("w3")))
	k.end()
	return err
}

// finish has all that is left acknowledged, and looks at what is stored nevertheless.
func (w *queueLoad) finish(ctx context.Context) error {
	err := w.empty(ctx, QueueStream, queueConsumer, "", 50)
	return errors.Join(err, w.finals(ctx, QueueStream, subjectKey, false))
}

// empty has careful workers at all servers acknowledge all that a consumer still has to deliver, up to some at
// once. In the history they are of a group, if that is not empty. It takes half of the time that there is at most.
func (l *load) empty(ctx context.Context, stream, consumer, group string, most int) error {
	return l.emptyBy(ctx, stream, consumer, func(ctx context.Context, h *worker) {
		h.group = group
		h.round(ctx, most, h.ack)
	})
}

// emptyBy is empty with workers that do something else in each round.
func (l *load) emptyBy(ctx context.Context, stream, consumer string, round func(context.Context, *worker)) error {
	start := l.now()
	ctx, done := half(ctx)
	defer done()
	k, err := l.start(ctx, len(l.cfg.Nodes), !rated, func(ctx context.Context, c *client) {
		h := &worker{client: c, stream: stream, consumer: consumer}
		for h.connected(ctx) {
			round(ctx, h)
		}
	})
	if err != nil {
		return err
	}
	err = l.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "wait for the workers of "+stream, func(ctx context.Context) error {
			handle, err := c.js.Consumer(ctx, stream, consumer)
			if err != nil {
				return err
			}
			info := handle.CachedInfo()
			if n := info.NumPending + uint64(info.NumAckPending); n > 0 {
				return fmt.Errorf("%d messages are not acknowledged", n)
			}
			return nil
		})
	})
	k.end()
	if err != nil {
		l.stalled("empty "+stream, start, err)
	}
	return err
}

// worker takes messages from a consumer that it shares with others.
type worker struct {
	*client
	stream, consumer string
	group            string              // what the history has as the consumer, if that is another name
	handle           jetstream.Consumer  // once it is known that there is one
	of               jetstream.JetStream // the client's, when the handle was got: it has another one after a crash
	wait             time.Duration       // for messages; a second if it is 0
}

// task is a message that a worker has in its hands.
type task struct {
	jetstream.Msg
	key, value string
	sequence   uint64
	delivered  uint64 // how often, this time included
}

// round fetches up to some messages and handles one after the other, until handle says that it wants no more.
func (h *worker) round(ctx context.Context, most int, handle func(context.Context, task) bool) {
	tasks, err := h.fetch(ctx, most)
	if err != nil {
		pause(ctx, 100*time.Millisecond)
	}
	for _, t := range tasks {
		if !handle(ctx, t) {
			return
		}
	}
}

// fetch asks for messages, which become operations one after the other when the last is there.
func (h *worker) fetch(ctx context.Context, most int) (tasks []task, err error) {
	o := h.begin(history.Operation{Kind: history.Fetch, Stream: h.stream, Consumer: h.called()})
	if h.handle == nil || h.of != h.js {
		limited, cancel := h.limit(ctx)
		defer cancel()
		if h.handle, err = h.js.Consumer(limited, h.stream, h.consumer); err != nil {
			h.handle = nil
			h.end(o, err)
			return nil, err
		}
		h.of = h.js
	}
	wait := cmp.Or(h.wait, time.Second)
	batch, err := h.handle.Fetch(most, jetstream.FetchMaxWait(wait), jetstream.FetchHeartbeat(wait/2-wait/10))
	if err != nil {
		h.end(o, err)
		return nil, err
	}
	for m := range batch.Messages() {
		t := task{Msg: m, key: m.Subject(), value: parseBody(m.Data())}
		if meta, err := m.Metadata(); err == nil {
			t.sequence, t.delivered = meta.Sequence.Stream, meta.NumDelivered
		}
		got := o
		got.Key, got.Value, got.Sequence = t.key, t.value, t.sequence
		h.end(got, nil)
		o.Start = h.load.now()
		tasks = append(tasks, t)
	}
	if err = batch.Error(); err != nil || len(tasks) == 0 {
		h.end(o, err)
	}
	return tasks, err
}

// called is the consumer's name in the history.
func (h *worker) called() string { return cmp.Or(h.group, h.consumer) }

// answer is what is done with a task.
func (h *worker) answer(t task, kind string) history.Operation {
	return history.Operation{Kind: kind, Stream: h.stream, Consumer: h.called(), Key: t.key, Value: t.value, Sequence: t.sequence}
}

// ack acknowledges, and has that confirmed.
func (h *worker) ack(ctx context.Context, t task) bool {
	_ = h.do(ctx, h.answer(t, history.Ack), func(ctx context.Context, _ *history.Operation) error { return t.DoubleAck(ctx) })
	return true
}

// send is an answer that nobody confirms, so what comes of it is unknown.
func (h *worker) send(t task, kind string, call func() error) {
	o := h.begin(h.answer(t, kind))
	err := call()
	if err == nil {
		err = errUnconfirmed
	}
	h.client.end(o, err)
}

// nak gives a task back. The server may deliver it again at once, to any worker.
func (h *worker) nak(t task) { h.send(t, history.Nak, t.Nak) }

// careless mostly acknowledges, and else does what workers do too: it has no confirmation, gives back, forgets, or crashes.
func (h *worker) careless(ctx context.Context, t task) bool {
	switch h.chance.IntN(20) {
	case 0, 1:
		h.send(t, history.Ack, t.Ack)
	case 2, 3:
		h.nak(t)
	case 4:
		return true // another worker gets it when the time is up
	case 5:
		if h.one(5) {
			h.crash()
			return false
		}
		return h.ack(ctx, t)
	default:
		return h.ack(ctx, t)
	}
	return true
}

// leave says that the worker has nothing in its hands any more.
func (h *worker) leave() {
	h.client.end(h.begin(history.Operation{Kind: history.Leave, Stream: h.stream, Consumer: h.called()}), nil)
}

// crash leaves with what is in the worker's hands, and comes again as a new connection.
func (h *worker) crash() {
	h.leave()
	_ = h.connect() // it was good before, and is tried for ever
}
