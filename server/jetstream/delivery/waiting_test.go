package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

func TestRoundRobin(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.pull("x", `{"batch":3}`)
		w.pull("y", `{"batch":2}`)
		w.pull("z", `{"batch":1}`)
		w.publish("s.a", "1", "2", "3", "4", "5", "6", "7")
		w.wait()
		w.got("x", "1", "4", "6")
		w.got("y", "2", "5")
		w.got("z", "3")
	})
}

func TestOneRequestDoesNotHoldUpAnother(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.pull("gone", `{"batch":5}`)
		w.pull("small", `{"batch":5,"max_bytes":10}`)
		w.pull("slow", `{"batch":5}`)
		w.pull("good", `{"batch":5,"expires":60000000000}`)
		w.net.leave("gone")
		w.net.block("slow", true)
		w.publish("s.a", "1", "2")
		w.wait()
		w.got("small", "409 Message Size Exceeds MaxBytes Pending-Messages=5 Pending-Bytes=10")
		w.got("slow")
		w.got("good", "1", "2")
		w.numbers("c", "delivered 2/2 floor 0/0 pending 0 ack pending 2 redelivered 0")
		if s, _ := w.stream.State("c"); s.Waiting != 2 {
			t.Errorf("%d requests wait, want 2", s.Waiting)
		}
		w.net.block("slow", false)
		w.wait()
		w.publish("s.a", "3", "4")
		w.wait()
		w.got("slow", "3")
		w.got("good", "4")
	})
}

func TestSlowClientAlone(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.net.block("slow", true)
		w.pull("slow", `{"batch":5}`)
		w.publish("s.a", "1", "2")
		w.wait()
		w.got("slow")
		if s, _ := w.stream.State("c"); s.Stalled != delivery.SlowClient {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.SlowClient)
		}
		w.net.block("slow", false)
		w.wait()
		w.got("slow", "1", "2")
	})
}

func TestMaxWaiting(t *testing.T) {
	cfg := explicit()
	cfg.MaxWaiting = 2
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.pull("a", `{"batch":1}`)
		w.pull("b", `{"batch":1}`)
		w.pull("third", `{"batch":1,"expires":300000000}`)
		w.got("third", "409 Exceeded MaxWaiting")
		w.pull("third", `{"batch":1,"expires":300000000,"idle_heartbeat":50000000}`)
		w.got("third")
		w.pull("third", `{"batch":1,"no_wait":true}`)
		w.got("third", "404 No Messages")
		w.net.leave("a") // makes room
		w.pull("third", `{"batch":1,"expires":300000000}`)
		w.pass(300 * time.Millisecond)
		w.got("third", "408 Request Timeout Pending-Messages=1 Pending-Bytes=0")
	})
}

func TestRequestsPending(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1")
		w.net.subscribe("first")
		w.net.subscribe("second")
		w.net.block("first", true)
		w.pull("first", `{"batch":2}`)
		w.net.block("first", false)
		w.stream.Pull("c", delivery.Request{Reply: "second", Body: []byte(`{"no_wait":true}`)})
		w.wait()
		w.got("first", "1")
		if got := w.net.take("second"); len(got) != 1 {
			t.Errorf("the request that does not wait got %v, want one status", got)
		}
	})
}

func TestSettleForgetsWhoLeft(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.pull("a", `{"batch":1}`)
		w.pull("b", `{"batch":1}`)
		w.net.leave("a")
		if err := w.stream.Settle(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		if s, ok := w.stream.State("c"); !ok || s.Waiting != 1 {
			t.Errorf("%d requests wait, want 1", s.Waiting)
		}
	})
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(*world)
		want string
	}{
		{"removed", func(w *world) { w.stream.Remove("c") }, "409 Consumer Deleted"},
		{"closed stream", func(w *world) { w.stream.Close() }, "409 Consumer Deleted"},
		{"closed pool", func(w *world) { w.pool.Close() }, "409 Server Shutdown Pending-Messages=2 Pending-Bytes=0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				w.consumer(explicit())
				w.pull("inbox", `{"batch":3}`)
				w.publish("s.a", "1")
				w.wait()
				m := w.got("inbox", "1")[0]
				test.end(w)
				w.got("inbox", test.want) // told when the call returns
				if w.stream.Pull("c", delivery.Request{Reply: "inbox"}) {
					t.Error("a pull request was taken")
				}
				if w.stream.Ack("c", ackOf(m.ack(t), "")) {
					t.Error("an acknowledgement was taken")
				}
				if _, ok := w.stream.State("c"); ok {
					t.Error("there is a state")
				}
				if err := w.stream.Settle(context.Background(), "c"); err != nil {
					t.Error(err)
				}
				w.stream.Stored("s.a", 2)
				w.stream.Changed()
				w.stream.Remove("c")
			})
		})
	}
}

