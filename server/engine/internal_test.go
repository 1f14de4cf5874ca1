package engine_test

import (
	"fmt"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestInternal: the server's own subscriptions get messages as clients do, and its own messages reach clients.
func TestInternal(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		account := h.policy.Global()
		got := make(chan *engine.Message, 10)
		internal := h.engine.Subscribe(account, "svc.*", "", func(m *engine.Message) { got <- m.Clone() })
		c := h.connect()
		c.send("SUB reply 1\r\n")
		c.send("HPUB svc.a reply 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
		c.flush() // no 503: somebody was there
		m := <-got
		if string(m.Subject) != "svc.a" || string(m.Reply) != "reply" || string(m.Header) != "NATS/1.0\r\n\r\n" || string(m.Payload) != "hi" {
			t.Errorf("got %+v", m)
		}
		if m.From != h.served(c) {
			t.Error("the message does not say who sent it")
		}
		if m.From.ID() == internal.ID() {
			t.Error("a connection and an internal subscription have one id")
		}
		if n := h.engine.Publish(account, "reply", "again", []byte("NATS/1.0\r\n\r\n"), []byte("answer")); n != 1 {
			t.Errorf("%d got the answer, want 1", n)
		}
		c.expect("HMSG reply 1 again 12 18", "NATS/1.0", "", "answer")
		if n := h.engine.Publish(account, "reply", "", nil, nil); n != 1 {
			t.Errorf("%d got the empty answer, want 1", n)
		}
		c.expect("MSG reply 1 0", "")
		if n := h.engine.Publish(account, "nobody", "", nil, []byte("x")); n != 0 {
			t.Errorf("%d got what nobody wants", n)
		}
		if n := h.engine.Publish(account, "svc.own", "", nil, []byte("x")); n != 1 {
			t.Errorf("%d got the server's own message, want 1", n)
		}
		if m := <-got; m.From != nil || string(m.Payload) != "x" || m.Reply != nil || len(m.Header) != 0 {
			t.Errorf("got %+v", m)
		}
		internal.Unsubscribe()
		c.send("PUB svc.a reply 0\r\n\r\n")
		if m := c.message(); m.subject != "reply" || m.header == "" {
			t.Errorf("got %+v, want no responders", m)
		}
		if n := account.Interest().Len(); n != 1 {
			t.Errorf("%d subscriptions, want 1", n)
		}
	})
}

// TestInternalMemory: a message of an internal subscription stays as it was.
func TestInternalMemory(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		const count = 200
		got := make(chan *engine.Message, count)
		h.engine.Subscribe(h.policy.Global(), "a", "", func(m *engine.Message) { got <- m.Clone() })
		c := h.connect()
		for n := range count {
			c.send("PUB a r%d 4\r\n%04d\r\n", n, n)
		}
		c.flush()
		for n := range count {
			m := <-got
			if string(m.Subject) != "a" || string(m.Reply) != fmt.Sprint("r", n) || string(m.Payload) != fmt.Sprintf("%04d", n) {
				t.Fatalf("message %d is %+v", n, m)
			}
		}
	})
}

// TestInternalQueue: in a queue group, the server is a member like others.
func TestInternalQueue(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		const count = 400
		got := make(chan *engine.Message, count)
		h.engine.Subscribe(h.policy.Global(), "a.*", "q", func(m *engine.Message) { got <- m.Clone() })
		c, bare := h.connect(), h.dial()
		c.send("SUB a.b q 1\r\n")
		bare.send(`CONNECT {"verbose":false}` + "\r\nSUB a.b 1\r\n") // takes no headers
		c.flush()
		bare.flush()
		for range count {
			c.send("HPUB a.b 12 13\r\nNATS/1.0\r\n\r\nx\r\n")
		}
		sum := len(c.drain()) + len(got)
		if sum != count || len(got) == 0 || len(got) == count {
			t.Errorf("the group got %d, the server %d of them, want %d", sum, len(got), count)
		}
		for _, m := range bare.drain() {
			if m.header != "" || m.payload != "x" {
				t.Fatalf("got %+v", m)
			}
		}
	})
}

// TestPublishFromManyGoroutines: each goroutine's messages come in its order.
func TestPublishFromManyGoroutines(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		const publishers, count = 4, 300
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB o.* 1\r\n")
		c.flush()
		result := make(chan error, 1)
		go func() { result <- c.readLettered(publishers, count) }()
		together(publishers, func(p int) {
			for n := range count {
				if got := h.engine.Publish(h.policy.Global(), fmt.Sprint("o.", p), "", nil, []byte(lettered(p, n))); got != 1 {
					t.Errorf("%d got message %d, want 1", got, n)
				}
			}
		})
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// tally counts what it is handed between two flushes.
type tally struct {
	open    int
	flushed chan int
}

// Flush implements engine.Flusher.
func (t *tally) Flush() {
	n := t.open
	t.open = 0
	t.flushed <- n
}

// TestAtEnd: an internal subscriber that asks for it is flushed once for what it was handed in a batch, wherever the
// batch comes from.
func TestAtEnd(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		account := h.policy.Global()
		all := &tally{flushed: make(chan int, 10)}
		h.engine.Subscribe(account, "svc.*", "", func(m *engine.Message) {
			all.open++
			m.AtEnd(all)
		})
		c := h.connect()
		c.send("PUB svc.a 0\r\n\r\nPUB svc.b 0\r\n\r\nPUB other 0\r\n\r\nPUB svc.c 0\r\n\r\n")
		for n := 0; n < 3; {
			got := <-all.flushed
			if got == 0 {
				t.Fatal("flushed without a message")
			}
			n += got
		}
		p := h.engine.NewPublisher()
		defer p.Close()
		p.Publish(account, "svc.a", "", nil, nil)
		p.Publish(account, "svc.b", "", nil, nil)
		p.Flush()
		if got := <-all.flushed; got != 2 {
			t.Errorf("flushed after %d messages of a Publisher, want 2", got)
		}
		h.engine.Publish(account, "svc.a", "", nil, nil)
		if got := <-all.flushed; got != 1 {
			t.Errorf("flushed after %d messages, want 1", got)
		}
		c.send("PUB other 0\r\n\r\n")
		c.flush()
		select {
		case <-all.flushed:
			t.Error("flushed without a message")
		default:
		}
	})
}
