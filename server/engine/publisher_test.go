package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// header is a header block with nothing in it.
const header = "NATS/1.0\r\n\r\n"

// TestPublisherPublish: messages of all sizes arrive whole and in order, and not before they are flushed.
func TestPublisherPublish(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB a.* 1\r\nSUB a.b q 2\r\n")
		c.flush()
		p := h.engine.NewPublisher()
		defer p.Close()
		account := h.policy.Global()
		if n := p.Publish(account, "nobody", "", nil, []byte("x")); n != 0 {
			t.Errorf("%d get what nobody wants", n)
		}
		sizes := []int{0, 1, 100, 511, 512, 513, 4096, 100_000, 1 << 20}
		var want []message
		for i, size := range sizes {
			for j, head := range []string{"", header, "NATS/1.0\r\nA: " + strings.Repeat("h", 600) + "\r\n\r\n"} {
				m := message{subject: "a.b", header: head, payload: strings.Repeat(string(rune('a'+i)), size)}
				if j > 0 {
					m.reply = fmt.Sprint("r.", i)
				}
				if n := p.Publish(account, m.subject, m.reply, []byte(m.header), []byte(m.payload)); n != 2 {
					t.Errorf("%d bytes: %d get it, want 2", size, n)
				}
				want = append(want, m)
			}
		}
		p.Flush()
		for _, w := range want {
			sids := map[string]bool{}
			for range 2 {
				m := c.message()
				sids[m.sid] = true
				m.sid = ""
				if m != w {
					t.Fatalf("got %s %s %.30q %d bytes, want %s %s %.30q %d", m.subject, m.reply, m.header, len(m.payload),
						w.subject, w.reply, w.header, len(w.payload))
				}
			}
			if len(sids) != 2 {
				t.Fatalf("both came to one subscription: %v", sids)
			}
		}
		out := h.engine.Counters()
		if out.OutMessages != int64(2*len(want)) || out.InMessages != 0 {
			t.Errorf("counted %+v, want %d out", out, 2*len(want))
		}
		if got := account.Traffic.OutMsgs.Load(); got != out.OutMessages {
			t.Errorf("the account counted %d, the server %d", got, out.OutMessages)
		}
	})
}

// TestPublisherStages: nothing is written before the flush, and what was given may change after it.
func TestPublisherStages(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	c := h.connect()
	c.send("SUB a 1\r\n")
	c.flush()
	p := h.engine.NewPublisher()
	defer p.Close()
	payload := bytes.Repeat([]byte("x"), 2000)
	p.Publish(h.policy.Global(), "a", "", nil, payload)
	c.flush() // a PONG and nothing before it
	p.Flush()
	for i := range payload {
		payload[i] = 'y'
	}
	if m := c.message(); m.payload != strings.Repeat("x", 2000) {
		t.Errorf("got %.30q", m.payload)
	}
	p.Flush() // nothing to do
	c.flush()
}

// TestPublisherDeliver: who subscribed to one subject gets a message of another.
func TestPublisherDeliver(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB inbox.* 1\r\nSUB inbox.1 q 2\r\nSUB inbox.1 q 3\r\nSUB inbox.1 other 4\r\nSUB shown 5\r\n")
		c.flush()
		p := h.engine.NewPublisher()
		defer p.Close()
		for _, tt := range []struct {
			to, queue string
			want      [][]string // the sids of which one gets it each
		}{
			{"inbox.1", "", [][]string{{"1"}, {"2", "3"}, {"4"}}},
			{"inbox.1", "q", [][]string{{"2", "3"}}},
			{"inbox.1", "nobody", nil},
			{"inbox.2", "", [][]string{{"1"}}},
			{"inbox.3", "", [][]string{{"1"}}},
			{"inbox.2", "q", nil},
			{"outbox", "", nil},
		} {
			for range 3 { // also from what is remembered
				if n := p.Deliver(h.policy.Global(), tt.to, tt.queue, "shown", "re", []byte(header), []byte("hi")); n != len(tt.want) {
					t.Errorf("%s %q: %d get it, want %d", tt.to, tt.queue, n, len(tt.want))
				}
				p.Flush()
				got := c.drain()
				if len(got) != len(tt.want) {
					t.Fatalf("%s %q: got %v, want %d messages", tt.to, tt.queue, got, len(tt.want))
				}
				for _, m := range got {
					if m.subject != "shown" || m.reply != "re" || m.header != header || m.payload != "hi" {
						t.Errorf("%s %q: got %+v", tt.to, tt.queue, m)
					}
				}
				for _, sids := range tt.want {
					if !anyOf(got, sids) {
						t.Errorf("%s %q: got %v, none of them for %q", tt.to, tt.queue, got, sids)
					}
				}
			}
		}
	})
}

