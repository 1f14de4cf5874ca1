package engine_test

import (
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestConversations sends a text and compares all that comes back before PONG, or the end of the connection.
func TestConversations(t *testing.T) {
	tests := []struct {
		name  string
		send  string
		want  []string
		ends  bool
		first string // CONNECT, quiet when empty
	}{
		{name: "publish and subscribe", send: "SUB a 1\r\nPUB a 2\r\nhi\r\n", want: []string{"MSG a 1 2", "hi"}},
		{name: "reply", send: "SUB a 1\r\nPUB a r 0\r\n\r\n", want: []string{"MSG a 1 r 0", ""}},
		{name: "header", send: "SUB a 1\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", want: []string{"HMSG a 1 12 14", "NATS/1.0", "", "hi"}},
		{name: "odd spacing", send: "sub\ta  1\npub \t a   02\r\nhi\r\n", want: []string{"MSG a 1 2", "hi"}},
		{name: "wildcards", send: "SUB a.* 1\r\nSUB a.> 2\r\nSUB > 3\r\nPUB a.b 0\r\n\r\n", want: []string{"MSG a.b 3 0", "", "MSG a.b 2 0", "", "MSG a.b 1 0", ""}},
		{name: "wildcard inside a token is a letter", send: "SUB foo.*x 1\r\nPUB foo.ax 0\r\n\r\nPUB foo.*x 0\r\n\r\n", want: []string{"MSG foo.*x 1 0", ""}},
		{name: "publish to a wildcard is literal", send: "SUB foo.bar 1\r\nSUB foo.* 2\r\nPUB foo.* 0\r\n\r\n", want: []string{"MSG foo.* 2 0", ""}},
		{name: "empty token matches nothing", send: "SUB > 1\r\nPUB a..b 0\r\n\r\nPUB a. 0\r\n\r\nPUB .a 0\r\n\r\n"},
		{name: "invalid subjects keep the connection", send: "SUB a.>.b 1\r\nSUB a. 1\r\n", want: []string{"-ERR 'Invalid Subject'", "-ERR 'Invalid Subject'"}},
		{name: "sid in use keeps the first subscription", send: "SUB a 1\r\nSUB b 1\r\nPUB b 0\r\n\r\nPUB a 0\r\n\r\n", want: []string{"MSG a 1 0", ""}},
		{name: "unsubscribe", send: "SUB a 1\r\nUNSUB 1\r\nPUB a 0\r\n\r\n"},
		{name: "unsubscribe unknown sid", send: "UNSUB 9\r\n"},
		{name: "maximum counts past deliveries", send: "SUB a 1\r\nPUB a 0\r\n\r\nPUB a 0\r\n\r\nUNSUB 1 3\r\nPUB a 1\r\n3\r\nPUB a 1\r\n4\r\n", want: []string{"MSG a 1 0", "", "MSG a 1 0", "", "MSG a 1 1", "3"}},
		{name: "maximum reached already", send: "SUB a 1\r\nPUB a 0\r\n\r\nUNSUB 1 1\r\nPUB a 0\r\n\r\n", want: []string{"MSG a 1 0", ""}},
		{name: "queue group on literal and wildcard", send: "SUB a.b q 1\r\nSUB a.* q 1x\r\nUNSUB 1\r\nPUB a.b 0\r\n\r\n", want: []string{"MSG a.b 1x 0", ""}},
		{name: "no responders", send: "SUB r 7\r\nPUB n r 0\r\n\r\n", want: []string{"HMSG r 7 33 33", "NATS/1.0 503", "Nats-Subject: n", "", ""}},
		{name: "no responders without a subscription for the reply", send: "PUB n r 0\r\n\r\n"},
		{name: "reserved reply", send: "PUB a _R_.x 0\r\n\r\nPUB a $JS.ACK.x 0\r\n\r\n", want: []string{`-ERR 'Permissions Violation for Publish with Reply of "_R_.x"'`, `-ERR 'Permissions Violation for Publish with Reply of "$JS.ACK.x"'`}},
		{name: "reserved subject", send: "PUB _GR_.x 0\r\n\r\n", want: []string{`-ERR 'Permissions Violation for Publish to "_GR_.x"'`}},
		{name: "reserved queue", send: "SUB a _sys_ 1\r\n", want: []string{`-ERR 'Permissions Violation for Subscription to "a" using queue "_sys_"'`}},

		{name: "verbose", first: "CONNECT {}\r\n", send: "SUB a 1\r\nPUB a 0\r\n\r\nUNSUB 1\r\n", want: []string{"+OK", "+OK", "+OK", "MSG a 1 0", "", "+OK"}},
		{name: "pedantic delivers all the same", first: `CONNECT {"verbose":false,"pedantic":true}` + "\r\n", send: "SUB foo.* 1\r\nPUB foo.* 0\r\n\r\n", want: []string{"-ERR 'Invalid Publish Subject'", "MSG foo.* 1 0", ""}},
		{name: "no echo", first: `CONNECT {"verbose":false,"pedantic":false,"echo":false}` + "\r\n", send: "SUB a 1\r\nPUB a 0\r\n\r\n"},
		{name: "before CONNECT", first: "PING\r\n", send: "", want: []string{"PONG"}},

		{name: "unknown verb", send: "FOO\r\n", want: []string{"-ERR 'Unknown Protocol Operation'"}, ends: true},
		{name: "MSG from a client", send: "MSG a 1 0\r\n\r\n", want: []string{"-ERR 'Unknown Protocol Operation'"}, ends: true},
		{name: "payload without its end", send: "PUB a 2\r\nhiX\r\n", want: []string{"-ERR 'Unknown Protocol Operation'"}, ends: true},
		{name: "malformed PUB", send: "PUB a\r\n", ends: true},
		{name: "negative size", send: "PUB a -1\r\n", ends: true},
		{name: "signed size", send: "PUB a +1\r\n", ends: true},
		{name: "size above the limit", send: "PUB a 1048577\r\n", want: []string{"-ERR 'Maximum Payload Violation'"}, ends: true},
		{name: "size above every number", send: "PUB a 18446744073709551617\r\n", want: []string{"-ERR 'Maximum Payload Violation'"}, ends: true},
		{name: "header longer than the whole", send: "HPUB a 20 10\r\n", ends: true},
		{name: "malformed CONNECT", send: "CONNECT {x\r\n", ends: true},
		{name: "protocol 2", send: `CONNECT {"protocol":2}` + "\r\n", want: []string{"-ERR 'invalid client protocol'"}, ends: true},
		{name: "no responders without headers", send: `CONNECT {"no_responders":true}` + "\r\n", want: []string{"-ERR 'no responders requires headers support'"}, ends: true},
		{name: "header without support", first: `CONNECT {"verbose":false}` + "\r\n", send: "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", ends: true},
		{name: "long control line", send: "PUB " + strings.Repeat("a", 4096) + " 0\r\n", want: []string{"-ERR 'maximum control line exceeded'"}, ends: true},
		{name: "endless control line", send: "SUB " + strings.Repeat("a", 5000), want: []string{"-ERR 'maximum control line exceeded'"}, ends: true},
	}
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				h.t = t
				c := h.dial()
				c.t = t
				if tt.first == "" {
					tt.first = quiet
				}
				c.send("%s%s", tt.first, tt.send)
				c.expect(tt.want...)
				if tt.ends {
					c.expectEOF()
				} else {
					c.flush()
					_ = c.nc.Close()
				}
				h.waitClosed() // so that its subscriptions are gone before the next begins
			})
		}
	})
}

