package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// deadLettersLoad is W11. What workers fail at for the last time becomes a dead letter, and half of the dead letters are redriven: then no
// worker fails.
//
// A server that has dead letters does both, see letters.go. For others they are built as people do it: a stream captures the advisories
// of deliveries that were given up, and janitors take each such message out of the queue and put it into the stream of dead letters,
// under an id, before they delete it. To redrive one is to publish it again as what it was, with a header. Nobody promises that an
// advisory arrives. What is left in the queue in the end, when no worker gets anything any more, is therefore swept into the dead
// letters too.
type deadLettersLoad struct {
	*load
	served   atomic.Bool // by the server
	redriven sync.Map    // values that the server was asked to put back
}

const (
	adviceStream   = "W11-advice"
	deadWorkers    = "workers"
	deadJanitors   = "janitors"
	deadRedrivers  = "redrivers"
	deadMaxDeliver = 5
	deadSubjects   = "w11."
	deadForGood    = "w11dead.stay"
	deadForRedrive = "w11dead.back"
	redrivenHeader = "Redriven"
	originHeader   = "Origin" // the subject that a dead letter came from
)

func openDeadLetters(l *load) part { return &deadLettersLoad{load: l} }

// Poison tells whether workers of W11 fail at a value, as long as it is not redriven.
func Poison(value string) bool { return serial(value)%5 == 0 }

// redrives tells whether a dead letter is redriven.
func redrives(value string) bool { return serial(value)%2 == 0 }

// serial is the number of a value among those of its process; 1 for what is no value.
func serial(value string) int {
	_, text, _ := strings.Cut(value, "-")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return n
}

// setup makes the three streams. All are work queues: what is in one of them has not been dealt with.
func (w *deadLettersLoad) setup(ctx context.Context) error {
	if err := w.anywhere(ctx, func(c *client) error { return c.try(ctx, "ask for dead letters", c.askLetters(&w.served)) }); err != nil {
		return err
	}
	if w.served.Load() {
		return w.setupServed(ctx)
	}
	advice := "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + DeadQueueStream + "." + deadWorkers
	for _, s := range []struct{ name, subject, consumer, filter string }{
		{DeadQueueStream, deadSubjects + ">", deadWorkers, ""},
		{DeadLetterStream, "w11dead.>", deadRedrivers, deadForRedrive},
		{adviceStream, advice, deadJanitors, ""},
	} {
		cfg := w.stream(s.name, s.subject)
		cfg.Retention = jetstream.WorkQueuePolicy
		if err := w.create(ctx, cfg); err != nil {
			return err
		}
		consumer := w.sharedBy(s.consumer)
		consumer.FilterSubject = s.filter
		if s.name == DeadQueueStream {
			consumer.MaxDeliver = deadMaxDeliver
		}
		if err := w.createConsumer(ctx, s.name, consumer); err != nil {
			return err
		}
	}
	return nil
}

func (w *deadLettersLoad) run(ctx context.Context) error {
	writers, workers := w.halves()
	crews, err := w.staff(ctx, workers)
	defer func() {
		for _, k := range crews {
			k.end()
		}
	}()
	if err != nil {
		return err
	}
	return w.work(ctx, writers, writer(DeadQueueStream, keyed("w11")))
}

// staff starts workers, two janitors and two redrivers.
func (w *deadLettersLoad) staff(ctx context.Context, workers int) (crews []*crew, err error) {
	if w.served.Load() {
		return w.staffServed(ctx, workers)
	}
	for _, s := range []struct {
		count            int
		stream, consumer string
		handle           func(*worker) func(context.Context, task) bool
	}{
		{workers, DeadQueueStream, deadWorkers, w.fallible},
		{2, adviceStream, deadJanitors, func(h *worker) func(context.Context, task) bool { return h.advised }},
		{2, DeadLetterStream, deadRedrivers, func(h *worker) func(context.Context, task) bool { return h.redrive }},
	} {
		k, err := w.start(ctx, s.count, !rated, func(ctx context.Context, c *client) {
			h := &worker{client: c, stream: s.stream, consumer: s.consumer}
			for h.connected(ctx) {
				h.round(ctx, 1+c.chance.IntN(5), s.handle(h))
			}
		})
		if err != nil {
			return crews, err
		}
		crews = append(crews, k)
	}
	return crews, nil
}

// fallible fails at poison, and else acknowledges.
func (w *deadLettersLoad) fallible(h *worker) func(context.Context, task) bool {
	return func(ctx context.Context, t task) bool {
		_, redriven := w.redriven.Load(t.value)
		if Poison(t.value) && !redriven && t.Headers().Get(redrivenHeader) == "" {
			h.nak(t)
			return true
		}
		return h.ack(ctx, t)
	}
}

