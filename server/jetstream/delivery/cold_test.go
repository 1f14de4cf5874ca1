package delivery_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// TestColdReadHoldsUpNobody: while one consumer waits for a disk, what others were sent in turns before arrives, and
// they go on.
func TestColdReadHoldsUpNobody(t *testing.T) {
	for _, far := range []bool{true, false} {
		t.Run(fmt.Sprintf("far %v", far), func(t *testing.T) {
			bubbleOf(t, streamConfig(), 1, func(t *testing.T, w *world) { coldRead(t, w, far) })
		})
	}
}

func coldRead(t *testing.T, w *world, far bool) {
	w.pool.Close()
	c := &clients{t: t, got: make(map[string]bool), last: make(map[string]uint64), mail: make(chan api.AckSubject, 16), thirst: make(chan string, 16)}
	w.pool = delivery.New(delivery.Config{
		Workers: 1, Outlet: func() delivery.Outlet { return &stage{clients: c} }, Events: w.events,
		Watch: func(_ *accounts.Account, _, _ string, changed func(bool)) func() { changed(true); return func() {} },
	})
	w.stream = w.pool.Open(w.account, w.log, nil)
	for _, name := range []string{"first", "second", "third"} {
		cfg := explicit()
		cfg.Name = name
		w.makeConsumer(cfg)
	}
	w.publish("s.a", "x")
	synctest.Wait()
	gates := make(chan struct{})
	w.log.mu.Lock()
	w.log.reading, w.log.far = func() { <-gates }, far
	w.log.mu.Unlock()
	for _, name := range []string{"first", "second", "third"} {
		w.stream.Pull(name, delivery.Request{Reply: name, Body: []byte(`{"batch":1}`)})
	}
	synctest.Wait() // the first reads, the others wait for a worker
	for i, name := range []string{"second", "third"} {
		gates <- struct{}{}
		synctest.Wait()
		arrived := 0
		if far {
			arrived = i + 1
		}
		if got := len(c.mail); got != arrived {
			t.Errorf("%d messages have arrived while the %s reads, want %d", got, name, arrived)
		}
	}
	gates <- struct{}{}
	synctest.Wait()
	if got := len(c.mail); got != 3 {
		t.Errorf("%d messages have arrived, want 3", got)
	}
}
