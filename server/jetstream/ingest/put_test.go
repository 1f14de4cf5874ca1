package ingest_test

import (
	"errors"
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/ingest"
)

// put puts a message, and returns what became of it.
func (b *bench) put(subject, payload string, number uint64, fields ...string) ingest.Outcome {
	b.t.Helper()
	done := make(chan ingest.Outcome, 1)
	err := b.stream.Put(&ingest.Put{
		Subject: subject, Header: block(fields...), Payload: []byte(payload), Mark: command.Put{Producer: "dlq", Number: number},
	}, func(o ingest.Outcome) { done <- o })
	if err != nil {
		b.t.Fatal(err)
	}
	b.stream.Flush()
	return <-done
}

// TestPut puts messages on subjects that the stream does not have, and whose headers would ask for what it cannot do.
func TestPut(t *testing.T) {
	b := newBench(t, ingest.Config{}, func(c *config.Stream) {
		c.SubjectTransform = &config.Transform{Source: "s.>", Destination: "t.>"}
	})
	asks := []string{
		"Nats-Msg-Id", "x", "Nats-Expected-Last-Sequence", "77", "Nats-TTL", "1s", "Nats-Rollup", "all", "Nats-Schedule", "@hourly",
		"Nats-Expected-Stream", "OTHER", "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Runnel-Producer", "p",
	}
	for i, subject := range []string{"other.a", "s.a", "other.a"} {
		want := ingest.Outcome{Sequence: uint64(i + 1)}
		if got := b.put(subject, "x", uint64(10*i+1), asks...); got != want {
			t.Errorf("message %d: got %+v, want %+v", i, got, want)
		}
	}
	if got, want := b.put("other.a", "x", 21), (ingest.Outcome{Sequence: 3, Duplicate: true}); got != want {
		t.Errorf("again: got %+v, want %+v", got, want)
	}
	if got, want := b.put("other.a", "x", 1), (ingest.Outcome{Duplicate: true}); got != want {
		t.Errorf("an old one again: got %+v, want %+v", got, want)
	}
	if got, want := b.load(2), fmt.Sprintf("s.a %q x", block(asks...)); got != want {
		t.Errorf("stored is %s, want %s", got, want)
	}
	if stored, _ := b.hooks(); stored != "other.a 1, s.a 2, other.a 3" {
		t.Errorf("told of %s", stored)
	}
}

// TestPutRefused puts messages that cannot be stored, into streams that say why.
func TestPutRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*config.Stream)
		code   config.Code
	}{
		"full":           {func(c *config.Stream) { c.Discard, c.MaxMessages = config.DiscardNew, 1 }, config.StoreFailed},
		"sealed":         {func(c *config.Stream) { c.Sealed = true }, config.Sealed},
		"too large":      {func(c *config.Stream) { c.MaxMessageBytes = 3 }, config.MessageTooLarge},
		"keeps counters": {func(c *config.Stream) { c.AllowCounter, c.AllowDirect = true, true }, config.CounterMissing},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, ingest.Config{}, test.change)
			b.put("s.a", "x", 1)
			if got := b.put("s.a", "four", 2); got.Refusal == nil || got.Refusal.ErrCode != int(test.code) {
				t.Errorf("got %+v, want a refusal with %d", got, test.code)
			}
		})
	}
}

// TestPutUnknown puts a message into a stream that is led elsewhere before there is an answer, into one that has no room in front of it,
// and into one that is closed.
func TestPutUnknown(t *testing.T) {
	b := &bench{t: t, box: newMailbox()}
	b.open(ingest.Config{}, &answering{answer: func(command.Command) (jetlog.Result, error) {
		return jetlog.Result{}, store.ErrLeadershipLost
	}}, ingest.Hooks{})
	if got := b.put("s.a", "x", 1); !errors.Is(got.Err, store.ErrLeadershipLost) || got.Refusal != nil {
		t.Errorf("leadership is lost: got %+v", got)
	}
	b.ingest.Close()
	if err := b.stream.Put(&ingest.Put{Subject: "s.a"}, nil); !errors.Is(err, ingest.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
	b.open(ingest.Config{QueueBytes: 2}, &answering{}, ingest.Hooks{})
	defer b.ingest.Close()
	if err := b.stream.Put(&ingest.Put{Subject: "s.a"}, nil); !errors.Is(err, ingest.ErrFull) {
		t.Errorf("full: got %v", err)
	}
}