func TestNoSuchConsumer(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.net.subscribe("inbox")
		if w.stream.Pull("c", delivery.Request{Reply: "inbox"}) {
			t.Error("a pull request was taken")
		}
		if w.stream.Ack("c", ackOf(api.AckSubject{}, "")) || w.stream.FlowControl("c", "x", nil) {
			t.Error("an answer was taken")
		}
		w.stream.Update("c") // of one that is not in the log
		w.wait()
		if !w.stream.Pull("c", delivery.Request{Reply: "inbox"}) {
			t.Error("a pull request was not taken")
		}
		w.wait()
		w.got("inbox", "409 Consumer Deleted")
		if err := w.stream.Settle(context.Background(), "c"); err != nil {
			t.Error(err)
		}
	})
}

func TestReset(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1", "2", "3")
		w.pull("inbox", `{"batch":2}`)
		w.got("inbox", "1", "2")
		w.propose(&command.Reset{Time: now(), Consumer: "c", Sequence: 2})
		w.stream.Update("c")
		w.pull("inbox", `{"batch":5}`)
		m := w.got("inbox", "2", "3")
		if a := m[0].ack(t); a.ConsumerSequence != 1 || a.Deliveries != 1 {
			t.Errorf("after the reset came %+v", a)
		}
		w.numbers("c", "delivered 2/3 floor 0/1 pending 0 ack pending 2 redelivered 0")
	})
}

func TestPause(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1")
		w.propose(&command.Pause{Time: now(), Consumer: "c", Until: now() + int64(10*time.Second)})
		w.stream.Update("c")
		w.pull("inbox", `{"batch":5,"expires":30000000000,"idle_heartbeat":4000000000}`)
		s, _ := w.stream.State("c")
		if want := time.Now().Add(10 * time.Second); s.Stalled != delivery.Paused || !s.StalledUntil.Equal(want) {
			t.Errorf("stalled by %q until %v, want paused until %v", s.Stalled, s.StalledUntil, want)
		}
		w.pull("other", `{"batch":5,"no_wait":true}`)
		w.got("other", "404 No Messages")
		w.pass(9 * time.Second)
		beat := "100 Idle Heartbeat Last-Consumer=0 Last-Stream=0"
		w.got("inbox", beat, beat)
		w.pass(time.Second)
		w.got("inbox", "1")
		w.propose(&command.Pause{Time: now(), Consumer: "c", Until: now() + int64(time.Hour)})
		w.stream.Update("c")
		w.publish("s.a", "2")
		w.wait()
		w.got("inbox")
		w.propose(&command.Pause{Time: now(), Consumer: "c"})
		w.stream.Update("c")
		w.wait()
		w.got("inbox", "2")
	})
}

func TestFilters(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		one, two, all := explicit(), explicit(), explicit()
		one.Name, one.FilterSubject = "one", "s.a.*"
		two.Name, two.FilterSubjects = "two", []string{"s.*.x", "s.b.>"}
		all.Name = "all"
		for _, c := range []config.Consumer{one, two, all} {
			w.consumer(c)
			w.pullOf(c.Name, c.Name, `{"batch":100}`)
		}
		w.publish("s.a.y", "1")
		w.publish("s.a.x", "2")
		w.publish("s.b.x", "3")
		w.publish("s.c", "4")
		w.wait()
		w.got("one", "1", "2")
		w.got("two", "2", "3")
		w.got("all", "1", "2", "3", "4")
		one.FilterSubject = "s.c"
		w.consumer(one)
		w.publish("s.a.x", "5")
		w.publish("s.c", "6")
		w.wait()
		w.got("one", "4", "6")
	})
}

func TestLastPerSubject(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		for _, subject := range []string{"s.a", "s.b", "s.a", "s.c", "s.b"} {
			w.publish(subject, subject)
		}
		cfg := explicit()
		cfg.Deliver, cfg.FilterSubject = config.DeliverLastPerSubject, "s.>"
		w.consumer(cfg)
		w.pull("inbox", `{"batch":2}`)
		m := w.got("inbox", "s.a", "s.c")
		if a := m[1].ack(t); a.StreamSequence != 4 || a.Pending != 1 {
			t.Errorf("the second has %+v", a)
		}
		w.pull("inbox", `{"batch":5}`)
		w.got("inbox", "s.b")
		w.publish("s.a", "new")
		w.wait()
		w.got("inbox", "new")
	})
}

