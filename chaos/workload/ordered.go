package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// orderedLoad is W2: writers, and a reader at every server. The readers go on until they have read what is there when
// all is healed.
type orderedLoad struct {
	*load
	readers *crew
	end     context.CancelFunc // tells the readers to come to the end

	mu   sync.Mutex // guards what follows
	last uint64     // where the end is, once that is known
}

// openOrdered makes the load of W2.
func openOrdered(l *load) part { return &orderedLoad{load: l} }

func (w *orderedLoad) setup(ctx context.Context) error {
	return w.create(ctx, w.stream(OrderedStream, "w2.>"))
}

// run starts the readers, which stay when the writers have gone: they are to come to the end of what is there in the end.
func (w *orderedLoad) run(ctx context.Context) (err error) {
	ending, end := context.WithCancel(context.Background())
	w.end = end
	w.readers, err = w.start(context.Background(), len(w.cfg.Nodes), !rated, func(ctx context.Context, c *client) {
		r := &reader{client: c, load: w}
		r.run(ctx, ending)
	})
	if err != nil {
		return err
	}
	return w.work(ctx, w.cfg.Processes, writer(OrderedStream, keyed("w2")))
}

// finish lets the readers come to the end of the stream. Where the replicas do not settle nobody knows the end, and the readers are
// left as they are.
func (w *orderedLoad) finish(ctx context.Context) (err error) {
	if w.readers != nil {
		var r rest
		r, err = w.settle(ctx, OrderedStream)
		if err != nil {
			return errors.Join(err, w.finals(ctx, OrderedStream, subjectKey, true))
		}
		w.mu.Lock()
		w.last = r.last
		w.mu.Unlock()
		w.end()
		err = w.farewell(ctx, w.readers, "read "+OrderedStream+" to its end")
	}
	return errors.Join(err, w.finals(ctx, OrderedStream, subjectKey, true))
}

// until is the sequence at which readers end.
func (w *orderedLoad) until() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// reader follows the stream with an ordered consumer. When that does not get on although there is more, it begins a new one
// behind what it has.
type reader struct {
	*client
	load *orderedLoad

	mu   sync.Mutex    // guards what follows; the library calls from a goroutine of its own
	last uint64        // the sequence that was read last
	at   time.Duration // when
}

// run reads until ctx ends, or until the end of the stream once ending has ended.
func (r *reader) run(ctx, ending context.Context) {
	for r.connected(ctx) {
		r.follow(ctx, ending)
		if ending.Err() != nil && r.where() >= r.load.until() {
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// where is the sequence that was read last.
func (r *reader) where() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// follow reads with one consumer for as long as that gets on.
func (r *reader) follow(ctx, ending context.Context) {
	limited, cancel := r.limit(ctx)
	defer cancel()
	consumer, err := r.js.OrderedConsumer(limited, OrderedStream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.where() + 1,
	})
	if err != nil {
		return
	}
	// The consumer is stopped before the next one is begun, and what it still has is not taken: order is a promise within
	// one consumer, and from one to the next it is the reader's.
	gone := make(chan struct{})
	reading, err := consumer.Consume(func(m jetstream.Msg) { r.take(m, gone) }, jetstream.PullExpiry(4*time.Second), jetstream.PullHeartbeat(time.Second))
	if err != nil {
		return
	}
	defer reading.Stop()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(gone)
	}()
	began := r.client.load.now()
	for pause(ctx, 500*time.Millisecond) {
		if ending.Err() != nil && r.where() >= r.load.until() {
			return
		}
		if !r.getsOn(ctx, began) {
			return
		}
	}
}

// take records a message.
func (r *reader) take(m jetstream.Msg, gone <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-gone:
		return
	default:
	}
	o := r.begin(history.Operation{Kind: history.Read, Stream: OrderedStream, Key: m.Subject(), Value: parseBody(m.Data())})
	meta, err := m.Metadata()
	if err != nil {
		o.Value = fmt.Sprintf("without metadata: %v", err)
	} else {
		o.Sequence = meta.Sequence.Stream
	}
	r.last, r.at = o.Sequence, r.client.load.now()
	r.end(o, nil)
}

// getsOn tells whether a consumer that began at a time is worth waiting for: it reads, or there is nothing to read, or it has
// not had the patience of the load yet.
func (r *reader) getsOn(ctx context.Context, began time.Duration) bool {
	r.mu.Lock()
	last, at := r.last, max(r.at, began)
	r.mu.Unlock()
	now := r.client.load.now()
	if now-at < time.Second {
		return true
	}
	limited, cancel := r.limit(ctx)
	defer cancel()
	if s, err := r.js.Stream(limited, OrderedStream); err == nil && s.CachedInfo().State.LastSeq <= last {
		r.progress.idle(now)
		return true
	}
	return now-at < r.client.load.cfg.Patience
}
