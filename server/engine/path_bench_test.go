package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"runnel/server/accounts"
)

// path is a load as a worker meets it: a publisher sends the same batch again and again to connections whose
// sockets take everything at once.
type path struct {
	name string
	// batch returns what the n-th read of the publisher brings.
	batch    func(n int) []byte
	messages int // in each batch
	// subscribe sets the subscribers up.
	subscribe func(x *fixture)
	outMost   int  // deliveries of one message
	unique    bool // no two batches are alike
	// spare is how many allocations one message may cost on average.
	spare  float64
	shared bool // the publisher is of an account that shares: see sharedConfig
}

// sharedConfig has account A, whose user may not publish anywhere, whose subjects are mapped, and whose stream account B
// imports; and a service of B, which A imports.
func sharedConfig() accounts.Config {
	user := func(name string, p *accounts.Permissions) []accounts.UserConfig {
		return []accounts.UserConfig{{Username: name, Password: name, Permissions: p}}
	}
	return accounts.Config{Accounts: []accounts.AccountConfig{
		{
			Name:     "A",
			Users:    user("a", &accounts.Permissions{Publish: accounts.Rules{Allow: []string{"m.>", "svc"}, Deny: []string{"m.secret"}}}),
			Exports:  []accounts.ExportConfig{{Subject: "m.>"}},
			Mappings: []accounts.MappingConfig{{Source: "a.*", Destinations: []accounts.MappingDestination{{Subject: "m.$1", Weight: 100}}}},
			Imports:  []accounts.ImportConfig{{Service: true, Account: "B", Subject: "q", To: "svc"}},
		},
		{
			Name: "B", Users: user("b", nil),
			Imports: []accounts.ImportConfig{{Account: "A", Subject: "m.>", To: "local.>"}},
			Exports: []accounts.ExportConfig{{Service: true, Subject: "q"}},
		},
	}}
}

// batches repeats one message.
func batches(text string, n int) func(int) []byte {
	b := []byte(strings.Repeat(text, n))
	return func(int) []byte { return b }
}

// subscribers are n connections that subscribe to the same pattern.
func subscribers(n int, pattern, queue string) func(x *fixture) {
	return func(x *fixture) {
		for range n {
			x.subscribe(x.connect(&discarding{}, ""), pattern, queue, "1")
		}
	}
}

const batchMessages = 100

func paths() []path {
	header := "NATS/1.0\r\nTraceparent: 00-1\r\n\r\n"
	manyTokens := func(n int) string { return fmt.Sprintf("shop.%d.item.%d.price", n%100, n/100) }
	var many []byte
	for i := range 10_000 {
		many = append(many, pub(manyTokens(i), strings.Repeat("x", 128))...)
	}
	replies := make([]byte, 0, 1<<16)
	return []path{
		{name: "nobody-128", batch: batches(pub("a.b", strings.Repeat("x", 128)), batchMessages), messages: batchMessages, subscribe: func(*fixture) {}},
		{name: "one-16", batch: batches(pub("a.b", strings.Repeat("x", 16)), batchMessages), messages: batchMessages, subscribe: subscribers(1, "a.b", ""), outMost: 1},
		{name: "one-128", batch: batches(pub("a.b", strings.Repeat("x", 128)), batchMessages), messages: batchMessages, subscribe: subscribers(1, "a.b", ""), outMost: 1},
		{name: "one-1024", batch: batches(pub("a.b", strings.Repeat("x", 1024)), batchMessages), messages: batchMessages, subscribe: subscribers(1, "a.b", ""), outMost: 1},
		{
			name:      "header-128",
			batch:     batches(fmt.Sprintf("HPUB a.b %d %d\r\n%s%s\r\n", len(header), len(header)+128, header, strings.Repeat("x", 128)), batchMessages),
			messages:  batchMessages,
			subscribe: subscribers(1, "a.b", ""), outMost: 1,
		},
		{name: "fan-out-10", batch: batches(pub("a.b", strings.Repeat("x", 128)), batchMessages), messages: batchMessages, subscribe: subscribers(10, "a.*", ""), outMost: 10},
		{name: "queue-of-8", batch: batches(pub("a.b", strings.Repeat("x", 128)), batchMessages), messages: batchMessages, subscribe: subscribers(8, "a.b", "q"), outMost: 1},
		{
			// Each reply subject comes once, so all are served by the entry of their prefix.
			name: "replies",
			batch: func(n int) []byte {
				replies = replies[:0]
				for i := range batchMessages {
					replies = append(strconv.AppendInt(append(replies, "PUB _INBOX.me."...), int64(n*batchMessages+i), 10), " 2\r\nhi\r\n"...)
				}
				return replies
			},
			messages: batchMessages, subscribe: subscribers(1, "_INBOX.me.*", ""), outMost: 1, unique: true,
		},
		{
			// The prefix entry of the replies serves the answers, too.
			name: "answered",
			batch: func(n int) []byte {
				replies = replies[:0]
				for i := range batchMessages {
					replies = append(strconv.AppendInt(append(replies, "PUB svc _INBOX.me."...), int64(n*batchMessages+i), 10), " 2\r\nhi\r\n"...)
				}
				return replies
			},
			messages: batchMessages, outMost: 1, unique: true,
			subscribe: func(x *fixture) {
				subscribers(1, "_INBOX.me.*", "")(x)
				x.Subscribe(x.door.policy.Global(), "svc", "", func(m *Message) {
					var buffer [64]byte
					m.Respond(append(buffer[:0], header...), m.Payload)
				})
			},
		},
		{
			name: "mapped-imported-128", batch: batches(pub("a.b", strings.Repeat("x", 128)), batchMessages), messages: batchMessages, outMost: 1, shared: true,
			subscribe: func(x *fixture) { x.subscribe(x.connect(&discarding{}, "b"), "local.b", "", "1") },
		},
		{
			// A request to another account, and its answer: the header, the open request and the two look-ups.
			name: "service-answered", batch: batches("PUB svc _INBOX.me.1 2\r\nhi\r\n", batchMessages), messages: batchMessages, outMost: 1, shared: true,
			spare: 2.1, // what is open until the answer, and its reply subject
			subscribe: func(x *fixture) {
				x.subscribe(x.connect(&discarding{}, "a"), "_INBOX.me.*", "", "1")
				x.Subscribe(x.door.policy.Account("B"), "q", "", func(m *Message) { m.Respond(nil, m.Payload) })
			},
		},
		{
			// More subjects than fit at times: a bucket with more than it has places forgets some.
			name: "wildcard-10000", batch: func(int) []byte { return many }, messages: 10_000,
			subscribe: subscribers(1, "shop.*.item.>", ""), outMost: 1, spare: 0.7,
		},
	}
}