func TestRestart(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", "1", "2", "3")
		w.pull("inbox", `2`)
		m := w.got("inbox", "1", "2")
		w.ack(m[0], "", "")
		w.pool.Close()
		w.pass(2 * time.Second)
		w.open()
		w.wait()
		w.pull("inbox", `{"batch":5}`)
		w.pass(10 * time.Millisecond)
		got := w.net.take("inbox")
		if len(got) != 2 || got[0].payload == got[1].payload {
			t.Fatalf("after the restart came %v, want 2 and 3", got)
		}
	})
}

func TestRefusedStart(t *testing.T) {
	for _, cause := range []error{store.ErrFull, context.Canceled} {
		t.Run(cause.Error(), func(t *testing.T) {
			bubbleOf(t, streamConfig(), 1, func(t *testing.T, w *world) {
				w.consumer(explicit())
				w.net.subscribe("reply")
				w.publish("s.a", "1", "2", "3")
				w.log.fail(cause)
				w.pull("inbox", `{"batch":2}`)
				m := w.got("inbox", "1", "2")
				w.pull("inbox", `{"batch":2}`)
				w.ack(m[0], "", "reply")
				w.pass(10 * time.Second)
				w.got("inbox")
				w.got("reply")
				want := 1
				if errors.Is(cause, context.Canceled) {
					want = 0
				}
				if lines := w.logged.take(); len(lines) != want {
					t.Errorf("%d lines in the log, want %d: %q", len(lines), want, lines)
				}
				if errors.Is(cause, store.ErrFull) {
					if s, _ := w.stream.State("c"); s.Stalled != delivery.Storage {
						t.Errorf("stalled by %q, want %q", s.Stalled, delivery.Storage)
					}
				}
				w.log.fail(nil)
				w.pass(6 * time.Second)
				w.got("inbox", "3")
				w.got("reply", "")
				w.numbers("c", "delivered 3/3 floor 1/1 pending 0 ack pending 2 redelivered 0")
			})
		})
	}
}

func TestUnreadable(t *testing.T) {
	for _, push := range []bool{false, true} {
		t.Run(fmt.Sprint("push ", push), func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				cfg := explicit()
				if push {
					cfg.DeliverSubject = "inbox"
				}
				w.consumer(cfg)
				w.publish("s.a", "1")
				w.log.failReads(errors.New("bad disk"))
				w.net.subscribe("inbox")
				if !push {
					w.pull("inbox", "")
				}
				w.pass(time.Minute)
				if lines := w.logged.take(); len(lines) != 1 {
					t.Errorf("%d lines in the log, want 1: %q", len(lines), lines)
				}
				if s, _ := w.stream.State("c"); s.Stalled != delivery.Storage {
					t.Errorf("stalled by %q, want %q", s.Stalled, delivery.Storage)
				}
				w.log.failReads(nil)
				w.pass(5 * time.Second)
				w.got("inbox", "1")
			})
		})
	}
}

func TestSettleWaits(t *testing.T) {
	bubbleOf(t, streamConfig(), 1, func(t *testing.T, w *world) {
		w.consumer(explicit())
		w.publish("s.a", "1")
		w.log.fail(store.ErrFull)
		w.pull("inbox", ``)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.stream.Settle(ctx, "c"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("settle ends with %v, want a deadline", err)
		}
		w.log.fail(nil)
		w.numbers("c", "delivered 1/1 floor 0/0 pending 0 ack pending 1 redelivered 0")
	})
}

// TestLastPerSubjectLarge: more of them than a turn takes, with some gone, and others behind them.
func TestLastPerSubjectLarge(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		const n = 700
		for round := range 2 {
			for i := range n {
				w.publish(fmt.Sprintf("s.%d", i), fmt.Sprint(round))
			}
		}
		cfg := explicit()
		cfg.Deliver, cfg.FilterSubject = config.DeliverLastPerSubject, "s.>"
		w.consumer(cfg)
		w.publish("s.0", "new")
		w.propose(&command.Delete{Time: now(), Sequence: n + 300})
		w.stream.Changed()
		w.pull("inbox", `{"batch":10000}`)
		got := w.net.take("inbox")
		if len(got) != n || got[n-1].payload != "new" {
			t.Fatalf("got %d messages, want %d, and a new one at the end", len(got), n)
		}
		last := uint64(n)
		for _, m := range got {
			a := m.ack(t)
			if a.StreamSequence <= last || a.StreamSequence == n+300 {
				t.Fatalf("message %d comes after %d", a.StreamSequence, last)
			}
			last = a.StreamSequence
		}
		w.publish("s.1", "newer")
		w.wait()
		w.got("inbox", "newer")
	})
}
