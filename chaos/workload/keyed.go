package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// keyedLoad is W7. Where the server knows keys, the workers share one consumer with keys. Others offer no group that is ordered by
// key, so there it is built of what they have: each key has a consumer of its own, which has one message at most on its way. Both are
// leases: who has the message has the key, until it is acknowledged, given back, or the ack wait is over.
//
// The workers go on until others have taken over in the end, so that at all times somebody asks.
type keyedLoad struct {
	*load
	consumers []string
	workers   *crew
}

func openKeyed(l *load) part { return &keyedLoad{load: l} }

func keyedSubject(key int) string  { return fmt.Sprintf("w7.%d", key) }
func keyedConsumer(key int) string { return fmt.Sprintf("key-%d", key) }

// setup makes the consumer with keys, or one for each key, of which one message may be on its way.
func (w *keyedLoad) setup(ctx context.Context) error {
	if err := w.create(ctx, w.stream(KeyedStream, "w7.>")); err != nil {
		return err
	}
	shared := w.sharedBy(KeyedGroup)
	shared.Metadata = map[string]string{"runnel.key": "token:2"}
	if err := w.createConsumer(ctx, KeyedStream, shared); err != nil {
		return err
	}
	if knows, err := w.knowsKeys(ctx); err != nil || knows {
		w.consumers = []string{KeyedGroup}
		return err
	}
	if err := w.deleteConsumer(ctx, KeyedStream, KeyedGroup); err != nil {
		return err
	}
	for key := range w.cfg.Keys {
		cfg := w.sharedBy(keyedConsumer(key))
		cfg.FilterSubject, cfg.MaxAckPending = keyedSubject(key), 1
		if err := w.createConsumer(ctx, KeyedStream, cfg); err != nil {
			return err
		}
		w.consumers = append(w.consumers, cfg.Durable)
	}
	return nil
}

// knowsKeys asks whether the server knows keys: one that does tells of those of a consumer. Metadata alone say nothing, since other
// servers keep them and do nothing about them.
func (w *keyedLoad) knowsKeys(ctx context.Context) (knows bool, err error) {
	err = w.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "ask for keys", func(ctx context.Context) error {
			_, err := c.nc.RequestWithContext(ctx, "$RUNNEL.API.CONSUMER.KEYS."+KeyedStream+"."+KeyedGroup, nil)
			if knows = err == nil; errors.Is(err, nats.ErrNoResponders) {
				return nil
			}
			return err
		})
	})
	return knows, err
}

// run has half of the processes write, and starts a member of the group for each of the others.
func (w *keyedLoad) run(ctx context.Context) (err error) {
	writers, workers := w.halves()
	steady := make(chan struct{}, 1) // who puts something in is steady
	w.workers, err = w.start(context.Background(), workers, !rated, func(ctx context.Context, c *client) {
		m := &member{client: c, consumers: w.consumers}
		select {
		case steady <- struct{}{}:
			m.steady = true
		default:
		}
		m.work(ctx)
	})
	if err != nil {
		return err
	}
	return w.work(ctx, writers, writer(KeyedStream, keyed("w7")))
}

// member is a worker of the group. One of them is steady, so that no key waits for a worker for long: it neither pauses nor
// leaves.
type member struct {
	*client
	consumers []string
	steady    bool
}

// work asks one consumer after the other, in an order of its own.
func (m *member) work(ctx context.Context) {
	var all []*worker
	for _, n := range m.chance.Perm(len(m.consumers)) {
		all = append(all, &worker{client: m.client, stream: KeyedStream, consumer: m.consumers[n], group: KeyedGroup, wait: 200 * time.Millisecond})
	}
	for n := 0; m.connected(ctx); n++ {
		h := all[n%len(all)]
		h.round(ctx, 1, func(ctx context.Context, t task) bool { return m.process(ctx, h, t) })
		if !m.steady && m.one(200) { // it leaves, and joins again later
			h.leave()
			pause(ctx, time.Duration(m.chance.IntN(3000))*time.Millisecond)
		}
	}
}

// process takes its time, and then mostly acknowledges. It may also give back, be paused for too long, or crash. What was too
// long in its hands is not acknowledged, since another worker may have it.
func (m *member) process(ctx context.Context, h *worker, t task) bool {
	start := time.Now()
	wait := m.load.cfg.AckWait
	took := time.Duration(m.chance.IntN(5)) * time.Millisecond
	switch what := m.chance.IntN(40); {
	case what == 0 && !m.steady:
		took = wait + time.Second
	case what == 1:
		h.nak(t)
		return true
	case what == 2:
		h.crash()
		return false
	}
	if pause(ctx, took); time.Since(start) > wait/2 {
		return true
	}
	return h.ack(ctx, t)
}

// finish has careful workers take over from the group, key by key, and looks at what is stored: all of it, since nothing removes it.
func (w *keyedLoad) finish(ctx context.Context) error {
	var group sync.WaitGroup
	all := make([]error, len(w.consumers))
	for i, consumer := range w.consumers {
		group.Go(func() { all[i] = w.empty(ctx, KeyedStream, consumer, KeyedGroup, 1) })
	}
	if w.workers != nil {
		group.Go(w.workers.end)
	}
	group.Wait()
	return errors.Join(errors.Join(all...), w.finals(ctx, KeyedStream, subjectKey, true))
}
