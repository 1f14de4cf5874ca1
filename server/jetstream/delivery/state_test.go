package delivery_test

import (
	"context"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery"
)

func TestLag(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		check := func(want delivery.Lag, stalled delivery.Stall, until time.Time) {
			t.Helper()
			if err := w.stream.Settle(context.Background(), "c"); err != nil {
				t.Fatal(err)
			}
			s, ok := w.stream.State("c")
			if !ok || s.Lag != want || s.Stalled != stalled || !s.StalledUntil.Equal(until) {
				t.Errorf("got %+v, stalled %q until %v,\n\twant %+v, stalled %q until %v",
					s.Lag, s.Stalled, s.StalledUntil, want, stalled, until)
			}
		}
		check(delivery.Lag{}, "", time.Time{})
		first := time.Now().UTC()
		w.publish("s.a", "1")
		w.pass(time.Second)
		second := time.Now().UTC()
		w.publish("s.a", "2")
		w.pass(time.Second)
		check(delivery.Lag{Messages: 2, Undelivered: 2, OldestUndelivered: first, Age: 2 * time.Second}, delivery.NoRequests, time.Time{})
		w.pull("inbox", "")
		sent := time.Now()
		w.pass(time.Second)
		check(delivery.Lag{Messages: 2, Undelivered: 1, Unacked: 1, OldestUndelivered: second, OldestUnacked: first, Age: 3 * time.Second}, delivery.NoRequests, time.Time{})
		w.pull("inbox", `{"batch":10,"expires":60000000000}`)
		m := w.got("inbox", "1", "2")
		check(delivery.Lag{Messages: 2, Unacked: 2, OldestUnacked: first, Age: 3 * time.Second}, delivery.Backoff, sent.Add(30*time.Second))
		w.ack(m[0], "", "")
		check(delivery.Lag{Messages: 1, Unacked: 1, OldestUnacked: second, Age: 2 * time.Second, Served: 1}, delivery.Backoff, sent.Add(31*time.Second))
		w.ack(m[1], "-NAK 1h", "")
		w.pass(time.Minute)
		check(delivery.Lag{Messages: 1, Unacked: 1, OldestUnacked: second, Age: 62 * time.Second}, delivery.Backoff, sent.Add(time.Hour+time.Second))
		w.pass(time.Hour)
		check(delivery.Lag{Messages: 1, Unacked: 1, OldestUnacked: second, Age: time.Hour + 62*time.Second}, delivery.NoRequests, time.Time{})
		w.ack(m[1], "", "")
		check(delivery.Lag{Served: 1}, "", time.Time{})
	})
}

// TestServed counts what consumers are through with: what is acknowledged or terminated where each message is, otherwise what is
// delivered.
func TestServed(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		cfg := explicit()
		w.consumer(cfg)
		cfg.Name, cfg.Durable, cfg.Ack = "all", "all", config.AckAll
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3", "4")
		check := func(consumer string, want float64) {
			t.Helper()
			w.wait()
			if s, _ := w.stream.State(consumer); s.Lag.Served != want {
				t.Errorf("%s: got %v served a second, want %v", consumer, s.Lag.Served, want)
			}
		}
		check("c", 0)
		w.pull("inbox", `{"batch":4,"expires":60000000000}`)
		m := w.got("inbox", "1", "2", "3", "4")
		check("c", 0)
		w.ack(m[0], "", "")
		w.ack(m[1], "+TERM", "")
		w.ack(m[2], "-NAK", "")
		w.ack(m[3], "+WPI", "")
		check("c", 2)
		w.pullOf("all", "inbox", "3")
		w.got("inbox", "1", "2", "3")
		check("all", 3)
		w.pass(time.Minute)
		check("all", 0)
	})
}

func TestStalledByAckPending(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending = 1
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2")
		w.pull("inbox", `{"batch":10,"expires":60000000000}`)
		w.got("inbox", "1")
		if s, _ := w.stream.State("c"); s.Stalled != delivery.MaxAckPending || !s.StalledUntil.Equal(time.Now().Add(30*time.Second)) {
			t.Errorf("stalled by %q until %v", s.Stalled, s.StalledUntil)
		}
	})
}

// TestStalledIsForgotten: what has stood in the way does not show when it no longer does.
func TestStalledIsForgotten(t *testing.T) {
	cfg := pushing()
	cfg.Ack = config.AckNone
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1")
		w.wait()
		if s, _ := w.stream.State("c"); s.Stalled != delivery.NoInterest || s.Lag.Messages != 1 {
			t.Errorf("without a subscriber: %+v", s)
		}
		w.net.subscribe("to")
		w.wait()
		if s, _ := w.stream.State("c"); s.Stalled != "" || s.Lag.Messages != 0 {
			t.Errorf("with a subscriber: %+v", s)
		}
	})
}
