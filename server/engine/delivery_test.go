package engine_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// lettered is the n-th message of publisher p: what it is, a filler of a length that differs from message to
// message, on both sides of what the engine copies and what it borrows, and a checksum.
func lettered(p, n int) string {
	text := fmt.Sprintf("%d %d %s", p, n, strings.Repeat(string(rune('a'+n%26)), n*37%2100))
	return fmt.Sprintf("%s %08x", text, crc32.ChecksumIEEE([]byte(text)))
}

// readLettered reads count messages from each publisher and checks that each publisher's come whole and in order.
func (c *client) readLettered(publishers, count int) error {
	next := make([]int, publishers)
	for range publishers * count {
		m, err := c.read()
		if err != nil {
			return fmt.Errorf("after %v: %w", next, err)
		}
		var p, n int
		if _, err := fmt.Sscanf(m.payload, "%d %d", &p, &n); err != nil || p >= publishers {
			return fmt.Errorf("got %.60q: %w", m.payload, err)
		}
		if n != next[p] || m.payload != lettered(p, n) || m.subject != fmt.Sprint("o.", p) {
			return fmt.Errorf("publisher %d: got %d on %s (%d bytes), want number %d", p, n, m.subject, len(m.payload), next[p])
		}
		next[p]++
	}
	return nil
}

// TestOrder: each subscriber gets each publisher's messages in order and whole, while several publish at the same
// time and some read slowly, so that writes are interrupted and go on.
func TestOrder(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		const publishers, count = 4, 800
		h := start(t, pollers, accounts.Config{}, nil)
		var subscribers []*client
		for i, pattern := range []string{"o.*", "o.>", "o.*", ">", "o.*"} {
			c := h.connect()
			if i%2 == 0 {
				c.narrow()
			}
			c.send("SUB %s 1\r\n", pattern)
			c.flush()
			subscribers = append(subscribers, c)
		}
		results := make(chan error, len(subscribers))
		for _, c := range subscribers {
			go func() { results <- c.readLettered(publishers, count) }()
		}
		sources := make([]*client, publishers)
		for p := range sources {
			sources[p] = h.connect()
		}
		together(publishers, func(p int) {
			var batch strings.Builder
			for n := range count {
				batch.WriteString(pub(fmt.Sprint("o.", p), lettered(p, n)))
				if n%(p+1) == 0 { // publishers send in pieces of different sizes
					sources[p].write(batch.String())
					batch.Reset()
				}
			}
			sources[p].write(batch.String())
		})
		for range subscribers {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSubscribeBeforePong: what is published after the subscriber's PONG arrives, wherever else the subject is
// remembered as one that nobody wants.
func TestSubscribeBeforePong(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		publishers := []*client{h.connect(), h.connect(), h.connect()}
		subscriber := h.connect()
		for n := range 100 {
			subject := fmt.Sprint("s.", n%3)
			for _, p := range publishers {
				p.send("%s%s%s", pub(subject, "early"), pub(subject, "early"), pub(subject, "early"))
				p.flush()
			}
			pattern := []string{subject, "s.*", ">", "*." + subject[2:]}[n%4]
			subscriber.send("SUB %s %d\r\n", pattern, n)
			subscriber.flush()
			for i, p := range publishers {
				p.send("%s", pub(subject, fmt.Sprint(n, i)))
				if m := subscriber.message(); m.payload != fmt.Sprint(n, i) {
					t.Fatalf("round %d: got %+v", n, m)
				}
			}
			subscriber.send("UNSUB %d\r\n", n)
			subscriber.flush()
		}
	})
}

