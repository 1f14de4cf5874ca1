package delivery_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// clients are subscribers that acknowledge what they get at once, and ask for more, from goroutines of their own.
type clients struct {
	t      *testing.T
	mu     sync.Mutex // guards the next two
	got    map[string]bool
	last   map[string]uint64
	left   atomic.Int64
	mail   chan api.AckSubject
	thirst chan string
}

// stage is the outlet of a worker: nothing arrives before Flush.
type stage struct {
	clients *clients
	acks    []api.AckSubject
}

func (s *stage) Deliver(_ *accounts.Account, _, _, _, reply string, _, _ []byte) int {
	if a, ok := api.ParseAck(reply); ok {
		s.acks = append(s.acks, a)
	}
	return 1
}

func (s *stage) Publish(_ *accounts.Account, to, _ string, _, _ []byte) int {
	s.clients.thirst <- to // a request has ended
	return 1
}

func (s *stage) Blocked(*accounts.Account, string, string, interface{ Wake() }) bool { return false }

func (s *stage) Flush() {
	runtime.Gosched() // others may run ahead
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	for _, a := range s.acks {
		s.clients.arrive(a)
	}
	s.acks = s.acks[:0]
}

func (s *stage) Close() {}

// arrive takes a message. Deliveries come in their order.
func (c *clients) arrive(a api.AckSubject) {
	if last := c.last[a.Consumer]; a.ConsumerSequence != last+1 {
		c.t.Errorf("consumer %q: delivery %d comes after %d", a.Consumer, a.ConsumerSequence, last)
	}
	c.last[a.Consumer] = a.ConsumerSequence
	key := fmt.Sprint(a.Consumer, a.StreamSequence)
	if !c.got[key] {
		c.got[key] = true
		c.left.Add(-1)
	}
	c.mail <- a
}

// TestParallel: publishers, clients and those who ask and disturb at the same time. It is for the race detector, and
// for wakes that get lost.
func TestParallel(t *testing.T) {
	const consumers, messages = 8, 400
	w := openWorld(t, streamConfig())
	defer w.close()
	w.pool.Close()
	c := &clients{t: t, got: make(map[string]bool), last: make(map[string]uint64), mail: make(chan api.AckSubject, 1<<16), thirst: make(chan string, 1<<16)}
	c.left.Store(consumers * messages)
	w.pool = delivery.New(delivery.Config{
		Workers: 3, Outlet: func() delivery.Outlet { return &stage{clients: c} }, Events: w.events,
		Watch: func(_ *accounts.Account, _, _ string, changed func(bool)) func() { changed(true); return func() {} },
	})
	w.stream = w.pool.Open(w.account, w.log, nil)
	for i := range consumers {
		cfg := explicit()
		cfg.Name, cfg.MaxAckPending = fmt.Sprintf("c%d", i), 50
		if i%4 == 3 {
			cfg.DeliverSubject = "to"
		}
		w.makeConsumer(cfg)
		if i%4 != 3 {
			c.thirst <- cfg.Name
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for range 2 {
		working.Go(func() { w.serve(ctx, c) })
	}
	working.Go(func() {
		for ctx.Err() == nil {
			w.stream.Changed()
			w.stream.State("c1")
			if err := w.stream.Settle(ctx, ""); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for i := range messages {
		r, err := w.log.Propose(ctx, &command.Publish{Time: now(), Subject: "s.a", Payload: fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		w.stream.Stored("s.a", r.Sequence)
	}
	for !settledAll(w) {
		if err := w.stream.Settle(ctx, ""); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	working.Wait()
	if left := c.left.Load(); left != 0 {
		t.Errorf("%d messages were not delivered", left)
	}
}

// serve acknowledges messages, and asks again when a request has ended.
func (w *world) serve(ctx context.Context, c *clients) {
	for {
		select {
		case a := <-c.mail:
			w.stream.Ack(a.Consumer, delivery.Ack{Subject: a})
		case name := <-c.thirst:
			w.stream.Pull(name, delivery.Request{Reply: name, Body: []byte(`{"batch":7,"expires":20000000,"max_bytes":100000}`)})
		case <-ctx.Done():
			return
		}
	}
}

// settledAll reports whether all is delivered and acknowledged.
func settledAll(w *world) bool {
	done := true
	_ = w.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range s.Consumers() {
			done = done && c.Pending() == 0 && c.AckPending() == 0
		}
		return nil
	})
	return done
}