// advised hands over the message that an advisory is about. The advisory is acknowledged last: whatever fails is done again.
func (h *worker) advised(ctx context.Context, t task) bool {
	var advice struct {
		Sequence uint64 `json:"stream_seq"`
	}
	if err := json.Unmarshal(t.Data(), &advice); err == nil && h.handOver(ctx, advice.Sequence) != nil {
		return true
	}
	return h.ack(ctx, t)
}

// handOver makes a message of the queue a dead letter.
func (c *client) handOver(ctx context.Context, sequence uint64) error {
	m, err := c.stored(ctx, DeadQueueStream, sequence)
	if errors.Is(err, errNone) {
		return nil // somebody has handed it over, or acknowledged it after all
	}
	if err != nil {
		return err
	}
	value := parseBody(m.Data)
	o := history.Operation{Kind: history.Publish, Stream: DeadLetterStream, Key: deadForGood, Value: value}
	if redrives(value) {
		o.Key = deadForRedrive
	}
	header := nats.Header{jetstream.MsgIDHeader: {strconv.FormatUint(sequence, 10)}, originHeader: {m.Subject}}
	if _, err := c.publish(ctx, o, o.Key, header); err != nil {
		return err
	}
	return c.erase(ctx, DeadQueueStream, sequence)
}

// erase deletes a message. One that is not there any more is as good.
func (c *client) erase(ctx context.Context, stream string, sequence uint64) error {
	o := history.Operation{Kind: history.Erase, Stream: stream, Sequence: sequence}
	err := c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error {
		return c.request(ctx, "$JS.API.STREAM.MSG.DELETE."+stream, map[string]any{"seq": sequence, "no_erase": true}, nil)
	})
	if err == nil || codeOf(err) == codeSequenceNotFound {
		return nil
	}
	limited, cancel := c.limit(ctx)
	defer cancel()
	if _, err := c.stored(limited, stream, sequence); errors.Is(err, errNone) {
		return nil
	}
	return err
}

// stored asks a stream's leader for a message.
func (c *client) stored(ctx context.Context, stream string, sequence uint64) (*message, error) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	return c.get(limited, stream, map[string]any{"seq": sequence})
}

// redrive publishes a dead letter as what it was, and acknowledges it then.
func (h *worker) redrive(ctx context.Context, t task) bool {
	o := history.Operation{Kind: history.Redrive, Stream: DeadLetterStream, Value: t.value, Sequence: t.sequence}
	err := h.do(ctx, o, func(ctx context.Context, _ *history.Operation) error {
		header := nats.Header{jetstream.MsgIDHeader: {fmt.Sprintf("redriven %d", t.sequence)}, redrivenHeader: {"1"}}
		_, err := h.client.send(ctx, &nats.Msg{Subject: t.Headers().Get(originHeader), Data: t.Data(), Header: header})
		return err
	})
	if err != nil {
		return true
	}
	return h.ack(ctx, t)
}

// finish lets workers, janitors and redrivers come to an end, sweeps up what nobody was told of, and reads what is left.
func (w *deadLettersLoad) finish(ctx context.Context) error {
	start := w.now()
	working, done := half(ctx)
	defer done()
	crews, err := w.staff(working, len(w.cfg.Nodes))
	if err == nil {
		err = w.anywhere(working, func(c *client) error {
			sweep := c.sweep
			if w.served.Load() {
				sweep = c.lettersRest
			}
			return c.try(working, "wait for the dead letters", sweep)
		})
	}
	for _, k := range crews {
		k.end()
	}
	if err != nil {
		w.stalled("empty "+DeadQueueStream, start, err)
	}
	return errors.Join(err, w.finals(ctx, DeadQueueStream, subjectKey, false), w.finals(ctx, DeadLetterStream, subjectKey, false))
}

// sweep makes dead letters of what workers do not get any more. It fails as long as there is anything to do.
func (c *client) sweep(ctx context.Context) error {
	queue, err := c.js.Stream(ctx, DeadQueueStream)
	if err != nil {
		return err
	}
	before := queue.CachedInfo().State
	for _, s := range [][2]string{{DeadQueueStream, deadWorkers}, {adviceStream, deadJanitors}, {DeadLetterStream, deadRedrivers}} {
		h, err := c.js.Consumer(ctx, s[0], s[1])
		if err != nil {
			return err
		}
		if info := h.CachedInfo(); info.NumPending > 0 || info.NumAckPending > 0 {
			return fmt.Errorf("%s has %d messages to deliver, and %d are not acknowledged", s[1], info.NumPending, info.NumAckPending)
		}
	}
	if before.Msgs == 0 {
		return nil
	}
	for next := before.FirstSeq; next <= before.LastSeq; next++ {
		m, err := c.get(ctx, DeadQueueStream, map[string]any{"seq": next, "next_by_subj": ">"})
		if errors.Is(err, errNone) {
			break
		}
		if err != nil {
			return err
		}
		if next = m.Sequence; next > before.LastSeq {
			break
		}
		if err := c.handOver(ctx, next); err != nil {
			return err
		}
	}
	return errors.New("messages were left in the queue, and have been made dead letters")
}
