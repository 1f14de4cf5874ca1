package engine_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestCloseDeliversWhatWaits: a connection that is closed with a text gets what was queued for it, the text, and
// then the end.
func TestCloseDeliversWhatWaits(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		late, publisher := h.connect().narrow(), h.connect()
		late.send("SUB a 1\r\n")
		late.flush()
		n := h.fill(publisher, late, "a")
		served := h.served(late)
		served.Close(engine.ReasonKicked, "go away")
		served.Close(engine.ReasonShutdown, "second")
		publisher.send("%s", pub("a", "too late"))
		publisher.flush()
		for i := range n {
			if m := late.message(); m.payload != numbered(i) {
				t.Fatalf("got %.20q, want number %d", m.payload, i)
			}
		}
		late.expect("-ERR 'go away'")
		late.expectEOF()
		if got := h.waitClosed(); got != engine.ReasonKicked {
			t.Errorf("reason = %q, want %q", got, engine.ReasonKicked)
		}
	})
}

// TestCloseWaitsNotForEver: a connection that is closed and does not read what it is owed is cut off.
func TestCloseWaitsNotForEver(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		t.Parallel() // it takes 2 s
		h := start(t, pollers, accounts.Config{}, nil)
		stuck, publisher := h.connect().narrow(), h.connect()
		stuck.send("SUB a 1\r\n")
		stuck.flush()
		h.fill(publisher, stuck, "a")
		h.served(stuck).Close(engine.ReasonKicked, "go away")
		if got := h.waitClosed(); got != engine.ReasonKicked {
			t.Errorf("reason = %q, want %q", got, engine.ReasonKicked)
		}
		if n := h.engine.ConnCount(); n != 1 {
			t.Errorf("%d connections, want the publisher's", n)
		}
	})
}

// TestCloseWhilePeerSends: the text reaches a peer that goes on sending.
func TestCloseWhilePeerSends(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		for range 20 {
			c := h.connect()
			c.send("SUB a 1\r\nFOO\r\n%s", strings.Repeat(pub("b", "x"), 100))
			c.expect("-ERR 'Unknown Protocol Operation'")
			_ = c.nc.Close()
			if got := h.waitClosed(); got != engine.ReasonParseError {
				t.Errorf("reason = %q, want %q", got, engine.ReasonParseError)
			}
		}
		if n := h.policy.Global().Subscriptions(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// TestClosedReasons: why a connection ended, by what its peer did.
func TestClosedReasons(t *testing.T) {
	tests := []struct {
		name, send string
		want       engine.Reason
	}{
		{"closed by the peer", "", engine.ReasonClientClosed},
		{"error from the peer", "-ERR 'x'\r\n", engine.ReasonClientClosed},
		{"half a line", "SUB a", engine.ReasonClientClosed},
		{"half a message", "PUB a 100\r\nabc", engine.ReasonClientClosed},
		{"unknown verb", "FOO\r\n", engine.ReasonParseError},
		{"malformed PUB", "PUB a\r\n", engine.ReasonParseError},
		{"long line", "SUB " + strings.Repeat("a", 5000) + "\r\n", engine.ReasonMaxControlLine},
		{"long message", "PUB a 1048577\r\n", engine.ReasonMaxPayload},
		{"malformed CONNECT", "CONNECT {\r\n", engine.ReasonProtocolViolation},
		{"unknown protocol", `CONNECT {"protocol":2}` + "\r\n", engine.ReasonProtocolVersion},
		{"no responders without headers", `CONNECT {"no_responders":true}` + "\r\n", engine.ReasonNoRespondersHeaders},
		{"headers that were not announced", "CONNECT {}\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n", engine.ReasonHeaderViolation},
	}
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				h.t = t
				c := h.dial()
				c.send("%s", tt.send)
				if err := c.nc.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if got := h.waitClosed(); got != tt.want {
					t.Errorf("reason = %q, want %q", got, tt.want)
				}
				_ = c.nc.Close()
			})
		}
	})
}

// TestHalfClosedPeerIsAnswered: what a peer sent before it ended its side is processed.
func TestHalfClosedPeerIsAnswered(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		subscriber := h.connect()
		subscriber.send("SUB a 1\r\n")
		subscriber.flush()
		for n := range 50 {
			c := h.dial()
			c.send("%s%s", quiet, pub("a", fmt.Sprint(n)))
			_ = c.nc.Close()
			if m := subscriber.message(); m.payload != fmt.Sprint(n) {
				t.Fatalf("got %+v, want number %d", m, n)
			}
		}
	})
}

