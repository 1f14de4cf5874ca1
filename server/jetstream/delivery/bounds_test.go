package delivery_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"runnel/server/accounts"
	"runnel/server/jetstream/delivery"
)

// gate is a network that does not take messages before it is opened.
type gate struct {
	*network
	open chan struct{}
}

func (g *gate) Deliver(a *accounts.Account, to, queue, subject, reply string, header, payload []byte) int {
	<-g.open
	return g.network.Deliver(a, to, queue, subject, reply, header, payload)
}

// TestMailboxIsBounded: what clients send while no worker has time does not grow without bound, and the next turn goes
// on as if nothing had been.
func TestMailboxIsBounded(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.pool.Close()
		g := &gate{w.net, make(chan struct{})}
		w.pool = delivery.New(delivery.Config{
			Workers: 1, Outlet: func() delivery.Outlet { return g }, Watch: w.net.watch, Events: w.events,
		})
		w.stream = w.pool.Open(w.account, w.log, nil)
		w.net.subscribe("inbox")
		w.net.subscribe("bad")
		w.publish("s.a", "1", "2")
		w.stream.Pull("c", delivery.Request{Reply: "inbox"})
		synctest.Wait() // the worker hangs
		body := append([]byte(`{"batch":`), bytes.Repeat([]byte("x"), 1<<20)...)
		for range 100 {
			w.stream.Pull("c", delivery.Request{Reply: "bad", Body: body})
		}
		close(g.open)
		w.wait()
		m := w.got("inbox", "1")[0]
		if n := len(w.net.take("bad")); n == 0 || n > 8 {
			t.Errorf("%d requests of 1 MiB were kept, want up to 8", n)
		}
		w.ack(m, "", "")
		w.pull("inbox", "")
		w.got("inbox", "2")
	})
}

// TestSubjectsAreForgotten: whom a subject concerns is remembered for few subjects, and right for all.
func TestSubjectsAreForgotten(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		cfg := explicit()
		cfg.FilterSubject = "s.*.x"
		w.consumer(cfg)
		w.pull("inbox", `{"batch":10}`)
		subject := []byte("s.00000.y")
		for i := range 70000 {
			for j, n := 6, i; j > 1; j, n = j-1, n/10 {
				subject[j] = byte('0' + n%10)
			}
			w.stream.Stored(string(subject), 1)
		}
		w.publish("s.a.x", "1")
		w.publish("s.b.y", "2")
		w.wait()
		w.got("inbox", "1")
	})
}
