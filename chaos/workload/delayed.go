package workload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// delayedLoad is W14. Writers publish values that are to be stored some time later, under an id until they know that it is kept, and cancel
// some of them by the sequence that they were told. Readers take what is stored. In the end each value is there once, but for those
// that were cancelled, and none was there before its time.
//
// In the history what is published later goes to [DelayedQueue], whatever the server calls that: the sequences in its acknowledgements are not
// those of the stream.
//
// A server that does not know delays stores everything at once. There nothing is delayed or cancelled.
type delayedLoad struct {
	*load
	atOnce atomic.Bool // the server knows no delays
}

const (
	delayedReaders  = "readers"
	delayedSubjects = "w14"
	delayHeader     = "Runnel-Delay"
	// delayMost is the longest delay: longer than a fault takes to be noticed, so that what is due meets all of them.
	delayMost = 6 * time.Second
	// delayInvalid is how a server refuses a delay that is none, if it knows the header.
	delayInvalid jetstream.ErrorCode = 11060
)

func openDelayed(l *load) part { return &delayedLoad{load: l} }

func (w *delayedLoad) setup(ctx context.Context) error {
	err := w.create(ctx, w.stream(DelayedStream, delayedSubjects+".>"))
	if err == nil {
		err = w.createConsumer(ctx, DelayedStream, w.sharedBy(delayedReaders))
	}
	if err != nil {
		return err
	}
	return w.anywhere(ctx, func(c *client) error { return c.try(ctx, "delay a message", w.probe(c)) })
}

// probe finds out whether the server knows delays, and has what keeps delayed messages made before faults begin: to make a stream is what W10
// is about.
func (w *delayedLoad) probe(c *client) func(context.Context) error {
	return func(ctx context.Context) error {
		m := &nats.Msg{Subject: delayedSubjects + ".probe", Header: nats.Header{delayHeader: {"none"}}}
		var refusal *jetstream.APIError
		_, err := c.send(ctx, m)
		switch {
		case err == nil:
			w.atOnce.Store(true)
			s, err := c.js.Stream(ctx, DelayedStream)
			if err != nil {
				return err
			}
			return s.Purge(ctx)
		case !errors.As(err, &refusal) || refusal.ErrorCode != delayInvalid:
			return err
		}
		m.Header = nats.Header{delayHeader: {"24h"}}
		ack, err := c.send(ctx, m)
		if err != nil {
			return err
		}
		return c.cancelDelayed(ctx, ack.Sequence)
	}
}

// cancelDelayed asks once that a delayed message is never stored.
func (c *client) cancelDelayed(ctx context.Context, sequence uint64) error {
	return c.request(ctx, "$RUNNEL.API.DELAY.CANCEL."+DelayedStream, map[string]any{"seq": sequence}, nil)
}

// run has half of the processes write, and the other half read. The readers end with the writers.
func (w *delayedLoad) run(ctx context.Context) error {
	writers, readers := w.halves()
	k, err := w.start(ctx, readers, !rated, func(ctx context.Context, c *client) {
		h := &worker{client: c, stream: DelayedStream, consumer: delayedReaders}
		for h.connected(ctx) {
			h.round(ctx, 20, h.ack)
		}
	})
	if err != nil {
		return err
	}
	err = w.work(ctx, writers, func(ctx context.Context, c *client) {
		subject := keyed(delayedSubjects)
		for c.next(ctx) {
			w.write(ctx, c, subject(c))
		}
	})
	k.end()
	return err
}

// write publishes a value until it is acknowledged, or it has been tried often, and cancels it perhaps.
func (w *delayedLoad) write(ctx context.Context, c *client, subject string) {
	delay := time.Duration(c.chance.Int64N(int64(delayMost))).Truncate(time.Millisecond)
	o := history.Operation{Kind: history.Publish, Stream: DelayedQueue, Key: subject, Value: c.value(), Expected: uint64(delay.Milliseconds())}
	header := nats.Header{jetstream.MsgIDHeader: {o.Value}, delayHeader: {delay.String()}}
	if w.atOnce.Load() {
		o.Expected = 0
		header.Del(delayHeader)
	}
	for range dedupTries {
		ack, err := c.publish(ctx, o, subject, header)
		if err == nil {
			w.cancel(ctx, c, o, ack, delay)
			return
		}
		if !c.connected(ctx) {
			return
		}
	}
}

// cancel cancels one in four of the values, some of them about the time at which they are due.
func (w *delayedLoad) cancel(ctx context.Context, c *client, o history.Operation, ack *jetstream.PubAck, delay time.Duration) {
	if !c.one(4) || w.atOnce.Load() || ack.Stream == DelayedStream {
		return
	}
	if c.one(4) && !pause(ctx, delay) {
		return
	}
	o.Kind, o.Sequence, o.Expected = history.Erase, ack.Sequence, 0
	_ = c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error { return c.cancelDelayed(ctx, ack.Sequence) }) // what came of it is in the history
}

// finish waits until nothing is delayed any more, has the readers come to the end, and looks at the stream.
func (w *delayedLoad) finish(ctx context.Context) error {
	err := w.empties(ctx)
	if err == nil {
		err = w.empty(ctx, DelayedStream, delayedReaders, "", 50)
	}
	return errors.Join(err, w.finals(ctx, DelayedStream, subjectKey, true))
}

// empties waits until nothing is delayed.
func (w *delayedLoad) empties(ctx context.Context) error {
	if w.atOnce.Load() {
		return nil
	}
	start := w.now()
	ctx, done := half(ctx)
	defer done()
	err := w.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "wait for what is delayed", func(ctx context.Context) error {
			var left struct{ Messages uint64 }
			if err := c.request(ctx, "$RUNNEL.API.DELAY.LIST."+DelayedStream, struct{}{}, &left); err != nil {
				return err
			}
			if left.Messages > 0 {
				return fmt.Errorf("%d messages are delayed", left.Messages)
			}
			return nil
		})
	})
	if err != nil {
		w.stalled("store what was delayed for "+DelayedStream, start, err)
	}
	return err
}
