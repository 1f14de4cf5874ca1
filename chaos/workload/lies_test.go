package workload_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/workload"
)

// A liar acknowledges what is published to a stream and stores nothing. The stream gets other subjects, so that it does not
// hear of anything.
func liar(t *testing.T, nodes []workload.Node, stream, subject string) {
	t.Helper()
	nc, err := nodes[0].Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.Subjects = []string{"truth.>"}
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	var sequence atomic.Uint64
	_, err = nc.Subscribe(subject, func(m *nats.Msg) {
		n := sequence.Add(1)
		batch := m.Header.Get("Nats-Batch-Id")
		switch {
		case m.Reply == "":
		case batch != "" && m.Header.Get("Nats-Batch-Commit") == "":
			_ = m.Respond(nil)
		case batch != "":
			_ = m.Respond(fmt.Appendf(nil, `{"stream":%q,"seq":%d,"batch":%q,"count":%s}`, stream, n, batch, m.Header.Get("Nats-Batch-Sequence")))
		default:
			_ = m.Respond(fmt.Appendf(nil, `{"stream":%q,"seq":%d}`, stream, n))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// lied says when some acknowledgements of a stream's messages have come.
func lied(stream string) func(history.Operation) bool {
	want := stored(20)
	return func(o history.Operation) bool { return o.Stream == stream && want(o) }
}

func TestLies(t *testing.T) {
	for _, c := range []struct{ name, stream, subject string }{
		{"W1", workload.LogStream, "w1.>"},
		{"W2", workload.OrderedStream, "w2.>"},
		{"W3", workload.QueueStream, "w3.>"},
		{"W4", workload.DedupStream, "w4.>"},
		{"W5", workload.RegistersStream, "w5.>"},
		{"W6", workload.BucketStream, "$KV.W6.>"},
		{"W8", workload.BatchesStream, "w8.>"},
		{"W9", "W9-interest", "w9.W9-interest.>"},
		{"W10", workload.KeptStream, "w10.W10-kept.>"},
		{"W11", workload.DeadQueueStream, "w11.>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(alone(t))
			ops := run(t, c.name, cfg, plan{
				before: func() { liar(t, cfg.Nodes, c.stream, c.subject) },
				enough: lied(c.stream),
			})
			for _, f := range findings(c.name, ops, cfg) {
				if f.Kind == check.Lost {
					return
				}
			}
			t.Errorf("nothing is lost: %s", summary(ops))
		})
	}
}

// Somebody else's message, and one that was damaged, are not taken for what was sent.
func TestStrangers(t *testing.T) {
	nodes := alone(t)
	cfg := config(nodes)
	ops := run(t, "W1", cfg, plan{enough: stored(10), before: func() {
		nc, err := nodes[0].Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		for _, text := range []string{"1-1 1-2 ", "hello"} {
			if _, err := nc.Request("w1.0", []byte(text), 5*time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}})
	for _, f := range findings("W1", ops, cfg) {
		if f.Kind != check.Unexpected {
			t.Errorf("%v", &f)
		} else if f.Count < 2 {
			t.Errorf("got %d unexpected messages, want both", f.Count)
		} else {
			return
		}
	}
	t.Error("nothing is unexpected")
}
