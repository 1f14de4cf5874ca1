package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// Retained is a stream of W9, and what may remove its messages.
type Retained struct {
	Stream        string
	MaxMessages   int
	MaxPerSubject int
	MaxAge        time.Duration
	Consumers     []string // whose acknowledgements remove what all of them have acknowledged
	Purged        bool     // by purges and deletes
}

// RetainedStreams are the streams of W9, each of which forgets in its own way.
func RetainedStreams() []Retained {
	return []Retained{
		{Stream: "W9-messages", MaxMessages: 500},
		{Stream: "W9-subject", MaxPerSubject: 10},
		{Stream: "W9-age", MaxAge: 10 * time.Second},
		{Stream: "W9-interest", Consumers: []string{"one", "two"}},
		{Stream: "W9-purge", Purged: true},
	}
}

// retentionLoad is W9. All writers publish to all streams, a crew of workers consumes the one that goes by interest, and writers
// now and then purge or delete.
type retentionLoad struct {
	*load
	streams []Retained
}

func openRetention(l *load) part { return &retentionLoad{l, RetainedStreams()} }

// subject is one of those of a stream.
func (r *Retained) subject(key int) string { return fmt.Sprintf("w9.%s.%d", r.Stream, key) }

func (w *retentionLoad) setup(ctx context.Context) error {
	for _, r := range w.streams {
		cfg := w.stream(r.Stream, "w9."+r.Stream+".>")
		cfg.MaxMsgs, cfg.MaxMsgsPerSubject, cfg.MaxAge = int64(r.MaxMessages), int64(r.MaxPerSubject), r.MaxAge
		cfg.Duplicates = time.Second // at most the age
		if len(r.Consumers) > 0 {
			cfg.Retention = jetstream.InterestPolicy
		}
		if err := w.create(ctx, cfg); err != nil {
			return err
		}
		for _, name := range r.Consumers {
			if err := w.createConsumer(ctx, r.Stream, w.sharedBy(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// run starts two workers for each consumer, who acknowledge all they get, and has the processes write. A writer deletes only what
// it has published itself, so that it knows what it deletes.
func (w *retentionLoad) run(ctx context.Context) error {
	var crews []*crew
	defer func() {
		for _, k := range crews {
			k.end()
		}
	}()
	for _, r := range w.streams {
		for _, name := range r.Consumers {
			k, err := w.start(ctx, 2, !rated, func(ctx context.Context, c *client) {
				h := &worker{client: c, stream: r.Stream, consumer: name}
				for h.connected(ctx) {
					h.round(ctx, 10, h.ack)
				}
			})
			if err != nil {
				return err
			}
			crews = append(crews, k)
		}
	}
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		acked := uint64(0) // the last sequence that this writer got in the stream that is purged
		for c.next(ctx) {
			r := &w.streams[c.chance.IntN(len(w.streams))]
			if r.Purged && c.one(10) {
				w.purge(ctx, c, r, acked)
				continue
			}
			to := r.subject(c.chance.IntN(w.cfg.Keys))
			ack, err := c.publish(ctx, history.Operation{Kind: history.Publish, Stream: r.Stream, Key: to, Value: c.value()}, to, nil)
			if err == nil && r.Purged {
				acked = ack.Sequence
			}
		}
	})
}

// purge removes one message, or what is before it, or what a subject has.
func (w *retentionLoad) purge(ctx context.Context, c *client, r *Retained, sequence uint64) {
	o := history.Operation{Kind: history.Purge, Stream: r.Stream}
	subject, request := "$JS.API.STREAM.PURGE."+r.Stream, map[string]any{}
	switch what := c.chance.IntN(10); {
	case sequence == 0:
		return
	case what < 7:
		o.Kind, o.Sequence = history.Erase, sequence
		subject = "$JS.API.STREAM.MSG.DELETE." + r.Stream
		request["seq"], request["no_erase"] = sequence, true
	case what < 9:
		o.Key = r.subject(c.chance.IntN(w.cfg.Keys))
		request["filter"] = o.Key
	default:
		// Some of the newest messages stay, so that there is something to lose.
		o.Sequence = max(sequence, 100) - 99
		request["seq"] = o.Sequence
	}
	_ = c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error { return c.request(ctx, subject, request, nil) })
}

// finish has all acknowledged that goes by interest, and reads what is left of each stream.
func (w *retentionLoad) finish(ctx context.Context) error {
	var all []error
	for _, r := range w.streams {
		for _, name := range r.Consumers {
			all = append(all, w.empty(ctx, r.Stream, name, "", 50))
		}
		// What ages would be gone between one reading and the next: the second one says nothing.
		all = append(all, w.finals(ctx, r.Stream, subjectKey, len(r.Consumers) == 0 && r.MaxAge == 0))
	}
	return errors.Join(all...)
}
