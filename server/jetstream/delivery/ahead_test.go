package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery"
)

// byKey is a consumer whose messages have the second token of their subjects as their keys.
func byKey() config.Consumer {
	cfg := explicit()
	cfg.AckWait = time.Hour
	cfg.Metadata = map[string]string{config.MetadataKey: "token:2"}
	return cfg
}

// small is a consumer that wants what is below 10.
func small() config.Consumer {
	cfg := explicit()
	cfg.Metadata = map[string]string{config.MetadataFilter: `{"n":[{"numeric":["<",10]}]}`}
	return cfg
}

// TestKeys sees that a message waits for the one before it of its key, through a refusal, and that it is said why.
func TestKeys(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(byKey())
		w.publish("s.a", "1", "2")
		w.publish("s.b", "3")
		w.pull("x", `{"batch":9}`)
		first := w.got("x", "1", "3")
		if s, _ := w.stream.State("c"); s.Stalled != delivery.KeysBusy {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.KeysBusy)
		}
		w.numbers("c", "delivered 2/3 floor 0/0 pending 1 ack pending 2 redelivered 0")
		w.ack(first[0], "-NAK", "")
		again := w.got("x", "1")
		w.ack(first[1], "+ACK", "")
		w.got("x")
		w.ack(again[0], "+ACK", "")
		second := w.got("x", "2")
		w.publish("s.b", "4")
		w.wait()
		fourth := w.got("x", "4")
		w.ack(second[0], "+TERM", "")
		w.ack(fourth[0], "+ACK", "")
		w.numbers("c", "delivered 5/4 floor 5/4 pending 0 ack pending 0 redelivered 0")
	})
}

// TestKeysGivenUp: what is given up since nobody answers lets the next one of its key go.
func TestKeysGivenUp(t *testing.T) {
	cfg := byKey()
	cfg.AckWait, cfg.MaxDeliver = time.Second, 1
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2")
		w.pull("x", `{"batch":9}`)
		w.got("x", "1")
		w.pass(1100 * time.Millisecond)
		w.got("x", "2")
	})
}

// TestKeysGone: a message that goes without an answer lets the next one of its key go, although nobody tells the deliveries.
func TestKeysGone(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(byKey())
		w.publish("s.a", "1", "2", "3")
		w.pull("x", `{"batch":1}`)
		w.got("x", "1")
		w.propose(&command.Delete{Time: now(), Sequence: 1})
		w.pull("x", `{"batch":2}`) // only now the lookout sees that others wait
		w.pass(time.Second)
		w.got("x", "2")
		w.propose(&command.Delete{Time: now(), Sequence: 2})
		w.pass(time.Second)
		w.got("x", "3")
	})
}

// TestKeysOfPush is about a push consumer.
func TestKeysOfPush(t *testing.T) {
	cfg := byKey()
	cfg.DeliverSubject = "to"
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.net.subscribe("to")
		w.consumer(cfg)
		w.publish("s.a", "1", "2")
		w.publish("s.b", "3")
		w.wait()
		got := w.got("to", "1", "3")
		w.ack(got[0], "+ACK", "")
		w.got("to", "2")
	})
}

// TestKeysTakenAway: what was passed over comes first when keys mean nothing any more.
func TestKeysTakenAway(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(byKey())
		w.publish("s.a", "1", "2", "3")
		w.publish("s.b", "4")
		w.pull("x", `{"batch":2}`)
		w.got("x", "1", "4")
		w.pull("x", `{"batch":1}`)
		w.got("x")
		cfg := explicit()
		cfg.AckWait = time.Hour
		w.consumer(cfg)
		w.publish("s.c", "5")
		w.wait()
		w.got("x", "2")
		w.pull("x", `{"batch":9}`)
		w.got("x", "3", "5")
		w.numbers("c", "delivered 5/5 floor 0/0 pending 0 ack pending 5 redelivered 0")
		w.consumer(byKey())
		w.publish("s.a", "6")
		w.publish("s.d", "7")
		w.wait()
		w.got("x", "7")
	})
}

