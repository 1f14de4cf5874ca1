package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery"
)

// pushing is a push consumer that delivers to "to".
func pushing() config.Consumer {
	return config.Consumer{Ack: config.AckExplicit, DeliverSubject: "to"}
}

func TestPush(t *testing.T) {
	cfg := pushing()
	cfg.AckWait = time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.publish("s.a", "1")
		w.consumer(cfg)
		if s, _ := w.stream.State("c"); s.PushBound || s.Stalled != delivery.NoInterest {
			t.Errorf("without a subscriber: bound %v, stalled by %q", s.PushBound, s.Stalled)
		}
		w.net.subscribe("to")
		w.wait()
		m := w.got("to", "1")[0]
		if a := m.ack(t); m.subject != "s.a" || a.Deliveries != 1 || a.ConsumerSequence != 1 {
			t.Errorf("got %q with %+v", m.subject, a)
		}
		if s, _ := w.stream.State("c"); !s.PushBound {
			t.Error("with a subscriber: not bound")
		}
		w.publish("s.a", "2", "3")
		w.wait()
		m = w.got("to", "2", "3")[0]
		w.ack(m, "-NAK", "")
		w.got("to", "2")
		w.pull("inbox", "")
		w.got("inbox", "409 Consumer is push based")
		w.net.leave("to")
		w.publish("s.a", "4")
		w.pass(5 * time.Second)
		w.net.subscribe("to")
		w.wait()
		w.got("to", "1", "2", "3", "4")
		w.numbers("c", "delivered 8/4 floor 0/0 pending 0 ack pending 4 redelivered 3")
	})
}

func TestPushToQueue(t *testing.T) {
	cfg := pushing()
	cfg.DeliverGroup = "q"
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.net.subscribe("to")
		w.publish("s.a", "1")
		w.wait()
		w.got("to")
		w.net.subscribe("to q")
		w.wait()
		w.got("to q", "1")
	})
}

func TestPushNobodyTakesIt(t *testing.T) {
	want := map[bool]string{
		false: "delivered 1/1 floor 0/0 pending 0 ack pending 1 redelivered 0",
		true:  "delivered 2/1 floor 0/0 pending 0 ack pending 1 redelivered 1", // it is known too late
	}
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(pushing())
		w.net.subscribe("to")
		w.net.mu.Lock()
		delete(w.net.inboxes, "to") // it goes and nobody knows yet
		w.net.mu.Unlock()
		w.publish("s.a", "1")
		w.pass(10 * time.Millisecond)
		w.net.mu.Lock()
		w.net.inboxes["to"] = &inbox{}
		w.net.mu.Unlock()
		w.pass(300 * time.Millisecond)
		w.got("to", "1")
		w.numbers("c", want[w.log.Replicated()])
	})
}

func TestPushUpdated(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(pushing())
		cfg := pushing()
		cfg.DeliverSubject = "elsewhere"
		w.consumer(cfg)
		w.net.subscribe("to") // no longer watched
		w.publish("s.a", "1")
		w.wait()
		w.got("to")
		w.net.subscribe("elsewhere")
		w.wait()
		w.got("elsewhere", "1")
	})
}

func TestPushSlowClient(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(pushing())
		w.net.subscribe("to")
		w.net.block("to", true)
		w.publish("s.a", "1")
		w.wait()
		w.got("to")
		if s, _ := w.stream.State("c"); s.Stalled != delivery.SlowClient {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.SlowClient)
		}
		w.net.block("to", false)
		w.wait()
		w.got("to", "1")
	})
}

func TestHeartbeats(t *testing.T) {
	cfg := pushing()
	cfg.Heartbeat = time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.pass(5 * time.Second)
		w.net.subscribe("to")
		w.pass(2500 * time.Millisecond)
		beat := func(n int) string { return fmt.Sprintf("100 Idle Heartbeat Last-Consumer=%d Last-Stream=%d", n, n) }
		w.got("to", beat(0), beat(0))
		w.publish("s.a", "1")
		w.pass(999 * time.Millisecond)
		w.got("to", "1")
		w.pass(time.Second)
		w.got("to", beat(1))
		w.net.leave("to")
		w.pass(5 * time.Second)
	})
}

func TestHeadersOnly(t *testing.T) {
	cfg := pushing()
	cfg.HeadersOnly = true
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.net.subscribe("to")
		w.publish("s.a", "12345")
		w.wait()
		m := w.got("to", "")[0]
		if size, _ := headers.Get([]byte(m.header), "Nats-Msg-Size"); string(size) != "5" {
			t.Errorf("the size is %q, want 5", size)
		}
	})
}