// anyOf tells whether one of the messages is for one of the subscriptions.
func anyOf(all []message, sids []string) bool {
	for _, m := range all {
		if slices.Contains(sids, m.sid) {
			return true
		}
	}
	return false
}

// TestPublisherGroup: every member of a queue group gets its share.
func TestPublisherGroup(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	c := h.connect()
	c.send("SUB a q 1\r\nSUB a q 2\r\nSUB a q 3\r\n")
	c.flush()
	p := h.engine.NewPublisher()
	defer p.Close()
	const count = 300
	for range count {
		p.Deliver(h.policy.Global(), "a", "q", "shown", "", nil, nil)
	}
	p.Flush()
	shares := map[string]int{}
	for _, m := range c.drain() {
		shares[m.sid]++
	}
	if sum := shares["1"] + shares["2"] + shares["3"]; sum != count || len(shares) != 3 {
		t.Errorf("shares %v, want %d among three", shares, count)
	}
}

// TestPublisherTargets: every kind of target gets messages of the server as it gets those of clients.
func TestPublisherTargets(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		answers := &accounts.Permissions{
			Publish:   accounts.Rules{Allow: []string{"nothing"}},
			Responses: &accounts.ResponsePermission{Max: 1},
		}
		h := start(t, pollers, accounts.Config{Users: []accounts.UserConfig{
			{Username: "answers", Password: "answers", Permissions: answers},
			{Username: "free", Password: "free"},
		}}, nil)
		account := h.policy.Global()
		p := h.engine.NewPublisher()
		defer p.Close()
		bare := h.dial()
		bare.send(`CONNECT {"verbose":false,"user":"free","pass":"free"}` + "\r\nSUB to 1\r\n")
		bare.flush()
		few := h.login("free")
		few.send("SUB to 1\r\nUNSUB 1 2\r\n")
		few.flush()
		may := h.login("answers")
		may.send("SUB to 1\r\n")
		may.flush()
		got := make(chan *engine.Message, 10)
		h.engine.Subscribe(account, "to", "", func(m *engine.Message) { got <- m.Clone() })
		long := strings.Repeat("x", 1000)
		for i, want := range []int{4, 4, 3} {
			if n := p.Deliver(account, "to", "", "shown", "answer.here", []byte(header), []byte(long)); n != want {
				t.Errorf("message %d: %d get it, want %d", i, n, want)
			}
		}
		p.Flush()
		if all := bare.drain(); len(all) != 3 || all[2] != (message{"shown", "1", "answer.here", "", long}) {
			t.Errorf("the client without headers got %.200v", all)
		}
		if all := few.drain(); len(all) != 2 || all[1] != (message{"shown", "1", "answer.here", header, long}) {
			t.Errorf("the client that wanted two got %.200v", all)
		}
		if all := may.drain(); len(all) != 3 {
			t.Errorf("the client that may answer got %.200v", all)
		}
		few.send("SUB answer.here 2\r\n")
		few.flush()
		may.send("PUB answer.here 2\r\nok\r\nPUB elsewhere 0\r\n\r\n")
		may.expect(`-ERR 'Permissions Violation for Publish to "elsewhere"'`)
		if m := few.message(); m.payload != "ok" {
			t.Errorf("the answer is %+v", m)
		}
		m := <-got
		if string(m.Subject) != "shown" || string(m.Reply) != "answer.here" || string(m.Header) != header || string(m.Payload) != long || m.From != nil {
			t.Errorf("the internal subscription got %.200v", m)
		}
	})
}

