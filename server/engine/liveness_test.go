package engine_test

import (
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// pingOften makes an interval that tests can wait for. The engine looks every 12 ms then.
func pingOften(s *engine.Settings) { s.PingInterval = 50 * time.Millisecond }

// TestStaleConnection: a peer that answers no PING is told so and cut off, whether or not it ever said a word.
func TestStaleConnection(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, pingOften)
		silent, connected := h.dial(), h.dial()
		connected.send(`CONNECT {"verbose":false}` + "\r\nSUB a 1\r\n")
		for _, c := range []*client{silent, connected} {
			c.expectPing()
			c.expectPing()
			c.expect("-ERR 'Stale Connection'")
			c.expectEOF()
			if got := h.waitClosed(); got != engine.ReasonStale {
				t.Errorf("reason = %q, want %q", got, engine.ReasonStale)
			}
		}
		if n := h.policy.Global().Subscriptions(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// TestPongKeeps: a peer that answers stays, and its round trip is measured.
func TestPongKeeps(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, pingOften)
		c := h.connect()
		served := h.served(c)
		estimate := served.RTT()
		if estimate <= 0 || estimate > patience {
			t.Errorf("round trip %v before any was measured, want the time until CONNECT", estimate)
		}
		for range 6 {
			c.expectPing()
			c.send("PONG\r\n")
		}
		until(t, "a round trip was measured", func() bool { return served.RTT() != estimate })
		if got := served.RTT(); got > patience {
			t.Errorf("round trip = %v", got)
		}
		// Answers that nobody asked for are no measurement.
		rtt := served.RTT()
		c.send("PONG\r\nPONG\r\n")
		if got := served.Reason(); got != engine.ReasonNone {
			t.Errorf("closed: %q", got)
		}
		if got := served.RTT(); got > 2*patience {
			t.Errorf("round trip went from %v to %v", rtt, got)
		}
	})
}

// TestLateAnswer: one answer makes up for all PINGs before.
func TestLateAnswer(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, pingOften)
		c := h.connect()
		for range 3 {
			c.expectPing()
			c.expectPing()
			c.send("PONG\r\n")
		}
	})
}

// TestFirstPing comes long before the interval is over.
func TestFirstPing(t *testing.T) {
	var all []*client
	for _, tr := range transports {
		h := start(t, tr.pollers, accounts.Config{}, func(s *engine.Settings) { s.PingInterval = time.Hour })
		all = append(all, h.connect(), h.dial())
	}
	for _, c := range all {
		c.expectPing()
	}
}

// TestAuthTimeout: where credentials are required, a peer must show some in time.
func TestAuthTimeout(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{Username: "u", Password: "p"}, func(s *engine.Settings) { s.AuthTimeout = 50 * time.Millisecond })
		known := h.dial()
		known.send(`CONNECT {"user":"u","pass":"p","verbose":false}` + "\r\n")
		known.flush()
		silent := h.dial()
		silent.expect("-ERR 'Authentication Timeout'")
		silent.expectEOF()
		if got := h.waitClosed(); got != engine.ReasonAuthTimeout {
			t.Errorf("reason = %q, want %q", got, engine.ReasonAuthTimeout)
		}
		// Half a line is not enough.
		half := h.dial()
		half.send("CONNECT {")
		half.expect("-ERR 'Authentication Timeout'")
		half.expectEOF()
		known.flush()
	})
}

// TestNoAuthTimeout: where none are required, nobody needs to say anything.
func TestNoAuthTimeout(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) {
			s.AuthTimeout, s.PingInterval = 10*time.Millisecond, 200*time.Millisecond
		})
		c := h.dial()
		c.expectPing() // by then the time is over
		c.send("PONG\r\n")
		c.flush()
	})
}

// TestSettingsChange: connections follow with what they do next.
func TestSettingsChange(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		s := h.engine.Settings()
		s.MaxPayloadBytes = 10
		h.engine.SetSettings(s)
		c.send("SUB a 1\r\n%s", pub("a", "0123456789"))
		c.expect("MSG a 1 10", "0123456789")
		c.send("%s", pub("a", "0123456789x"))
		c.expect("-ERR 'Maximum Payload Violation'")
		c.expectEOF()
	})
}

// TestSlowAuthentication: nothing is parsed, and nothing lost, while credentials are checked; others go on.
func TestSlowAuthentication(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{Username: "u", Password: "p"}, nil)
		other := h.dial()
		other.send(`CONNECT {"user":"u","pass":"p","verbose":false}` + "\r\n")
		other.flush()
		h.mayBlock.Store(true)
		gate := h.hold()
		c := h.dial()
		c.send(`CONNECT {"user":"u","pass":"p","verbose":false}`+"\r\nSUB a 1\r\n%s", pub("a", "early")[:6])
		c.send("%s", pub("a", "early")[6:])
		for i := range 20 { // far more than one read
			c.send("%s", pub("a", numbered(i)))
		}
		for range 10 {
			other.flush()
		}
		if got := h.policy.Global().Subscriptions(); got != 0 {
			t.Errorf("%d subscriptions before the credentials were checked", got)
		}
		close(gate)
		c.expect("MSG a 1 5", "early")
		for i := range 20 {
			if m := c.message(); m.payload != numbered(i) {
				t.Fatalf("got %.20q, want number %d", m.payload, i)
			}
		}
		c.flush()
	})
}

// TestGoneDuringAuthentication: a peer that leaves while its credentials are checked leaves nothing behind.
func TestGoneDuringAuthentication(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{Username: "u", Password: "p"}, nil)
		h.mayBlock.Store(true)
		gate := h.hold()
		for _, password := range []string{"p", "wrong"} {
			c := h.dial()
			c.send("CONNECT {\"user\":\"u\",\"pass\":%q}\r\nSUB a 1\r\n", password)
			_ = c.nc.Close()
		}
		close(gate)
		h.waitClosed()
		h.waitClosed()
		if n := h.engine.ConnCount(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if n := h.policy.Global().Subscriptions(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}
