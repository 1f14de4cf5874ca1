package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// keyedLoad is W7. Neither server offers a group that is ordered by key, so it is built of what they have: each key has a consumer of
// its own, which has one message at most on its way. That is a lease too: who has the message has the key, until it is
// acknowledged, given back, or the ack wait is over.
//
// The workers go on until others have taken over in the end, so that at all times somebody asks.
type keyedLoad struct {
	*load
	workers *crew
}

func openKeyed(l *load) part { return &keyedLoad{load: l} }

func keyedSubject(key int) string  { return fmt.Sprintf("w7.%d", key) }
func keyedConsumer(key int) string { return fmt.Sprintf("key-%d", key) }

// setup makes a consumer for each key, of which one message may be on its way.
func (w *keyedLoad) setup(ctx context.Context) error {
	if err := w.create(ctx, w.stream(KeyedStream, "w7.>")); err != nil {
		return err
	}
	for key := range w.cfg.Keys {
		cfg := w.sharedBy(keyedConsumer(key))
		cfg.FilterSubject, cfg.MaxAckPending = keyedSubject(key), 1
		if err := w.createConsumer(ctx, KeyedStream, cfg); err != nil {
			return err
		}
	}
	return nil
}

// run has half of the processes write, and starts a member of the group for each of the others.
func (w *keyedLoad) run(ctx context.Context) (err error) {
	writers, workers := w.halves()
	steady := make(chan struct{}, 1) // who puts something in is steady
	w.workers, err = w.start(context.Background(), workers, !rated, func(ctx context.Context, c *client) {
		m := &member{client: c}
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
	steady bool
}

// work asks for one key after the other, in an order of its own.
func (m *member) work(ctx context.Context) {
	var all []*worker
	for _, key := range m.chance.Perm(m.load.cfg.Keys) {
		all = append(all, &worker{client: m.client, stream: KeyedStream, consumer: keyedConsumer(key), group: KeyedGroup, wait: 200 * time.Millisecond})
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
	all := make([]error, w.cfg.Keys)
	for key := range w.cfg.Keys {
		group.Go(func() { all[key] = w.empty(ctx, KeyedStream, keyedConsumer(key), KeyedGroup, 1) })
	}
	if w.workers != nil {
		group.Go(w.workers.end)
	}
	group.Wait()
	return errors.Join(errors.Join(all...), w.finals(ctx, KeyedStream, subjectKey, true))
}