// TestEngineClose: with traffic, with connections that do not read and with others that come at the same time, all
// ends, in time.
func TestEngineClose(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		publishers := make([]*client, 3)
		for i := range publishers {
			publishers[i] = h.connect()
			stuck, reader := h.connect().narrow(), h.connect()
			for _, c := range []*client{stuck, reader} {
				c.send("SUB a.%d 1\r\n", i)
				c.flush()
			}
			go func() { _, _ = io.Copy(io.Discard, reader.nc) }()
		}
		var flooding sync.WaitGroup
		for i, p := range publishers {
			flooding.Go(func() { // as clients do, it takes the end of one direction for the end
				_, _ = io.Copy(io.Discard, p.nc)
				_ = p.nc.Close()
			})
			flooding.Go(func() {
				text := strings.Repeat(pub(fmt.Sprint("a.", i), strings.Repeat("x", 1000)), 20)
				for {
					if _, err := io.WriteString(p.nc, text); err != nil {
						return
					}
				}
			})
		}
		until(t, "there is traffic", func() bool { return h.engine.Stalled() > 0 })
		coming := make(chan struct{})
		go func() {
			defer close(coming)
			for h.engine.ConnCount() > 0 {
				if nc, err := net.Dial("tcp", h.listener.Addr().String()); err == nil {
					_ = nc.Close()
				}
			}
		}()
		h.closeInTime()
		flooding.Wait() // their writes fail
		<-coming
		for range len(publishers) * 3 {
			h.waitClosed()
		}
		if n := h.engine.ConnCount(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if n := h.policy.Global().Interest().Len(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		// A connection that comes later is turned away.
		nc, err := net.Dial("tcp", h.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_ = nc.SetReadDeadline(time.Now().Add(patience))
		if text, err := io.ReadAll(nc); len(text) > 0 || os.IsTimeout(err) {
			t.Errorf("after the end: read %q, %v", text, err)
		}
		h.closeInTime() // again
	})
}

// closeInTime closes the engine and fails the test if that takes too long.
func (h *harness) closeInTime() {
	h.t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.engine.Close()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		h.t.Fatalf("the engine does not close\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// descriptors is how many files the process has open; 0 where that cannot be known.
func descriptors() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}

// TestChurn: connections that come and go, in every way, leave nothing behind.
func TestChurn(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		account := h.policy.Global()
		stays := h.connect()
		stays.send("SUB stays 1\r\n")
		stays.flush()
		goroutines, files := runtime.NumGoroutine(), descriptors()
		const together8, rounds = 8, 250
		together(together8, func(n int) {
			for round := range rounds {
				nc, err := net.Dial("tcp", h.listener.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				c := &client{t: t, nc: nc}
				c.write(quiet + "SUB a.* 1\r\nSUB a.b q 2\r\nSUB c.> 3\r\nUNSUB 3\r\n" + pub("a.b", "x") + pub("stays", "x"))
				switch (n + round) % 4 {
				case 0: // leaves at once, and what it is sent meets nobody
				case 1:
					c.write("PING\r\n")
					_ = nc.(*net.TCPConn).CloseWrite()
					_ = nc.SetReadDeadline(time.Now().Add(patience))
					_, _ = io.Copy(io.Discard, nc)
				case 2:
					c.write("PUB a.b 1000000\r\nnever complete")
				case 3:
					c.write("FOO\r\n")
					_ = nc.SetReadDeadline(time.Now().Add(patience))
					_, _ = io.Copy(io.Discard, nc)
				}
				_ = nc.Close()
			}
		})
		for range together8 * rounds {
			h.waitClosed()
		}
		if n := h.engine.ConnCount(); n != 1 {
			t.Errorf("%d connections are left, want 1", n)
		}
		if n, entries := account.Subscriptions(), account.Interest().Len(); n != 1 || entries != 1 {
			t.Errorf("the account counts %d subscriptions and has %d, want 1", n, entries)
		}
		until(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= goroutines })
		until(t, "the descriptors are closed", func() bool { return descriptors() <= files })
		stays.drain()
	})
}