// TestMaximumIsShared: however many publish at the same time, no more than the maximum is delivered.
func TestMaximumIsShared(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		const publishers, count = 4, 200
		sources := make([]*client, publishers)
		for p := range sources {
			sources[p] = h.connect()
		}
		subscriber := h.connect()
		for round := range 10 {
			most := 1 + round*37
			subscriber.send("SUB m q 1\r\nSUB m 2\r\nUNSUB 1 %d\r\nUNSUB 2 %d\r\n", most, most)
			subscriber.flush()
			together(publishers, func(p int) {
				for range count {
					sources[p].write(pub("m", "x"))
				}
			})
			for _, s := range sources {
				s.flush()
			}
			got := map[string]int{}
			for _, m := range subscriber.drain() {
				got[m.sid]++
			}
			if got["1"] != most || got["2"] != most {
				t.Errorf("%v deliveries, want %d for each", got, most)
			}
			if n := h.served(subscriber).SubscriptionCount(); n != 0 {
				t.Errorf("%d subscriptions are left", n)
			}
		}
		if n := h.policy.Global().Subscriptions(); n != 0 {
			t.Errorf("the account counts %d subscriptions", n)
		}
	})
}

// TestMaximumChanges: the last word counts.
func TestMaximumChanges(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB a 1\r\nUNSUB 1 1\r\nUNSUB 1 3\r\n%s", strings.Repeat(pub("a", ""), 5))
		if n := len(c.drain()); n != 3 {
			t.Errorf("%d deliveries after the maximum was raised to 3", n)
		}
		c.send("SUB a 1\r\nUNSUB 1 5\r\n%sUNSUB 1 2\r\n%s", strings.Repeat(pub("a", ""), 2), pub("a", ""))
		if n := len(c.drain()); n != 2 {
			t.Errorf("%d deliveries after the maximum was lowered to 2", n)
		}
		// A sid is free again once its subscription has ended.
		c.send("SUB a 1\r\nUNSUB 1 1\r\n%sSUB b 1\r\n%s", pub("a", "1"), pub("b", "2"))
		c.expect("MSG a 1 1", "1", "MSG b 1 1", "2")
		c.flush()
	})
}

// TestQueueGroups: each message goes to one member, and all members get their share.
func TestQueueGroups(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		const count = 4000
		one, two, publisher := h.connect(), h.connect(), h.connect()
		one.send("SUB a.b q 1\r\nSUB a.* q 2\r\nSUB a.b other 3\r\nSUB a.b 4\r\n")
		two.send("SUB a.b q 5\r\nSUB > q 6\r\n")
		one.flush()
		two.flush()
		got := map[string]int{}
		for range count / 200 {
			publisher.send("%s", strings.Repeat(pub("a.b", "x"), 200))
			publisher.flush()
			for _, m := range append(one.drain(), two.drain()...) {
				got[m.sid]++
			}
		}
		if got["3"] != count || got["4"] != count {
			t.Errorf("another group got %d, the plain subscription %d, want %d each", got["3"], got["4"], count)
		}
		sum := 0
		for _, sid := range []string{"1", "2", "5", "6"} {
			sum += got[sid]
			// A fair choice is within 10 standard deviations, which are 27.
			if got[sid] < count/4-300 || got[sid] > count/4+300 {
				t.Errorf("member %s got %d of %d", sid, got[sid], count)
			}
		}
		if sum != count {
			t.Errorf("the group got %d, want %d", sum, count)
		}
	})
}

// TestQueueGroupSkips: a member that is closing, ended or not allowed is passed over for another.
func TestQueueGroupSkips(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		publisher, stays := h.connect(), h.connect()
		stays.send("SUB a q 1\r\n")
		stays.flush()
		publisher.send("%sSUB a q 1\r\n", strings.Replace(quiet, "}", `,"echo":false}`, 1))
		publisher.flush()
		for n := range 20 {
			leaves := h.connect()
			leaves.send("SUB a q 1\r\nSUB a q 2\r\nUNSUB 2 1\r\n")
			leaves.flush()
			publisher.send("%s", strings.Repeat(pub("a", "x"), 10))
			publisher.flush()
			if got := len(leaves.drain()) + len(stays.drain()); got != 10 {
				t.Fatalf("round %d: %d of 10 deliveries", n, got)
			}
			if n%2 == 0 {
				h.served(leaves).Close(engine.ReasonKicked, "")
			} else {
				_ = leaves.nc.Close()
				h.waitClosed()
			}
			publisher.send("%s", strings.Repeat(pub("a", "x"), 10))
			publisher.flush()
			if got := len(stays.drain()); got != 10 {
				t.Fatalf("round %d: %d of 10 deliveries after the other member left", n, got)
			}
			if n%2 == 0 {
				h.waitClosed()
			}
		}
	})
}