// pub is the text of one message.
func pub(subject, payload string) string {
	return fmt.Sprintf("PUB %s %d\r\n%s\r\n", subject, len(payload), payload)
}

// runner sets p up and returns what processes one batch and the counters to compare.
func (p *path) runner(t testing.TB) (run func(batch []byte), c *Conn, x *fixture) {
	config, user := openConfig, ""
	if p.shared {
		config, user = sharedConfig(), "a"
	}
	x = newFixture(t, config)
	p.subscribe(x)
	c = x.connect(&discarding{}, user)
	w := newWorker(x.Engine, pollerCache)
	return func(batch []byte) {
		if used, err := w.input(c, batch); used != len(batch) || err != nil {
			t.Fatalf("processed %d of %d bytes, %v", used, len(batch), err)
		}
		w.flush()
	}, c, x
}

// TestMessagePathAllocatesNothing: once the cache is warm, messages cost no memory.
func TestMessagePathAllocatesNothing(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			run, c, x := p.runner(t)
			const warm = 3
			for n := range warm {
				run(p.batch(n))
			}
			delivered := func() (n int64) {
				for _, other := range x.Conns() {
					n += other.Counters().OutMessages
				}
				return n
			}
			if in, out := c.Counters().InMessages, delivered(); in != int64(warm*p.messages) || out != in*int64(p.outMost) {
				t.Fatalf("%d messages in, %d out, want %d and %d times that", in, out, warm*p.messages, p.outMost)
			}
			batch := p.batch(warm)
			next := warm
			again := func() {
				if next++; p.unique {
					batch = p.batch(next)
				}
				run(batch)
			}
			if got := testing.AllocsPerRun(10, again) / float64(p.messages); got > p.spare {
				t.Errorf("%v allocations for a message, want at most %v", got, p.spare)
			}
		})
	}
}

// BenchmarkPath measures the way of a message from the read buffer to the sockets; an operation is a message.
func BenchmarkPath(b *testing.B) {
	for _, p := range paths() {
		b.Run(p.name, func(b *testing.B) {
			run, _, _ := p.runner(b)
			for n := range 3 {
				run(p.batch(n))
			}
			b.ReportAllocs()
			b.ResetTimer()
			batch := p.batch(3)
			for n := 0; n < b.N; n += p.messages {
				if p.unique {
					b.StopTimer()
					batch = p.batch(n/p.messages + 3)
					b.StartTimer()
				}
				run(batch)
			}
		})
	}
}
