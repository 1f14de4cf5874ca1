package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestRespond: what a handler answers comes to all who wait for it, whole and in order, wherever the message was from.
func TestRespond(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		account := h.policy.Global()
		sizes := []int{0, 1, 511, 512, 5000, 100_000}
		var scratch [1024]byte
		long := "NATS/1.0\r\nA: " + strings.Repeat("h", 600) + "\r\n\r\n"
		h.engine.Subscribe(account, "svc.>", "", func(m *engine.Message) {
			m.Respond(nil, nil)
			for i, size := range sizes {
				payload := []byte(strings.Repeat(string(rune('a'+i)), size))
				m.Respond(append(scratch[:0], header...), payload)
				m.Respond(append(scratch[:0], long...), payload)
			}
			clear(scratch[:])
		})
		want := []message{{subject: "r.1"}}
		for i, size := range sizes {
			payload := strings.Repeat(string(rune('a'+i)), size)
			want = append(want, message{subject: "r.1", header: header, payload: payload}, message{subject: "r.1", header: long, payload: payload})
		}
		asker, other := h.connect(), h.connect()
		for _, c := range []*client{asker, other} {
			c.send("SUB r.* 1\r\n")
			c.flush()
		}
		check := func(what string) {
			t.Helper()
			for _, c := range []*client{asker, other} {
				for i, w := range want {
					w.sid = "1"
					if m := c.message(); m != w {
						t.Fatalf("%s: answer %d is %s %.30q %d bytes, want %s %.30q %d", what, i, m.subject, m.header, len(m.payload),
							w.subject, w.header, len(w.payload))
					}
				}
			}
		}
		asker.send("PUB svc.a 0\r\n\r\nPUB svc.a r.1 0\r\n\r\n")
		check("a client's request")
		h.engine.Publish(account, "svc.a", "r.1", nil, nil)
		check("the server's request")
		if got := append(asker.drain(), other.drain()...); len(got) > 0 {
			t.Errorf("got %d more messages than were answered", len(got))
		}
	})
}

// TestRespondToHandlers: an answer may go to another handler, even to the one that gave it; it goes no further.
func TestRespondToHandlers(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	account := h.policy.Global()
	heard := make(chan string, 10)
	h.engine.Subscribe(account, "svc.*", "", func(m *engine.Message) {
		heard <- fmt.Sprintf("%s %q %s", m.Subject, m.Reply, m.Payload)
		m.Respond(nil, []byte("answer"))
	})
	c := h.connect()
	c.send("PUB svc.a svc.b 1\r\nx\r\n")
	c.flush()
	if first, second := <-heard, <-heard; first != `svc.a "svc.b" x` || second != `svc.b "" answer` {
		t.Errorf("heard %s and %s", first, second)
	}
	select {
	case more := <-heard:
		t.Errorf("heard %s as well", more)
	default:
	}
}

// TestRespondAbroad: a service of one account answers in that account alone.
func TestRespondAbroad(t *testing.T) {
	h := start(t, 0, users(), nil)
	h.engine.Subscribe(h.policy.Account("A"), "svc", "", func(m *engine.Message) { m.Respond(nil, []byte("answer")) })
	a, b := h.login("admin"), h.login("bob")
	for _, c := range []*client{a, b} {
		c.send("SUB r 1\r\n")
		c.flush()
	}
	a.send("PUB svc r 0\r\n\r\n")
	b.send("PUB svc r 0\r\n\r\n")
	if got := a.drain(); len(got) != 1 || got[0].payload != "answer" {
		t.Errorf("its own account got %v, want one answer", got)
	}
	if got := b.drain(); len(got) != 1 || !strings.HasPrefix(got[0].header, "NATS/1.0 503") {
		t.Errorf("another account got %v, want to hear that nobody responds", got)
	}
}
