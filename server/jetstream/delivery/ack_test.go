package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

func TestAcks(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.net.subscribe("reply")
		w.publish("s.a", "1", "2", "3", "4")
		w.pull("inbox", `{"batch":4}`)
		m := w.got("inbox", "1", "2", "3", "4")
		w.ack(m[1], "", "")
		w.numbers("c", "delivered 4/4 floor 0/0 pending 0 ack pending 3 redelivered 0")
		w.ack(m[0], "+ACK", "reply")
		w.got("reply", "")
		w.numbers("c", "delivered 4/4 floor 2/2 pending 0 ack pending 2 redelivered 0")
		w.ack(m[0], "+OK", "reply") // again
		w.got("reply", "")
		w.ack(m[2], "nonsense", "reply")
		w.got("reply")
		w.ack(m[2], "+TERM because of this", "reply")
		w.got("reply", "")
		w.numbers("c", "delivered 4/4 floor 3/3 pending 0 ack pending 1 redelivered 0")
		w.told(`terminated c {3 3 1} "because of this"`)
	})
}

func TestAckOfWhatWasNotSent(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.net.subscribe("reply")
		w.publish("s.a", "1", "2")
		w.pull("inbox", `1`)
		m := w.got("inbox", "1")[0]
		for _, forged := range []string{"$JS.ACK.S.c.1.2.2.1.0", "$JS.ACK.S.c.1.0.0.1.0", "$JS.ACK.S.c.1.18446744073709551615.1.1.0"} {
			m.reply = forged
			w.ack(m, "", "reply")
			w.ack(m, "-NAK", "reply")
			w.ack(m, "+TERM", "reply")
		}
		w.got("reply")
		w.told()
		w.numbers("c", "delivered 1/1 floor 0/0 pending 1 ack pending 1 redelivered 0")
	})
}

func TestAckAll(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(config.Consumer{Ack: config.AckAll})
		w.publish("s.a", "1", "2", "3", "4")
		w.pull("inbox", `4`)
		m := w.got("inbox", "1", "2", "3", "4")
		w.ack(m[2], "", "")
		w.numbers("c", "delivered 4/4 floor 3/3 pending 0 ack pending 1 redelivered 0")
	})
}

func TestAckNone(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(config.Consumer{Ack: config.AckNone})
		w.publish("s.a", "1", "2", "3", "4")
		w.pull("inbox", `3`)
		m := w.got("inbox", "1", "2", "3")
		w.ack(m[2], "-NAK", "")
		w.told()
		w.pull("inbox", `3`)
		w.got("inbox", "4")
		w.numbers("c", "delivered 4/4 floor 4/4 pending 0 ack pending 0 redelivered 0")
	})
}

func TestNext(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1", "2", "3", "4", "5")
		w.pull("inbox", ``)
		m := w.got("inbox", "1")[0]
		w.ack(m, "+NXT", "inbox")
		m = w.got("inbox", "2")[0]
		w.ack(m, "+NXT 2", "inbox")
		m = w.got("inbox", "3", "4")[0]
		w.ack(m, `+NXT {"batch":5,"no_wait":true}`, "inbox")
		m = w.got("inbox", "5", "404 No Messages")[0]
		w.ack(m, `+NXT`, "")
		w.numbers("c", "delivered 5/5 floor 3/3 pending 0 ack pending 1 redelivered 0")
	})
}

func TestRedelivery(t *testing.T) {
	cfg := explicit()
	cfg.AckWait, cfg.MaxDeliver = time.Second, 3
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2")
		w.pull("inbox", `{"batch":100}`)
		m := w.got("inbox", "1", "2")
		w.ack(m[1], "", "")
		first := m[0].ack(t)
		for i := range 2 {
			w.pass(990 * time.Millisecond)
			w.got("inbox")
			w.pass(20 * time.Millisecond)
			a := w.got("inbox", "1")[0].ack(t)
			if a.Deliveries != uint64(i+2) || a.ConsumerSequence != uint64(i+3) || a.StreamSequence != 1 || a.Time != first.Time {
				t.Errorf("redelivery %d has %+v", i+1, a)
			}
		}
		w.pass(1010 * time.Millisecond)
		w.got("inbox")
		w.told("max deliveries c 1 3")
		w.publish("s.a", "3")
		w.wait()
		m = w.got("inbox", "3")
		w.ack(m[0], "", "")
		w.pass(time.Hour)
		w.got("inbox")
		w.numbers("c", "delivered 5/3 floor 5/3 pending 0 ack pending 0 redelivered 1")
	})
}

func TestNak(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1", "2", "3")
		w.pull("inbox", `{"batch":100}`)
		m := w.got("inbox", "1", "2", "3")
		w.ack(m[1], "-NAK", "")
		again := w.got("inbox", "2")[0]
		if a := again.ack(t); a.Deliveries != 2 || a.ConsumerSequence != 4 {
			t.Errorf("redelivered with %+v", a)
		}
		w.ack(m[0], "-NAK 2s", "")
		w.ack(m[2], `-NAK {"delay":3000000000}`, "")
		w.told("nak c {2 2 1}", "nak c {1 1 1}", "nak c {3 3 1}")
		w.pass(1990 * time.Millisecond)
		w.got("inbox")
		w.pass(20 * time.Millisecond)
		w.got("inbox", "1")
		w.pass(time.Second)
		w.got("inbox", "3")
		w.ack(again, "-NAK zzz", "")
		w.got("inbox", "2")
	})
}

