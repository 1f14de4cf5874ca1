package workload

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// processedLoad is W13. Workers take values from a queue, and publish each to another stream with the acknowledgement of the
// message in which it came. Now and then one does so twice, forgets what it has, or crashes. There is one outcome of each value in the end,
// and nothing is left in the queue.
//
// A server that does not know such acknowledgements leaves the header alone. There workers acknowledge afterwards, as people
// do, and what is processed twice is stored twice.
type processedLoad struct {
	*load
	apart atomic.Bool // workers acknowledge by themselves
}

const (
	processedWorkers = "workers"
	processedIn      = "w13.in"
	processedOut     = "w13.out"
	// ackHeader has the subject of an acknowledgement that is published with a message.
	ackHeader = "Runnel-Ack"
	// ackInvalid is how a server refuses one that is none, if it knows the header.
	ackInvalid jetstream.ErrorCode = 11055
)

func openProcessed(l *load) part { return &processedLoad{load: l} }

func (w *processedLoad) setup(ctx context.Context) error {
	in := w.stream(ProcessedQueue, processedIn+".>")
	in.Retention = jetstream.WorkQueuePolicy
	err := errors.Join(w.create(ctx, in), w.create(ctx, w.stream(ProcessedStream, processedOut+".>")))
	if err == nil {
		err = w.createConsumer(ctx, ProcessedQueue, w.sharedBy(processedWorkers))
	}
	if err != nil {
		return err
	}
	return w.anywhere(ctx, func(c *client) error { return c.try(ctx, "ask for "+ackHeader, c.probe(&w.apart)) })
}

// probe finds out whether the server refuses an acknowledgement that is none.
func (c *client) probe(apart *atomic.Bool) func(context.Context) error {
	return func(ctx context.Context) error {
		m := &nats.Msg{Subject: processedOut + ".probe", Header: nats.Header{ackHeader: {"none"}}}
		var refusal *jetstream.APIError
		_, err := c.send(ctx, m)
		if errors.As(err, &refusal) && refusal.ErrorCode == ackInvalid {
			return nil
		}
		if err == nil {
			apart.Store(true)
			s, err := c.js.Stream(ctx, ProcessedStream)
			if err != nil {
				return err
			}
			return s.Purge(ctx)
		}
		return err
	}
}

// run has half of the processes write, and the other half work. The workers end with the writers.
func (w *processedLoad) run(ctx context.Context) error {
	writers, workers := w.halves()
	k, err := w.start(ctx, workers, !rated, func(ctx context.Context, c *client) {
		h := &worker{client: c, stream: ProcessedQueue, consumer: processedWorkers}
		for h.connected(ctx) {
			h.round(ctx, 1+c.chance.IntN(5), w.process(h))
		}
	})
	if err != nil {
		return err
	}
	err = w.work(ctx, writers, writer(ProcessedQueue, keyed(processedIn)))
	k.end()
	return err
}

// process is what a worker does with a task.
func (w *processedLoad) process(h *worker) func(context.Context, task) bool {
	return func(ctx context.Context, t task) bool {
		switch h.chance.IntN(20) {
		case 0:
			return true // another worker gets it when the time is up
		case 1:
			if h.one(3) {
				h.crash()
				return false
			}
		case 2, 3:
			w.publish(ctx, h, t) // and once more
		}
		w.publish(ctx, h, t)
		return true
	}
}

// publish publishes the outcome of a task, once.
func (w *processedLoad) publish(ctx context.Context, h *worker, t task) {
	o := history.Operation{Kind: history.Publish, Stream: ProcessedStream, Key: processedOut + t.key[len(processedIn):], Value: t.value}
	_, err := h.client.publish(ctx, o, o.Key, nats.Header{ackHeader: {t.Reply()}})
	if err == nil && w.apart.Load() {
		h.ack(ctx, t)
	}
}

// finish has all that is left processed, and looks at both streams.
func (w *processedLoad) finish(ctx context.Context) error {
	err := w.drainQueue(ctx)
	return errors.Join(err, w.finals(ctx, ProcessedStream, subjectKey, true), w.finals(ctx, ProcessedQueue, subjectKey, false))
}

// drainQueue has careful workers at all servers process what is left.
func (w *processedLoad) drainQueue(ctx context.Context) error {
	return w.emptyBy(ctx, ProcessedQueue, processedWorkers, func(ctx context.Context, h *worker) {
		h.round(ctx, 50, func(ctx context.Context, t task) bool {
			w.publish(ctx, h, t)
			return true
		})
	})
}
