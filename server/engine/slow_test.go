package engine_test

import (
	"strings"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestSlowConsumerPending: who reads nothing is cut off when too much waits, and nobody else notices.
func TestSlowConsumerPending(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.MaxPendingBytes = 1 << 20 })
		slow, healthy, publisher := h.connect().narrow(), h.connect(), h.connect()
		slow.send("SUB a 1\r\n")
		slow.flush()
		healthy.send("SUB a 1\r\n")
		healthy.flush()
		served := h.served(slow)
		for n := 0; served.Reason() == engine.ReasonNone; n++ {
			if n > 10_000 {
				t.Fatal("the slow consumer is still there")
			}
			publisher.send("%s", pub("a", numbered(n)))
			publisher.flush()
			if m := healthy.message(); m.payload != numbered(n) {
				t.Fatalf("the healthy subscriber got %.20q, want number %d", m.payload, n)
			}
		}
		if got := h.waitClosed(); got != engine.ReasonSlowPending {
			t.Errorf("reason = %q, want %q", got, engine.ReasonSlowPending)
		}
		if got := h.engine.SlowConsumers(); got != 1 {
			t.Errorf("slow consumers = %d, want 1", got)
		}
		if got := h.policy.Global().Traffic.SlowConsumers.Load(); got != 1 {
			t.Errorf("slow consumers of the account = %d, want 1", got)
		}
		until(t, "nothing is kept for it", func() bool { return served.PendingBytes() == 0 })
		publisher.flush()
		healthy.flush()
	})
}

// TestSlowConsumerDeadline: who reads nothing is cut off when nothing was written for the write deadline.
func TestSlowConsumerDeadline(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.WriteDeadline = 100 * time.Millisecond })
		slow, publisher := h.connect().narrow(), h.connect()
		slow.send("SUB a 1\r\n")
		slow.flush()
		h.fill(publisher, slow, "a")
		if got := h.waitClosed(); got != engine.ReasonSlowDeadline {
			t.Errorf("reason = %q, want %q", got, engine.ReasonSlowDeadline)
		}
		if got := h.engine.SlowConsumers(); got != 1 {
			t.Errorf("slow consumers = %d, want 1", got)
		}
		publisher.flush()
	})
}

// TestLateReader: one that falls behind for a while gets everything, and is an ordinary connection again, also
// when the time limit for what it did not take at first has passed.
func TestLateReader(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		t.Parallel()
		const limit = time.Second
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.WriteDeadline = limit })
		late, publisher := h.connect().narrow(), h.connect()
		late.send("SUB a 1\r\n")
		late.flush()
		n := 0
		for served := h.served(late); served.PendingBytes() == 0; n++ {
			publisher.send("%s", pub("a", numbered(n)))
			publisher.flush()
		}
		for i := range n {
			if m := late.message(); m.payload != numbered(i) {
				t.Fatalf("got %.20q, want number %d", m.payload, i)
			}
		}
		<-time.After(limit * 3 / 2) // no condition shows that a limit was not enforced
		for i := range 3 {
			publisher.send("%s", pub("a", numbered(i)))
			if m := late.message(); m.payload != numbered(i) {
				t.Fatalf("after the deadline: got %.20q, want number %d", m.payload, i)
			}
		}
		late.flush()
	})
}

// TestPublisherGoesOn: a subscriber that never reads slows its publisher down and does not stop it.
func TestPublisherGoesOn(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		for _, noStall := range []bool{false, true} {
			h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.NoStall = noStall })
			stuck, publisher := h.connect().narrow(), h.connect()
			stuck.send("SUB a 1\r\n")
			stuck.flush()
			next := h.fill(publisher, stuck, "a")
			served := h.served(publisher)
			for range 20 { // more than parks a publisher
				publisher.send("%s", pub("a", numbered(next)))
				next++
			}
			publisher.flush()
			if got := h.engine.Stalled() > 0; got == noStall {
				t.Errorf("no stall %t: stalled %d times", noStall, h.engine.Stalled())
			}
			if h.engine.Stalled() != served.Stalls() {
				t.Errorf("engine counts %d stalls, its only publisher %d", h.engine.Stalled(), served.Stalls())
			}
			if c := served.Counters(); c.InMessages != int64(next) {
				t.Errorf("%d messages came in, want %d", c.InMessages, next)
			}
			// Nothing was lost on the way.
			for i := range next {
				if m := stuck.message(); m.payload != numbered(i) {
					t.Fatalf("got %.20q, want number %d", m.payload, i)
				}
			}
		}
	})
}

// TestReaderIsItsOwnPublisher: a client that floods itself and does not read meanwhile must not wait for itself.
func TestReaderIsItsOwnPublisher(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect().narrow()
		c.send("SUB a 1\r\n")
		n := h.served(c)
		const messages = 200
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range messages {
				c.write(pub("a", numbered(i)))
			}
		}()
		<-sent // 12 MB, which no pair of sockets holds
		until(t, "all is in", func() bool { return n.Counters().InMessages == messages })
		for i := range messages {
			if m := c.message(); m.payload != numbered(i) {
				t.Fatalf("got %.20q, want number %d", m.payload, i)
			}
		}
	})
}

// TestPendingIsBounded: no input makes the engine keep much more than max_pending for one connection.
func TestPendingIsBounded(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		const most = 256 << 10
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.MaxPendingBytes = most })
		slow, publisher := h.connect().narrow(), h.connect()
		slow.send("SUB a 1\r\nSUB a 2\r\nSUB a 3\r\n")
		slow.flush()
		served := h.served(slow)
		for n := 0; served.Reason() == engine.ReasonNone; n++ {
			if n > 10_000 {
				t.Fatal("the slow consumer is still there")
			}
			publisher.send("%s", pub("a", strings.Repeat("x", 32<<10)))
			publisher.flush()
			// One batch on top: a stage and what it borrows.
			if got := served.PendingBytes(); got > most+2<<20 {
				t.Fatalf("%d bytes wait, limit %d", got, most)
			}
		}
		h.waitClosed()
	})
}