func TestReplayOriginal(t *testing.T) {
	cfg := pushing()
	cfg.Replay = config.ReplayOriginal
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		for i, gap := range []time.Duration{0, 2 * time.Second, 0, 3 * time.Second} {
			w.pass(gap)
			w.publish("s.a", fmt.Sprint(i))
		}
		w.net.subscribe("to")
		w.consumer(cfg)
		start := time.Now()
		s, _ := w.stream.State("c")
		if want := start.Add(2 * time.Second); s.Stalled != delivery.Replaying || !s.StalledUntil.Equal(want) {
			t.Errorf("stalled by %q until %v, want %q until %v", s.Stalled, s.StalledUntil, delivery.Replaying, want)
		}
		w.pass(10 * time.Second)
		m := w.got("to", "0", "1", "2", "3")
		for i, want := range []time.Duration{0, 2 * time.Second, 2 * time.Second, 5 * time.Second} {
			if got := m[i].at.Sub(start); got < want || got > want+10*time.Millisecond {
				t.Errorf("message %d came after %v, want %v", i, got, want)
			}
		}
		w.publish("s.a", "live")
		w.wait()
		w.got("to", "live")
	})
}

func TestRateLimit(t *testing.T) {
	cfg := pushing()
	cfg.RateLimit = 8 * 10000 // 10,000 bytes a second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.net.subscribe("to")
		payload := strings.Repeat("x", 960)
		for range 50 {
			w.publish("s.a", payload)
		}
		w.consumer(cfg)
		w.pass(2 * time.Second)
		if n := len(w.net.take("to")); n < 19 || n > 22 {
			t.Errorf("%d messages of about 1,000 bytes came in 2 s, want 20", n)
		}
		if s, _ := w.stream.State("c"); s.Stalled != delivery.RateLimit {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.RateLimit)
		}
		w.pass(5 * time.Second)
		if n := len(w.net.take("to")); n < 28 {
			t.Errorf("%d messages came later, want the rest", n)
		}
	})
}

// flowing is a push consumer with flow control, as ordered consumers are.
func flowing() config.Consumer {
	return config.Consumer{
		Ack: config.AckNone, DeliverSubject: "to", FlowControl: true, Heartbeat: 5 * time.Second, Memory: true,
		Inactive: 5 * time.Minute,
	}
}

func TestFlowControl(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		payload := strings.Repeat("x", 64<<10)
		for range 200 {
			w.publish("s.a", payload)
		}
		w.net.subscribe("to")
		w.consumer(flowing())
		if n := len(w.net.take("to")); n != 1 {
			t.Errorf("%d messages came at once, want 1 of 64 KiB", n)
		}
		w.pass(2 * time.Millisecond)
		requests, bytes := flowRequests(w.net.take("to"))
		if bytes += len(payload); len(requests) != 1 || bytes < 2<<20 || bytes > 2<<20+70<<10 {
			t.Fatalf("%d requests and %d bytes, want one request and 2 MiB", len(requests), bytes)
		}
		w.pass(5 * time.Second)
		w.got("to", "100 Idle Heartbeat Last-Consumer=32 Last-Stream=32 Consumer-Stalled="+requests[0])
		if s, _ := w.stream.State("c"); s.Stalled != delivery.FlowControl {
			t.Errorf("stalled by %q, want %q", s.Stalled, delivery.FlowControl)
		}
		w.stream.FlowControl("c", "$JS.FC.S.c.other", nil)
		w.wait()
		w.got("to")
		w.stream.FlowControl("c", requests[0], nil)
		w.wait()
		requests, bytes = flowRequests(w.net.take("to"))
		if len(requests) != 1 || bytes < 3<<20-70<<10 || bytes > 3<<20+70<<10 {
			t.Fatalf("%d requests and %d bytes, want one request and the 3 MiB that are left of 4", len(requests), bytes)
		}
		for len(requests) > 0 {
			w.stream.FlowControl("c", requests[0], nil)
			w.wait()
			requests, _ = flowRequests(w.net.take("to"))
		}
		w.numbers("c", "delivered 200/200 floor 200/200 pending 0 ack pending 0 redelivered 0")
	})
}

// flowRequests returns the subjects of the flow control requests, and the bytes of the messages.
func flowRequests(list []message) (subjects []string, bytes int) {
	for _, m := range list {
		bytes += len(m.payload)
		if m.String() == "100 FlowControl Request" {
			subjects = append(subjects, m.reply)
		}
	}
	return subjects, bytes
}

