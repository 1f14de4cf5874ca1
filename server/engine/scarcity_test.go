package engine_test

import (
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestHold: a connection that is held is not read, others are, and no setting changes that.
func TestHold(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.NoStall = true })
		var received atomic.Int64
		h.engine.Subscribe(h.policy.Global(), "a", "", func(m *engine.Message) {
			received.Add(1)
			m.Hold(30 * time.Millisecond)
			m.Hold(30 * time.Millisecond)
		})
		h.engine.Publish(h.policy.Global(), "a", "", nil, nil) // nobody to be held
		c, others := h.connect(), []*client{h.connect(), h.connect()}
		began := time.Now()
		for range 5 {
			c.send("PUB a 2\r\nhi\r\n")
			c.flush()
			for _, other := range others {
				other.send("PUB b 2\r\nhi\r\n")
				other.flush()
			}
		}
		if took := time.Since(began); received.Load() != 6 || took < 4*60*time.Millisecond {
			t.Errorf("received %d within %v, want 6 and 60 ms between each two of one connection", received.Load(), took)
		}
		if n := h.served(c).Stalls(); n == 0 {
			t.Error("the connection was not held")
		}
		for _, other := range others {
			if n := h.served(other).Stalls(); n != 0 {
				t.Errorf("held %d times for what somebody else sent", n)
			}
		}
	})
}

// TestHoldEnds: a connection that is held can be closed, and does not hold up the end of the engine.
func TestHoldEnds(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		heard := make(chan struct{}, 1)
		h.engine.Subscribe(h.policy.Global(), "a", "", func(m *engine.Message) {
			m.Hold(time.Hour)
			heard <- struct{}{}
		})
		c := h.connect()
		served := h.served(c)
		c.send("PUB a 2\r\nhi\r\n")
		<-heard
		served.Close(engine.ReasonKicked, "")
		if got := h.waitClosed(); got != engine.ReasonKicked {
			t.Errorf("reason = %q, want %q", got, engine.ReasonKicked)
		}
	})
}

// TestScarcity: while memory is scarce less may wait for a connection, and afterwards as much as before.
func TestScarcity(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.MaxPendingBytes = 1 << 30 })
		slow, publisher := h.connect().narrow(), h.connect()
		slow.send("SUB a 1\r\n")
		slow.flush()
		served := h.served(slow)
		h.engine.SetScarcity(engine.Scarcity{Patience: time.Millisecond, SoftBytes: 4 << 10, MostBytes: 1 << 20})
		most := 0
		for n := 0; served.Reason() == engine.ReasonNone; n++ {
			if n > 10_000 {
				t.Fatal("the slow consumer is still there")
			}
			publisher.send("%s", pub("a", numbered(n)))
			publisher.flush()
			most = max(most, served.PendingBytes())
		}
		if got := h.waitClosed(); got != engine.ReasonSlowPending || most > 3<<19 {
			t.Errorf("reason = %q with %d bytes, want %q and not more than 1 MiB and what came at once", got, most, engine.ReasonSlowPending)
		}
		if h.served(publisher).Stalls() == 0 {
			t.Error("the publisher was not slowed down")
		}
		h.engine.SetScarcity(engine.Scarcity{})
		patient := h.connect().narrow()
		patient.send("SUB b 1\r\n")
		patient.flush()
		again := h.served(patient)
		for n := 0; again.PendingBytes() < 3<<19; n++ {
			if again.Reason() != engine.ReasonNone || n > 10_000 {
				t.Fatalf("cut off after %d messages with %d bytes: %q", n, again.PendingBytes(), again.Reason())
			}
			publisher.send("%s", pub("b", numbered(n)))
			publisher.flush()
		}
	})
}
