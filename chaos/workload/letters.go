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

// The dead letters of W11 where the server has them: it moves what a consumer gives up, and it puts back what it is told to.

const (
	lettersCall = "$RUNNEL.API.DLQ."
	// redriveEvery is how often a redriver looks for something to do.
	redriveEvery = 200 * time.Millisecond
)

// askLetters finds out whether the server has dead letters.
func (c *client) askLetters(served *atomic.Bool) func(context.Context) error {
	return func(ctx context.Context) error {
		err := c.request(ctx, lettersCall+"LIST", struct{}{}, nil)
		if errors.Is(err, nats.ErrNoResponders) {
			return nil
		}
		served.Store(err == nil)
		return err
	}
}

// setupServed makes the queue and the stream that it gives up to.
func (w *deadLettersLoad) setupServed(ctx context.Context) error {
	queue := w.stream(DeadQueueStream, deadSubjects+">")
	queue.Retention = jetstream.WorkQueuePolicy
	if err := errors.Join(w.create(ctx, queue), w.create(ctx, w.stream(DeadLetterStream, "w11dead.>"))); err != nil {
		return err
	}
	consumer := w.sharedBy(deadWorkers)
	consumer.MaxDeliver = deadMaxDeliver
	consumer.Metadata = map[string]string{"runnel.dead_letter": DeadLetterStream}
	return w.createConsumer(ctx, DeadQueueStream, consumer)
}

// staffServed starts workers, and two who have letters redriven.
func (w *deadLettersLoad) staffServed(ctx context.Context, workers int) (crews []*crew, err error) {
	for _, s := range []struct {
		count int
		work  func(context.Context, *client)
	}{
		{workers, func(ctx context.Context, c *client) {
			h := &worker{client: c, stream: DeadQueueStream, consumer: deadWorkers}
			for h.connected(ctx) {
				h.round(ctx, 1+c.chance.IntN(5), w.fallible(h))
			}
		}},
		{2, func(ctx context.Context, c *client) {
			for c.connected(ctx) && pause(ctx, redriveEvery) {
				w.redriveLetter(ctx, c)
			}
		}},
	} {
		k, err := w.start(ctx, s.count, !rated, s.work)
		if err != nil {
			return crews, err
		}
		crews = append(crews, k)
	}
	return crews, nil
}

// letter is a dead letter as the server shows it.
type letter struct {
	Sequence uint64 `json:"seq"`
	Data     []byte `json:"data"`
}

// toRedrive returns the letters that are to be redriven, of those that one call shows.
func (c *client) toRedrive(ctx context.Context) (list []letter, err error) {
	var answer struct {
		Letters []letter `json:"letters"`
	}
	if err := c.request(ctx, lettersCall+"GET."+DeadLetterStream, map[string]any{"limit": 256}, &answer); err != nil {
		return nil, err
	}
	for _, l := range answer.Letters {
		if redrives(parseBody(l.Data)) {
			list = append(list, l)
		}
	}
	return list, nil
}

// redriveLetter has the server put one back. While it is about another one it refuses. Workers learn from this process that they are not
// to fail at the value again: in the queue it looks as it did before.
func (w *deadLettersLoad) redriveLetter(ctx context.Context, c *client) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	list, err := c.toRedrive(limited)
	if err != nil || len(list) == 0 {
		return // the next time, or somebody else
	}
	l := list[c.chance.IntN(len(list))]
	o := history.Operation{Kind: history.Redrive, Stream: DeadLetterStream, Value: parseBody(l.Data), Sequence: l.Sequence}
	w.redriven.Store(o.Value, true)
	_ = c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error { // the history has the error
		return c.request(ctx, lettersCall+"REDRIVE."+DeadLetterStream, map[string]any{"seq": l.Sequence}, nil)
	})
}

// lettersRest fails as long as the server has anything to do with the queue or its dead letters.
func (c *client) lettersRest(ctx context.Context) error {
	h, err := c.js.Consumer(ctx, DeadQueueStream, deadWorkers)
	if err != nil {
		return err
	}
	if info := h.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
		return fmt.Errorf("%s has %d messages to deliver, and %d are not acknowledged", deadWorkers, info.NumPending, info.NumAckPending)
	}
	var about struct {
		Redrive *struct {
			Ended *time.Time `json:"ended"`
		} `json:"redrive"`
	}
	if err := c.request(ctx, lettersCall+"INFO."+DeadLetterStream, struct{}{}, &about); err != nil {
		return err
	}
	if about.Redrive != nil && about.Redrive.Ended == nil {
		return errors.New("a redrive is under way")
	}
	list, err := c.toRedrive(ctx)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return fmt.Errorf("%d letters are to be redriven", len(list))
	}
	queue, err := c.js.Stream(ctx, DeadQueueStream)
	if err != nil {
		return err
	}
	if n := queue.CachedInfo().State.Msgs; n > 0 {
		return fmt.Errorf("%d messages are left in the queue", n)
	}
	return nil
}
