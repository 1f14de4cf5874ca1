package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

func TestMaxConnections(t *testing.T) {
	s := servertest.Start(t, `max_connections: 2, http_port: -1`)
	first, second := servertest.DialQuiet(t, s), servertest.DialQuiet(t, s)
	// INFO comes first also for whoever is turned away: a client library reads nothing else there.
	third := servertest.Dial(t, s)
	third.Send(servertest.Quiet)
	third.Expect("-ERR 'maximum connections exceeded'")
	third.ExpectClosed()
	if _, err := nats.Connect(s.ClientURL()); err == nil || !strings.Contains(err.Error(), "maximum connections exceeded") {
		t.Errorf("nats.go: got %v, want that there are too many", err)
	}
	if _, err := nats.Connect("", nats.InProcessServer(s)); err == nil || !strings.Contains(err.Error(), "maximum connections exceeded") {
		t.Errorf("in process: got %v, want that there are too many", err)
	}
	for _, got := range closedReasons(t, s, 3) {
		if got != "Maximum Connections Exceeded" {
			t.Errorf("reason = %q", got)
		}
	}
	first.Flush()
	second.Close()
	servertest.Eventually(t, "the place to be free", func() bool { return page[connz](t, s, "/connz").NumConnections == 1 })
	servertest.DialQuiet(t, s)
}

// TestLimits sends what is at a limit and what is just above it.
func TestLimits(t *testing.T) {
	const config = `max_subscriptions: 2, max_subscription_tokens: 3, max_control_line: 64, max_payload: 32`
	long := strings.Repeat("x", 55)
	tests := []struct {
		name, send string
		want       []string
		ends       bool
	}{
		{"subscriptions", "SUB a 1\r\nSUB a 2\r\n", nil, false},
		{"a subscription too many", "SUB a 1\r\nSUB a 2\r\nSUB a 3\r\n", []string{"-ERR 'maximum subscriptions exceeded'"}, false},
		{"a sid in use counts once", "SUB a 1\r\nSUB a 1\r\nSUB a 2\r\n", nil, false},
		{"one goes, one comes", "SUB a 1\r\nSUB a 2\r\nUNSUB 1\r\nSUB b 3\r\nPUB b 0\r\n\r\n", []string{"MSG b 3 0", ""}, false},
		{"tokens", "SUB a.b.> 1\r\n", nil, false},
		{"a token too many", "SUB a.b.c.d 1\r\nSUB a.*.c.> q 2\r\n", []string{
			`-ERR 'Permissions Violation for Subscription to "a.b.c.d", too many tokens'`,
			`-ERR 'Permissions Violation for Subscription to "a.*.c.>", too many tokens'`,
		}, false},
		{"tokens of a publish", "PUB a.b.c.d.e 0\r\n\r\n", nil, false},
		{"payload", "SUB a 1\r\nPUB a 32\r\n" + strings.Repeat("x", 32) + "\r\n", []string{"MSG a 1 32", strings.Repeat("x", 32)}, false},
		{"a byte too many", "PUB a 33\r\n", []string{"-ERR 'Maximum Payload Violation'"}, true},
		{"headers count", "HPUB a 12 33\r\n", []string{"-ERR 'Maximum Payload Violation'"}, true},
		{"control line", "PUB " + long + " r 0\r\n\r\n", nil, false},
		{"control line too long", "PUB " + long + long + " 0\r\n", []string{"-ERR 'maximum control line exceeded'"}, true},
		{"control line without an end", "SUB " + long + long, []string{"-ERR 'maximum control line exceeded'"}, true},
	}
	s := servertest.Start(t, config)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := servertest.Dial(t, s)
			c.Send(`CONNECT {"verbose":false,"headers":true}` + "\r\n" + tt.send)
			c.Expect(tt.want...)
			if tt.ends {
				c.ExpectClosed()
			} else {
				c.Flush()
			}
			c.Close()
		})
	}
}

