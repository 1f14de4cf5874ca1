package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/jetlog/causes"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/ingest"
)

// oracle answers what acknowledgements are for: "waits.N" at once, "later.N" when it is told to, others with a refusal.
type oracle struct {
	asked chan ingest.Found
	owed  chan struct{}
}

func (o *oracle) find(ack string, found ingest.Found) (*causes.Cause, *api.Error, bool) {
	switch {
	case strings.HasPrefix(ack, "waits."):
		return causeOf(len(ack)), nil, true
	case strings.HasPrefix(ack, "later."):
		o.asked <- found
		return nil, nil, false
	}
	return nil, refusedAck, true
}

var refusedAck = api.NewError(api.AckInvalid, "no")

func causeOf(n int) *causes.Cause {
	return &causes.Cause{Source: causes.Source{ID: 9, Stream: "IN", Consumer: "c"}, Sequence: uint64(n)}
}

// withOracle opens the stream of a bench again, with somebody who knows about acknowledgements.
func withOracle(b *bench) *oracle {
	o := &oracle{asked: make(chan ingest.Found, 100), owed: make(chan struct{}, 100)}
	b.stream.Close()
	b.stream = b.ingest.Open(b.account, b.log, ingest.Hooks{
		Cause: o.find, Owed: func(*causes.Cause) { o.owed <- struct{}{} },
		Imported: func(subject string) bool { return subject == "s.imported" },
	})
	return o
}

const ackHeader = "Runnel-Ack"

func TestCause(t *testing.T) {
	b := newBench(t, ingest.Config{})
	if got, want := b.ask("s.a", "x", ackHeader, "waits."), refusal(503, 11056, "Runnel-Ack: stream S cannot be asked whether it waits for the acknowledgement, nothing was stored: try again"); got != want {
		t.Errorf("nobody knows: got %s, want %s", got, want)
	}
	o := withOracle(b)
	if got := b.ask("s.a", "x", ackHeader, "waits.", "A", "b"); got != ok1 {
		t.Errorf("got %s", got)
	}
	<-o.owed
	if got, want := b.load(1), fmt.Sprintf("s.a %q x", block("A", "b")); got != want {
		t.Errorf("stored is %s, want %s", got, want)
	}
	if got, want := b.ask("s.a", "x", ackHeader, "waits."), `{"stream":"S","seq":1,"duplicate":true}`; got != want {
		t.Errorf("again: got %s, want %s", got, want)
	}
	for ack, subject := range map[string]string{"refused": "s.a", "waits.1": "s.imported"} {
		if got := b.ask(subject, "x", ackHeader, ack); !strings.Contains(got, "11055") {
			t.Errorf("%s: got %s", ack, got)
		}
	}
	select {
	case <-o.owed:
		t.Error("more is owed than was stored")
	default:
	}
}

// TestCauseOfDuplicate publishes outcomes that the stream knows by their id, or their number: what they acknowledge is acknowledged before
// that is said.
func TestCauseOfDuplicate(t *testing.T) {
	b := newBench(t, ingest.Config{})
	var settling []func(bool)
	asked := make(chan uint64, 10)
	b.stream.Close()
	b.stream = b.ingest.Open(b.account, b.log, ingest.Hooks{
		Cause: (&oracle{}).find,
		Settle: func(c *causes.Cause, done func(bool)) bool {
			settling = append(settling, done)
			asked <- c.Sequence
			return c.Sequence == uint64(len("waits.known"))
		},
	})
	duplicate := `{"stream":"S","seq":1,"duplicate":true}`
	if got := b.ask("s.a", "x", "Nats-Msg-Id", "id"); got != ok1 {
		t.Fatalf("got %s", got)
	}
	if got := b.ask("s.a", "x", "Nats-Msg-Id", "id"); got != duplicate {
		t.Errorf("with nothing to acknowledge: got %s", got)
	}
	if got := b.ask("s.a", "x", "Nats-Msg-Id", "id", ackHeader, "waits.known"); got != duplicate {
		t.Errorf("acknowledged before: got %s", got)
	}
	<-asked
	for i, want := range []string{duplicate, refusal(503, 11056, "Runnel-Ack: stream S cannot be asked whether it waits for the acknowledgement, nothing was stored: try again")} {
		b.publish("s.a", "later", "x", "Nats-Msg-Id", "id", ackHeader, "waits.1")
		<-asked
		b.quiet()
		settling[i+1](i == 0)
		if got := b.next(); got.payload != want {
			t.Errorf("settled %v: got %s, want %s", i == 0, got.payload, want)
		}
	}
	b.publish("s.a", "", "x", "Nats-Msg-Id", "id", ackHeader, "waits.1") // nobody wants to know
	<-asked
	settling[3](true)
	b.quiet()
}

// TestCauseLater lets messages wait for what is found out. Others go on, and those come behind them.
func TestCauseLater(t *testing.T) {
	b := newBench(t, ingest.Config{})
	o := withOracle(b)
	b.publish("s.a", "first", "x", ackHeader, "later.")
	b.publish("s.a", "second", "x", ackHeader, "later.1")
	if got := b.ask("s.b", "y"); got != ok1 {
		t.Errorf("another message: got %s", got)
	}
	first, second := <-o.asked, <-o.asked
	second(nil, refusedAck)
	if got := b.next(); got.subject != "second" || !strings.Contains(got.payload, "11055") {
		t.Errorf("got %v", got)
	}
	first(causeOf(6), nil)
	if got := b.next(); got.subject != "first" || got.payload != ok2 {
		t.Errorf("got %v", got)
	}
	b.publish("s.a", "third", "x", ackHeader, "later.2")
	third := <-o.asked
	b.stream.Close()
	third(causeOf(7), nil) // nobody hears of it
	b.quiet()
}

// TestCauseOfBatch has a batch acknowledge a message: at once, later, and in vain.
func TestCauseOfBatch(t *testing.T) {
	b := newBench(t, ingest.Config{}, allowAtomic)
	o := withOracle(b)
	send := func(id, ack string) {
		t.Helper()
		b.publish("s.a", "", "1", "Nats-Batch-Id", id, "Nats-Batch-Sequence", "1", ackHeader, ack)
		b.publish("s.b", id, "2", "Nats-Batch-Id", id, "Nats-Batch-Sequence", "2", "Nats-Batch-Commit", "1")
	}
	send("now", "waits.")
	if got, want := b.next().payload, `{"stream":"S","seq":2,"batch":"now","count":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	<-o.owed
	send("later", "later.7")
	(<-o.asked)(causeOf(70), nil)
	if got, want := b.next().payload, `{"stream":"S","seq":4,"batch":"later","count":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	send("never", "later.8")
	(<-o.asked)(nil, refusedAck)
	if got := b.next().payload; !strings.Contains(got, "11055") {
		t.Errorf("got %s", got)
	}
	send("refused", "x")
	if got := b.next().payload; !strings.Contains(got, "11055") {
		t.Errorf("got %s", got)
	}
}