func TestChunkedInput(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		text := "SUB a 1\r\nPUB a 5\r\nhello\r\nHPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
		for i := range text {
			c.send("%s", text[i:i+1])
		}
		c.expect("MSG a 1 5", "hello", "HMSG a 1 r 12 14", "NATS/1.0", "", "hi")
		c.flush()
	})
}

func TestLargeMessages(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB a 1\r\n")
		for _, n := range []int{511, 512, 4096, 65536, 200_000, 1 << 20} {
			payload := strings.Repeat("x", n)
			c.send("PUB a %d\r\n%s\r\nPUB a 1\r\ny\r\n", n, payload)
			c.line()
			if got := c.line(); got != payload {
				t.Fatalf("payload of %d bytes came back as %d", n, len(got))
			}
			c.expect("MSG a 1 1", "y")
		}
	})
}

func TestAuthentication(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		for _, slow := range []bool{false, true} {
			h := start(t, pollers, accounts.Config{Username: "u", Password: "p"}, nil)
			h.mayBlock.Store(slow)
			c := h.dial()
			c.send(`CONNECT {"user":"u","pass":"p","verbose":false}` + "\r\nSUB a 1\r\nPUB a 0\r\n\r\nPING\r\n")
			c.expect("MSG a 1 0", "", "PONG")

			for _, text := range []string{`CONNECT {"user":"u","pass":"x"}` + "\r\nPING\r\n", "PING\r\n", "PUB a 0\r\n\r\n"} {
				c := h.dial()
				c.send("%s", text)
				c.expect("-ERR 'Authorization Violation'")
				c.expectEOF()
				if got := h.waitClosed(); got != engine.ReasonAuthFailure {
					t.Errorf("reason = %q, want %q", got, engine.ReasonAuthFailure)
				}
			}
		}
	})
}