func TestProgress(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1")
		w.pull("inbox", `{"batch":100}`)
		m := w.got("inbox", "1")[0]
		for range 5 {
			w.pass(600 * time.Millisecond)
			w.ack(m, "+WPI", "")
			w.got("inbox")
		}
		w.pass(1100 * time.Millisecond)
		w.got("inbox", "1")
	})
}

func TestBackoff(t *testing.T) {
	cfg := explicit()
	cfg.Backoff, cfg.MaxDeliver = []time.Duration{time.Second, 3 * time.Second}, 3
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "first")
		w.pull("inbox", `{"batch":100}`)
		w.got("inbox", "first")
		w.pass(1010 * time.Millisecond)
		w.got("inbox", "first")
		w.publish("s.a", "second")
		w.wait()
		w.got("inbox", "second")
		w.pass(1010 * time.Millisecond) // not held up by the longer wait of the first
		w.got("inbox", "second")
		w.pass(1990 * time.Millisecond)
		w.got("inbox", "first")
		w.pass(1020 * time.Millisecond)
		w.got("inbox", "second")
		w.pass(time.Minute)
		w.got("inbox")
		w.told("max deliveries c 1 3", "max deliveries c 2 3")
	})
}

func TestRedeliveriesComeFirst(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3", "4")
		w.pull("inbox", `2`)
		w.got("inbox", "1", "2")
		w.pass(1100 * time.Millisecond)
		w.pull("inbox", `3`)
		w.got("inbox", "1", "2", "3")
	})
}

func TestMaxAckPending(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending, cfg.AckWait = 2, time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3", "4", "5")
		w.pull("inbox", `{"batch":100}`)
		m := w.got("inbox", "1", "2")
		w.pull("other", `{"batch":1,"no_wait":true}`)
		w.got("other") // it may come any time
		w.ack(m[0], "", "")
		if got := append(w.net.take("inbox"), w.net.take("other")...); len(got) != 1 || got[0].payload != "3" {
			t.Fatalf("after an ack came %v", got)
		}
		w.ack(m[1], "+TERM", "")
		if got := append(w.net.take("inbox"), w.net.take("other")...); len(got) != 1 || got[0].payload != "4" {
			t.Fatalf("after another ack came %v", got)
		}
		w.pass(1100 * time.Millisecond)
		w.got("inbox", "3", "4") // what comes again is not held up
	})
}

func TestAckOfWhatIsGone(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending = 1
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3")
		w.pull("inbox", `{"batch":100}`)
		w.got("inbox", "1")
		w.propose(&command.Delete{Time: now(), Sequence: 1})
		w.stream.Changed()
		w.wait()
		w.got("inbox", "2")
		w.propose(&command.Purge{Time: now()})
		w.stream.Changed()
		w.publish("s.a", "4")
		w.wait()
		w.got("inbox", "4")
		w.numbers("c", "delivered 3/4 floor 2/3 pending 0 ack pending 1 redelivered 0")
	})
}

func TestWorkQueue(t *testing.T) {
	cfg := streamConfig()
	cfg.Retention = config.WorkQueueRetention
	bubble(t, cfg, func(t *testing.T, w *world) {
		c := explicit()
		c.MaxDeliver, c.AckWait = 2, time.Second
		w.consumer(c)
		w.publish("s.a", "1", "2", "3")
		w.pull("inbox", `3`)
		m := w.got("inbox", "1", "2", "3")
		w.ack(m[0], "", "")
		w.ack(m[1], "+TERM", "")
		w.pass(1100 * time.Millisecond)
		w.pull("inbox", `1`)
		w.got("inbox", "3")
		w.pass(1100 * time.Millisecond)
		w.pull("inbox", `{"no_wait":true}`)
		w.got("inbox", "404 No Messages")
		if s := w.log.State(); s.Messages != 1 || s.First != 3 {
			t.Errorf("the stream has %+v, want message 3", s)
		}
	})
}

func TestSamples(t *testing.T) {
	cfg := explicit()
	cfg.Sampling = "100%"
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2")
		w.pull("inbox", `2`)
		m := w.got("inbox", "1", "2")
		w.pass(time.Second)
		w.ack(m[1], "", "")
		w.ack(m[1], "", "")
		w.told("sample c {2 2 1} 1s")
	})
}

func TestManyAcksAreOneCommand(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		for i := range 600 {
			w.publish("s.a", fmt.Sprint(i))
		}
		w.pull("inbox", `{"batch":1000,"expires":60000000000}`)
		m := w.net.take("inbox")
		if len(m) != 600 {
			t.Fatalf("got %d messages, want 600", len(m))
		}
		for i := range m {
			if want := fmt.Sprint(i); m[i].payload != want || m[i].ack(t).ConsumerSequence != uint64(i+1) {
				t.Fatalf("message %d is %q with %+v", i, m[i].payload, m[i].ack(t))
			}
		}
		for i := range m {
			a := m[i].ack(t)
			w.stream.Ack("c", ackOf(a, ""))
		}
		w.numbers("c", "delivered 600/600 floor 600/600 pending 0 ack pending 0 redelivered 0")
	})
}