// TestPublisherNoResponders: who asked something that is not there is told as if nobody had subscribed.
func TestPublisherNoResponders(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c, silent := h.connect(), h.dial()
		silent.send(`CONNECT {"verbose":false,"headers":true}` + "\r\nSUB in.* 1\r\n")
		silent.flush()
		c.send("SUB in.* 7\r\nPUB svc.x in.1 0\r\n\r\n")
		want := c.message() // the engine's own
		got := make(chan *engine.Message, 10)
		h.engine.Subscribe(h.policy.Global(), "svc.>", "", func(m *engine.Message) { got <- m.Clone() })
		p := h.engine.NewPublisher()
		defer p.Close()
		c.send("PUB svc.x in.1 0\r\n\r\n")
		m := <-got
		if !p.NoResponders(m.From, string(m.Subject), string(m.Reply)) {
			t.Error("not told")
		}
		for name, told := range map[string]bool{
			"no reply subject":   p.NoResponders(m.From, "svc.x", ""),
			"nobody there":       p.NoResponders(m.From, "svc.x", "out.1"),
			"did not ask for it": p.NoResponders(h.served(silent), "svc.x", "in.1"),
		} {
			if told {
				t.Errorf("%s: told", name)
			}
		}
		p.Flush()
		if all := c.drain(); len(all) != 1 || all[0] != want {
			t.Errorf("got %+v, want %+v", all, want)
		}
		silent.flush()
	})
}

// sleeper waits until it is woken.
type sleeper struct{ bell chan struct{} }

func newSleeper() *sleeper { return &sleeper{make(chan struct{}, 1)} }

func (s *sleeper) Wake() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// TestPublisherBlocked: a sender that asks before each batch never has its client cut off, however little that takes,
// and goes on when it reads again.
func TestPublisherBlocked(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.MaxPendingBytes = 1 << 20 })
		slow := h.connect().narrow()
		slow.send("SUB a 1\r\n")
		slow.flush()
		account := h.policy.Global()
		const messages = 300 // of 64 KiB, far more than the sockets and the limit together
		blocked, sent := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(sent)
			p := h.engine.NewPublisher()
			defer p.Close()
			times, woken := 0, newSleeper()
			for n := range messages {
				for p.Blocked(account, "a", "", woken) {
					if times++; times == 1 {
						close(blocked)
					}
					<-woken.bell
				}
				p.Publish(account, "a", "", nil, []byte(numbered(n)))
				p.Flush()
			}
		}()
		served := h.served(slow)
		select {
		case <-blocked:
		case <-time.After(patience):
			t.Fatalf("never blocked, with %d bytes pending", served.PendingBytes())
		}
		for n := range messages {
			if m := slow.message(); m.payload != numbered(n) {
				t.Fatalf("got %.20q, want number %d", m.payload, n)
			}
		}
		<-sent
		if served.Reason() != engine.ReasonNone {
			t.Errorf("cut off: %s", served.Reason())
		}
	})
}

// TestBlockedEnds: a sender that waits for a client hears when it has gone.
func TestBlockedEnds(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		slow, publisher := h.connect().narrow(), h.connect()
		slow.send("SUB a q 1\r\n")
		slow.flush()
		h.fill(publisher, slow, "a")
		p := h.engine.NewPublisher()
		defer p.Close()
		gone := newSleeper()
		blocked := func(queue string) bool { return p.Blocked(h.policy.Global(), "a", queue, gone) }
		if !blocked("q") || !blocked("") || blocked("other") {
			t.Error("want the group blocked, and no other")
		}
		free := h.connect()
		free.send("SUB a q 1\r\n")
		free.flush()
		if blocked("q") {
			t.Error("blocked although one member keeps up")
		}
		for range 20 {
			p.Deliver(h.policy.Global(), "a", "q", "shown", "", nil, nil)
		}
		p.Flush()
		if all := free.drain(); len(all) != 20 {
			t.Errorf("the member that keeps up got %d of 20", len(all))
		}
		_ = slow.nc.Close()
		<-gone.bell
	})
}