// TestSmallReads: a large message is put together from whatever pieces it comes in.
func TestSmallReads(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB a 1\r\n")
		text := pub("a", strings.Repeat("0123456789abcdef", 1<<16)) // 1 MiB, the most there may be
		for _, piece := range []int{1000, 4096, 65536, 300_000} {
			c.send("%s", "HPUB a r 12")
			c.send(" 14\r\nNATS")
			for rest := "/1.0\r\n\r\nhi\r\n" + text; rest != ""; {
				n := min(piece, len(rest))
				c.send("%s", rest[:n])
				rest = rest[n:]
			}
			if m := c.message(); m.reply != "r" || m.header != "NATS/1.0\r\n\r\n" || m.payload != "hi" {
				t.Fatalf("pieces of %d: got %+v", piece, m)
			}
			if m := c.message(); pub("a", m.payload) != text {
				t.Fatalf("pieces of %d: a payload of %d bytes came back changed", piece, len(m.payload))
			}
		}
		c.flush()
	})
}

// TestManyTargets: a fan-out to more connections than a worker has stages for reaches all of them.
func TestManyTargets(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		subscribers := make([]*client, 600)
		for i := range subscribers {
			subscribers[i] = h.connect()
			subscribers[i].send("SUB a 1\r\n")
			subscribers[i].flush()
		}
		publisher := h.connect()
		long := strings.Repeat("long", 300)
		publisher.send("%s%s%s", pub("a", "1"), pub("a", long), pub("a", "3"))
		for _, c := range subscribers {
			c.expect("MSG a 1 1", "1", "MSG a 1 1200", long, "MSG a 1 1", "3")
		}
	})
}

// TestCounters: each message is counted where it came in and where it went out, without the protocol around it.
func TestCounters(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		publisher, subscriber := h.connect(), h.connect()
		subscriber.send("SUB a 1\r\nSUB a 2\r\n")
		subscriber.flush()
		for range 10 {
			publisher.send("%sHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n%s", pub("a", "12345"), pub("nobody", "12"))
		}
		publisher.flush()
		subscriber.drain()
		var err error
		check := func(what string, got, want int64) {
			if got != want {
				err = errors.Join(err, fmt.Errorf("%s: %d, want %d", what, got, want))
			}
		}
		p, s, e := h.served(publisher).Counters(), h.served(subscriber).Counters(), h.engine.Counters()
		check("publisher's messages in", p.InMessages, 30)
		check("publisher's bytes in", p.InBytes, 210)
		check("publisher's messages out", p.OutMessages, 0)
		check("subscriber's messages in", s.InMessages, 0)
		check("subscriber's messages out", s.OutMessages, 40)
		check("subscriber's bytes out", s.OutBytes, 380)
		check("all messages in", e.InMessages, 30)
		check("all messages out", e.OutMessages, 40)
		check("all bytes in", e.InBytes, 210)
		check("all bytes out", e.OutBytes, 380)
		traffic := &h.policy.Global().Traffic
		check("account's messages in", traffic.InMsgs.Load(), 30)
		check("account's messages out", traffic.OutMsgs.Load(), 40)
		check("account's bytes in", traffic.InBytes.Load(), 210)
		check("account's bytes out", traffic.OutBytes.Load(), 380)
		for _, sub := range h.served(subscriber).Subscriptions() {
			check("deliveries of "+sub.SID, sub.Delivered(), 20)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
