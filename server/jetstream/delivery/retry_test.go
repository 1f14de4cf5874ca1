package delivery_test

import (
	"testing"
	"time"

	"runnel/server/jetstream/delivery"
)

// TestRest sees that a message that rests takes no place of max_ack_pending, and takes one again when its time has come.
func TestRest(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending, cfg.AckWait = 1, time.Hour
	cfg.Metadata = map[string]string{"runnel.retry": "exponential,min=10s,max=10s,factor=2,jitter=0"}
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3")
		w.pull("x", `{"batch":5}`)
		w.wait()
		first := w.got("x", "1")
		w.ack(first[0], "-NAK", "")
		second := w.got("x", "2")
		if s, _ := w.stream.State("c"); s.Stalled != delivery.MaxAckPending {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.MaxAckPending)
		}
		w.pass(11 * time.Second)
		w.got("x") // the first is due, but the second is in somebody's hands
		w.ack(second[0], "+ACK", "")
		first = w.got("x", "1")
		if n := first[0].ack(t).Deliveries; n != 2 {
			t.Errorf("delivery %d, want 2", n)
		}
		w.ack(first[0], "+ACK", "")
		w.got("x", "3")
	})
}