// TestPress: an internal subscriber can slow its publishers down, and nobody is stopped by it.
func TestPress(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		for _, noStall := range []bool{false, true} {
			h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.NoStall = noStall })
			var received atomic.Int64
			h.engine.Subscribe(h.policy.Global(), "a", "", func(m *engine.Message) {
				received.Add(1)
				m.Press()
			})
			h.engine.Publish(h.policy.Global(), "a", "", nil, nil) // nobody to be slowed down
			c := h.connect()
			for range 5 {
				c.send("PUB a 2\r\nhi\r\n")
				c.flush()
			}
			if n := received.Load(); n != 6 {
				t.Errorf("received %d, want 6", n)
			}
			for range 2 { // one at least is served by the same poller
				other := h.connect()
				other.send("PUB b 2\r\nhi\r\n")
				other.flush()
				if n := h.served(other).Stalls(); n != 0 {
					t.Errorf("stalled %d times for what somebody else sent", n)
				}
			}
			stalls := h.served(c).Stalls()
			if noStall != (stalls == 0) || h.engine.Stalled() != stalls {
				t.Errorf("no stall %t: stalled %d times, the engine says %d", noStall, stalls, h.engine.Stalled())
			}
		}
	})
}

// TestPublisherAndConns: many publishers at the same time while connections come and go.
func TestPublisherAndConns(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		const publishers, count = 3, 300
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB o.* 1\r\n")
		c.flush()
		result := make(chan error, 1)
		go func() { result <- c.readLettered(publishers, count) }()
		together(publishers, func(i int) {
			p := h.engine.NewPublisher()
			defer p.Close()
			for n := range count {
				if n%50 == 0 {
					passing := h.connect()
					passing.send("SUB o.* 1\r\n")
					passing.drain() // some may have come before the PONG
					defer func() { _ = passing.nc.Close() }()
				}
				p.Publish(h.policy.Global(), fmt.Sprint("o.", i), "", nil, []byte(lettered(i, n)))
				if n%7 == 0 {
					p.Flush()
				}
			}
		})
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

// TestMessageClone: a clone has what the message has and shares nothing with it.
func TestMessageClone(t *testing.T) {
	for _, size := range []int{0, 10, 100, 200, 5000} {
		m := &engine.Message{Subject: []byte("a.b"), Payload: bytes.Repeat([]byte("x"), size)}
		if size > 10 {
			m.Reply, m.Header = []byte("re"), []byte(header)
		}
		if want := 3 + len(m.Reply) + len(m.Header) + size; m.Bytes() != want {
			t.Errorf("%d bytes, want %d", m.Bytes(), want)
		}
		c := m.Clone()
		clear(m.Subject)
		clear(m.Payload)
		if string(c.Subject) != "a.b" || string(c.Payload) != strings.Repeat("x", size) || !bytes.Equal(c.Reply, m.Reply) ||
			!bytes.Equal(c.Header, m.Header) || (c.Reply == nil) != (m.Reply == nil) {
			t.Errorf("clone is %+v", c)
		}
		clear(m.Reply)
		if c.Reply != nil && string(c.Reply) != "re" {
			t.Error("the clone shares memory")
		}
		most := 2.0
		if size <= 100 {
			most = 1
		}
		if n := testing.AllocsPerRun(100, func() { m.Clone() }); n > most {
			t.Errorf("%d bytes: %v allocations, want %v", size, n, most)
		}
	}
}

// TestPublisherClosed: a Publisher that is done leaves nothing behind, also when the engine has closed first.
func TestPublisherClosed(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	c := h.connect()
	c.send("SUB a 1\r\n")
	c.flush()
	early, late := h.engine.NewPublisher(), h.engine.NewPublisher()
	early.Publish(h.policy.Global(), "a", "", nil, []byte("last"))
	early.Close()
	c.expect("MSG a 1 4", "last")
	late.Publish(h.policy.Global(), "a", "", nil, bytes.Repeat([]byte("x"), 1000))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.engine.Close()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the engine waits for a Publisher")
	}
	late.Flush()
	late.Close()
}