// TestHeadersRefused checks a server that does without headers.
func TestHeadersRefused(t *testing.T) {
	s := servertest.Start(t, `no_header_support: true`)
	c := servertest.Dial(t, s)
	if got, ok := c.Info()["headers"]; !ok || got != false {
		t.Errorf("headers in INFO = %v, want false", got)
	}
	c.Send(`CONNECT {"headers":true,"verbose":false}` + "\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n")
	c.ExpectClosed()
}

// TestSlowConsumer checks that a client that does not read is cut off, and that nobody else notices.
func TestSlowConsumer(t *testing.T) {
	s := servertest.Start(t, `http_port: -1, max_pending: 1MB, max_payload: 256KB`)
	slow, ok := servertest.DialQuiet(t, s), servertest.Connect(t, s)
	slow.Send("SUB a 1\r\n")
	slow.Flush()
	sub, err := ok.SubscribeSync("a")
	if err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, 256<<10)
	count := 0
	servertest.Eventually(t, "the slow consumer to be cut off", func() bool {
		count++
		if err := ok.Publish("a", payload); err != nil {
			t.Fatal(err)
		}
		if err := ok.Flush(); err != nil {
			t.Fatal(err)
		}
		return page[connz](t, s, "/connz?state=closed").Total == 1
	})
	for range count {
		if m := next(t, sub); len(m.Data) != len(payload) {
			t.Fatalf("message of %d bytes, want %d", len(m.Data), len(payload))
		}
	}
	if got := closedReasons(t, s, 1)[0]; got != "Slow Consumer (Pending Bytes)" {
		t.Errorf("reason = %q", got)
	}
	z := page[struct {
		Slow  int64                    `json:"slow_consumers"`
		Kinds struct{ Clients uint64 } `json:"slow_consumer_stats"`
	}](t, s, "/varz")
	if z.Slow != 1 || z.Kinds.Clients != 1 {
		t.Errorf("slow consumers = %+v, want one, a client", z)
	}
}

// TestStale checks that a client that does not answer PING is cut off.
func TestStale(t *testing.T) {
	s := servertest.Start(t, `http_port: -1, ping_interval: 20ms, ping_max: 2`)
	live := servertest.Connect(t, s)
	// One that has never said anything is no better.
	for _, c := range []*servertest.Client{servertest.Dial(t, s), servertest.DialQuiet(t, s)} {
		c.Expect("PING", "PING", "-ERR 'Stale Connection'")
		c.ExpectClosed()
	}
	if got := closedReasons(t, s, 2)[0]; got != "Stale Connection" {
		t.Errorf("reason = %q", got)
	}
	z := page[struct {
		Stale int64                    `json:"stale_connections"`
		Kinds struct{ Clients uint64 } `json:"stale_connection_stats"`
	}](t, s, "/varz")
	if z.Stale != 2 || z.Kinds.Clients != 2 {
		t.Errorf("stale connections = %+v, want two, both clients", z)
	}
	if err := live.Flush(); err != nil {
		t.Errorf("a client that answers: %v", err)
	}
}

// TestManyClients checks that a thousand clients find each other.
func TestManyClients(t *testing.T) {
	s := servertest.Start(t, `http_port: -1`)
	const n = 1000
	clients := make([]*servertest.Client, n)
	for i := range clients {
		clients[i] = servertest.Dial(t, s)
		clients[i].Send(servertest.Quiet+"SUB all 1\r\nSUB to.%d 2\r\n", i)
	}
	for _, c := range clients {
		c.Flush()
	}
	for i, c := range clients {
		c.Send("PUB to.%d 0\r\n\r\n", (i+1)%n)
	}
	for i, c := range clients {
		c.Expect(fmt.Sprintf("MSG to.%d 2 0", i), "")
	}
	clients[0].Send("PUB all 1\r\nx\r\n")
	for _, c := range clients {
		c.Expect("MSG all 1 1", "x")
		c.Close()
	}
	servertest.Eventually(t, "all to be gone", func() bool { return page[connz](t, s, "/connz").NumConnections == 0 })
}
