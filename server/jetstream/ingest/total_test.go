package ingest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// TestTotal: what waits of all streams together is bounded, publishers are to wait before that, and all of it is given back.
func TestTotal(t *testing.T) {
	release := make(chan struct{})
	stuck := func() *failing {
		return &failing{start: func(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
			<-release
			done(jetlog.Result{Sequence: 1, Stored: true}, nil)
			return nil
		}}
	}
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	const total = 10_000
	b.open(ingest.Config{TotalBytes: total}, stuck(), ingest.Hooks{})
	defer b.ingest.Close()
	other := b.ingest.Open(b.account, stuck(), ingest.Hooks{})
	payload := []byte(strings.Repeat("x", 996)) // with its subject a tenth
	var last time.Duration
	for i := range 10 {
		s := b.stream
		if i%2 > 0 {
			s = other
		}
		if !s.Take([]byte("s.ab"), nil, nil, payload) {
			t.Fatalf("message %d of 10 was refused", i+1)
		}
		s.Flush()
		hold := b.ingest.Hold(1000)
		if half := i+1 <= 5; half != (hold == 0) || hold < last {
			t.Errorf("with %d bytes: publishers are to wait for %v, before for %v", (i+1)*1000, hold, last)
		}
		last = hold
	}
	if last < 10*time.Millisecond || b.ingest.Hold(10_000) <= last {
		t.Errorf("full: publishers are to wait for %v, and with more for %v", last, b.ingest.Hold(10_000))
	}
	for _, s := range []*ingest.Stream{b.stream, other} {
		if s.Take([]byte("s"), []byte("me"), nil, nil) {
			t.Error("a message was taken although too much waits")
		}
		if got, want := b.next(), "me \"NATS/1.0 429 Too Many Requests\\r\\n\\r\\n\" "; got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	close(release)
	for _, s := range []*ingest.Stream{b.stream, other} {
		if err := s.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if hold := b.ingest.Hold(1000); hold != 0 {
		t.Errorf("all is stored, and publishers are to wait for %v", hold)
	}
	if !b.stream.Take([]byte("s.a"), nil, nil, make([]byte, total-3)) {
		t.Error("a message was refused although nothing waits")
	}
	b.stream.Flush()
}

// TestNoTotal: without a bound nobody waits.
func TestNoTotal(t *testing.T) {
	b := newBench(t, ingest.Config{})
	b.publish("s.a", "", "x")
	if hold := b.ingest.Hold(1 << 30); hold != 0 {
		t.Errorf("publishers are to wait for %v", hold)
	}
}
