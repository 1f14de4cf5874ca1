package engine

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
)

// dispatch is a load of a Publisher: one batch of messages.
type dispatch struct {
	name    string
	pattern string
	batch   func(p *Publisher, x *fixture, inboxes []string)
	// unique: each message has a reply subject of its own.
	unique bool
}

const dispatchMessages = 64

func dispatches() []dispatch {
	ack := []byte(`{"stream":"ORDERS","seq":123456789012345}`)[:40]
	small, large := bytes.Repeat([]byte("x"), 128), bytes.Repeat([]byte("x"), 1024)
	head := []byte("NATS/1.0\r\nNats-Msg-Id: 12345\r\n\r\n")
	const reply = "$JS.ACK.ORDERS.worker.1.123456.123456.1700000000000000000.1000"
	deliver := func(header, payload []byte) func(*Publisher, *fixture, []string) {
		return func(p *Publisher, x *fixture, inboxes []string) {
			for _, inbox := range inboxes {
				p.Deliver(x.door.policy.Global(), inbox, "", "orders.new", reply, header, payload)
			}
		}
	}
	return []dispatch{
		{name: "deliver-128", pattern: "_INBOX.me.*", batch: deliver(nil, small)},
		{name: "deliver-128-unique", pattern: "_INBOX.me.*", batch: deliver(nil, small), unique: true},
		{name: "deliver-header-128", pattern: "_INBOX.me.*", batch: deliver(head, small)},
		{name: "deliver-1024", pattern: "_INBOX.me.*", batch: deliver(nil, large)},
		{name: "ack-unique", pattern: "_INBOX.me.*", unique: true, batch: func(p *Publisher, x *fixture, inboxes []string) {
			for _, inbox := range inboxes {
				p.Publish(x.door.policy.Global(), inbox, "", nil, ack)
			}
		}},
	}
}

// inboxes are the reply subjects of the n-th batch.
func (d *dispatch) inboxes(n int) []string {
	all := make([]string, dispatchMessages)
	for i := range all {
		all[i] = "_INBOX.me.1"
		if d.unique {
			all[i] = "_INBOX.me." + strconv.Itoa(n*dispatchMessages+i)
		}
	}
	return all
}

// runner returns what sends one batch.
func (d *dispatch) runner(t testing.TB) (run func(inboxes []string), x *fixture) {
	x = newFixture(t, openConfig)
	x.subscribe(x.connect(&discarding{}, ""), d.pattern, "", "1")
	p := x.NewPublisher()
	t.Cleanup(p.Close)
	return func(inboxes []string) {
		d.batch(p, x, inboxes)
		p.Flush()
	}, x
}

// TestPublisherAllocatesNothing: once the cache is warm, messages of the server cost no memory.
func TestPublisherAllocatesNothing(t *testing.T) {
	for _, d := range dispatches() {
		t.Run(d.name, func(t *testing.T) {
			run, x := d.runner(t)
			const warm = 3
			batches := make([][]string, 20)
			for n := range batches {
				batches[n] = d.inboxes(n)
			}
			for n := range warm {
				run(batches[n])
			}
			if out := x.Counters().OutMessages; out != warm*dispatchMessages {
				t.Fatalf("%d messages out, want %d", out, warm*dispatchMessages)
			}
			next := warm
			again := func() {
				run(batches[next])
				next++
			}
			if got := testing.AllocsPerRun(10, again); got > 0 {
				t.Errorf("%v allocations for %d messages, want none", got, dispatchMessages)
			}
		})
	}
}

// BenchmarkPublisher measures the way of a message of the server to the sockets; an operation is a message.
func BenchmarkPublisher(b *testing.B) {
	for _, d := range dispatches() {
		b.Run(d.name, func(b *testing.B) {
			run, _ := d.runner(b)
			batches := make([][]string, b.N/dispatchMessages+1)
			for n := range batches {
				batches[n] = d.inboxes(n)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, inboxes := range batches {
				run(inboxes)
			}
		})
	}
}

// BenchmarkEnginePublish is what a message costs that is sent alone.
func BenchmarkEnginePublish(b *testing.B) {
	x := newFixture(b, openConfig)
	x.subscribe(x.connect(&discarding{}, ""), "_INBOX.me.*", "", "1")
	payload := bytes.Repeat([]byte("x"), 40)
	b.ReportAllocs()
	for b.Loop() {
		x.Publish(x.door.policy.Global(), "_INBOX.me.1", "", nil, payload)
	}
}

// BenchmarkInternal measures the hand-over to an internal subscription; an operation is a message.
func BenchmarkInternal(b *testing.B) {
	for _, clones := range []bool{false, true} {
		b.Run("clone="+strconv.FormatBool(clones), func(b *testing.B) {
			x := newFixture(b, openConfig)
			bytes := 0
			x.Subscribe(x.door.policy.Global(), "a.>", "", func(m *Message) {
				if clones {
					m = m.Clone()
				}
				bytes += m.Bytes()
			})
			c := x.connect(&discarding{}, "")
			w := newWorker(x.Engine, pollerCache)
			batch := batches("PUB a.b _INBOX.me.1 128\r\n"+string(make([]byte, 128))+"\r\n", batchMessages)(0)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += batchMessages {
				if used, err := w.input(c, batch); used != len(batch) || err != nil {
					b.Fatalf("processed %d of %d bytes, %v", used, len(batch), err)
				}
				w.flush()
			}
		})
	}
}

// BenchmarkAcks measures acknowledgements, whose subjects are all different; an operation is a message.
func BenchmarkAcks(b *testing.B) {
	x := newFixture(b, openConfig)
	count := 0
	x.Subscribe(x.door.policy.Global(), "$JS.ACK.>", "", func(*Message) { count++ })
	c := x.connect(&discarding{}, "")
	w := newWorker(x.Engine, pollerCache)
	var batch []byte
	b.ReportAllocs()
	for n := 0; n < b.N; n += batchMessages {
		b.StopTimer()
		batch = batch[:0]
		for i := range batchMessages {
			batch = fmt.Appendf(batch, "PUB $JS.ACK.ORDERS.worker.1.%d.%d.1700000000%09d.%d 4\r\n+ACK\r\n", n+i, n+i, n+i, 1000-i)
		}
		b.StartTimer()
		if used, err := w.input(c, batch); used != len(batch) || err != nil {
			b.Fatalf("processed %d of %d bytes, %v", used, len(batch), err)
		}
		w.flush()
	}
}