func TestAckByFlowControl(t *testing.T) {
	cfg := config.Consumer{
		Ack: config.AckFlowControl, DeliverSubject: "to", FlowControl: true, Heartbeat: time.Second, MaxAckPending: 10,
	}
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.net.subscribe("to")
		w.consumer(cfg)
		for i := range 12 {
			w.publish("s.a", fmt.Sprint(i+1))
		}
		w.wait()
		w.publish("s.a", "13")
		w.wait()
		list := w.net.take("to")
		requests, _ := flowRequests(list)
		if len(requests) != 1 || len(list) != 11 {
			t.Fatalf("got %v, want 10 messages and a request after 5", list)
		}
		w.numbers("c", "delivered 10/10 floor 0/0 pending 3 ack pending 10 redelivered 0")
		answer := func(subject string, last int) {
			t.Helper()
			w.stream.FlowControl("c", subject, headers.Build(headers.Field{Name: "Nats-Last-Stream", Value: fmt.Sprint(last)}))
			w.wait()
		}
		w.pass(time.Second)
		w.got("to", "100 Idle Heartbeat Last-Consumer=10 Last-Stream=10 Consumer-Stalled="+requests[0])
		answer(requests[0], 5)
		list = w.net.take("to")
		requests, _ = flowRequests(list)
		if len(requests) != 1 || len(list) != 4 {
			t.Fatalf("got %v, want 3 messages and a request", list)
		}
		answer(requests[0], 99) // of what was not sent
		w.numbers("c", "delivered 13/13 floor 5/5 pending 0 ack pending 8 redelivered 0")
		w.pass(time.Second)
		requests, _ = flowRequests(w.net.take("to"))
		if len(requests) != 1 {
			t.Fatalf("%d requests when idle, want 1", len(requests))
		}
		answer(requests[0], 13)
		w.numbers("c", "delivered 13/13 floor 13/13 pending 0 ack pending 0 redelivered 0")
	})
}

func TestOrderedPush(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.net.subscribe("to")
		for i := range 1000 {
			w.publish("s.a", fmt.Sprint(i+1))
		}
		w.consumer(flowing())
		got := w.net.take("to")
		if len(got) != 1000 {
			t.Fatalf("got %d messages, want 1000", len(got))
		}
		for i := range got {
			if a := got[i].ack(t); a.ConsumerSequence != uint64(i+1) || a.StreamSequence != uint64(i+1) || a.Pending != uint64(999-i) {
				t.Fatalf("message %d has %+v", i, a)
			}
		}
		w.numbers("c", "delivered 1000/1000 floor 1000/1000 pending 0 ack pending 0 redelivered 0")
	})
}

func TestInactive(t *testing.T) {
	pull, push := explicit(), pushing()
	pull.Inactive, push.Inactive = 5*time.Second, 5*time.Second
	tests := []struct {
		name     string
		consumer config.Consumer
		live     func(*world) // it is used for 20 s
		leave    func(*world)
	}{
		{"pull", pull, func(w *world) {
			for range 5 {
				w.pass(3 * time.Second)
				w.pull("inbox", `{"batch":1,"expires":1000000000}`)
				w.pass(time.Second)
			}
		}, func(*world) {}},
		{"pull that waits long", pull, func(w *world) {
			w.pull("inbox", `{"batch":1,"expires":20000000000}`)
			w.pass(20 * time.Second)
		}, func(*world) {}},
		{"pull that waits for ever", pull, func(w *world) {
			w.pull("inbox", `{"batch":1}`)
			w.pass(20 * time.Second)
		}, func(w *world) { w.net.leave("inbox") }},
		{"push", push, func(w *world) {
			w.net.subscribe("to")
			w.pass(20 * time.Second)
		}, func(w *world) { w.net.leave("to") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				w.consumer(test.consumer)
				w.pass(time.Second)
				test.live(w)
				w.told()
				test.leave(w)
				w.pass(4900 * time.Millisecond)
				w.told()
				w.pass(5300 * time.Millisecond) // who waited for ever is found out at the next look
				if got := w.events.take(); len(got) == 0 || got[0] != "inactive c" {
					t.Errorf("told %q, want that it is inactive", got)
				}
				w.stream.Remove("c")
				w.pass(time.Minute)
				w.told()
			})
		})
	}
}

func TestInactiveIsToldAgain(t *testing.T) {
	cfg := explicit()
	cfg.Inactive = 5 * time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.pass(11 * time.Second)
		w.told("inactive c", "inactive c")
		w.pull("inbox", `{"batch":1,"expires":1000000000}`)
		w.pass(5 * time.Second)
		w.told()
	})
}