// TestKeysShown: who asks is told which keys have a message out.
func TestKeysShown(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(byKey())
		w.publish("s.a", "1", "2", "3")
		w.publish("s.b", "4")
		show := func() string {
			keys, known, err := w.stream.Keys(context.Background(), "c", 2)
			if err != nil || !known || !keys.Keyed {
				t.Fatalf("got %+v, %v, %v", keys, known, err)
			}
			return fmt.Sprint(keys.InFlight, keys.Blocked, keys.Holds)
		}
		if got, want := show(), "0 0 []"; got != want {
			t.Errorf("at first: got %s, want %s", got, want)
		}
		w.pull("x", `{"batch":9}`)
		w.got("x", "1", "4")
		if got, want := show(), "2 0 [{a true 1 s.a false 2 false} {b true 4 s.b false 0 false}]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w.pool.Close()
		w.open()
		w.wait()
		if got, want := show(), "2 0 [{a true 1 s.a false 0 false} {b true 4 s.b false 0 false}]"; got != want {
			t.Errorf("a new leader: got %s, want %s", got, want)
		}
		if keys, known, err := w.stream.Keys(context.Background(), "d", 2); known || err != nil {
			t.Errorf("no such consumer: got %+v, %v, %v", keys, known, err)
		}
		other := explicit()
		other.Name = "other"
		w.consumer(other)
		if keys, known, err := w.stream.Keys(context.Background(), "other", 2); keys.Keyed || !known || err != nil {
			t.Errorf("without keys: got %+v, %v, %v", keys, known, err)
		}
	})
}

// TestFilterIsThrough: what does not match is put into the state after a while, or when somebody asks, and waits for nobody.
func TestFilterIsThrough(t *testing.T) {
	for _, ack := range []config.Ack{config.AckNone, config.AckAll, config.AckExplicit} {
		cfg := small()
		cfg.Ack = ack
		bubble(t, streamConfig(), func(t *testing.T, w *world) {
			w.consumer(cfg)
			for range 20 {
				w.publish("s.a", `{"n":10}`)
			}
			w.pull("x", `{"batch":2}`)
			w.got("x")
			w.publish("s.a", `{"n":1}`, `{"n":12}`, "rubbish", `{"n":2}`, `{"n":20}`)
			w.wait()
			w.got("x", `{"n":1}`, `{"n":2}`)
			w.pull("y", `{"batch":2,"no_wait":true}`)
			w.got("y", "404 No Messages")
			w.pass(time.Second)
			if s, _ := w.stream.State("c"); s.Lag.Undelivered != 0 {
				t.Errorf("%v: %d are not delivered, want none", ack, s.Lag.Undelivered)
			}
		})
	}
}

// TestFilterOfLasts: a consumer of last messages gets those that match of its list.
func TestFilterOfLasts(t *testing.T) {
	cfg := small()
	cfg.Deliver, cfg.FilterSubject = config.DeliverLastPerSubject, "s.*"
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		for i := range 5 {
			w.publish("s.a", fmt.Sprintf(`{"n":%d}`, i))
			w.publish("s.b", fmt.Sprintf(`{"n":%d}`, 10+i))
			w.publish("s.c", fmt.Sprintf(`{"n":%d}`, i+5))
		}
		w.consumer(cfg)
		w.pull("x", `{"batch":9}`)
		w.got("x", `{"n":4}`, `{"n":9}`)
		w.publish("s.b", `{"n":3}`, `{"n":13}`)
		w.wait()
		w.got("x", `{"n":3}`)
		w.numbers("c", "delivered 3/17 floor 0/12 pending 0 ack pending 3 redelivered 0")
	})
}

// TestKeysBlocked: that messages wait behind a key that has failed for good is said for as long as it is so, whatever else happens.
func TestKeysBlocked(t *testing.T) {
	cfg := byKey()
	cfg.Metadata[config.MetadataKeyFailed] = "block"
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3")
		w.pull("x", `{"batch":9,"expires":60000000000}`)
		first := w.got("x", "1")
		w.ack(first[0], "+TERM", "")
		for range 5 {
			w.wait()
			if err := w.stream.Settle(t.Context(), "c"); err != nil { // as who asks does
				t.Error(err)
			}
			w.wait()
			if s, _ := w.stream.State("c"); s.Stalled != delivery.KeysBusy {
				t.Errorf("stalled by %q, want %q", s.Stalled, delivery.KeysBusy)
			}
			w.pass(time.Second)
		}
		w.pool.Close()
		w.open()
		w.wait()
		if keys, _, err := w.stream.Keys(t.Context(), "c", 9); keys.Blocked != 1 || keys.InFlight != 0 || err != nil {
			t.Errorf("a new leader: got %+v, %v, want one key that is blocked", keys, err)
		}
		w.pull("y", `{"batch":9,"expires":60000000000}`)
		w.got("y")
		w.ack(first[0], "+ACK", "")
		w.got("y", "2")
	})
}
