package ingest_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// feeding is a log during whose StartAll another worker brings one more message.
type feeding struct {
	answering
	more func()
}

func (l *feeding) StartAll(ctx context.Context, p []command.Publish, a store.Answers) error {
	l.more()
	return l.answering.StartAll(ctx, p, a)
}

// A worker that begins to carry out what it has read gets away although others bring more all the time.
func TestFlushReturnsWhileOthersPublish(t *testing.T) {
	var returned atomic.Bool
	log := &feeding{}
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	b.open(ingest.Config{}, log, ingest.Hooks{})
	log.more = func() {
		if !returned.Load() {
			b.stream.Take([]byte("s.a"), nil, nil, []byte("x"))
		}
	}
	done := make(chan struct{})
	go func() {
		b.stream.Take([]byte("s.a"), nil, nil, []byte("x"))
		b.stream.Flush()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		t.Error("Flush goes on as long as others publish")
	}
	returned.Store(true)
	b.ingest.Close()
}

// feedingOutlet brings one more record for its acker with each flush.
type feedingOutlet struct {
	ingest.Outlet
	more func()
}

func (o *feedingOutlet) Flush() { o.Outlet.Flush(); o.more() }

// Who applies commands, above all the goroutine that writes the log, gets away from answering although streams in
// memory, say, have something to be answered all the time.
func TestAnsweringEndsWhileOthersAreAnswered(t *testing.T) {
	var returned atomic.Bool
	more := func() {}
	g := ingest.New(ingest.Config{Ackers: 1, Outlet: func() ingest.Outlet {
		return &feedingOutlet{Outlet: newMailbox().outlet(), more: func() { more() }}
	}})
	one := g.Open(new(accounts.Account), &answering{}, ingest.Hooks{})
	other := g.Open(new(accounts.Account), &answering{}, ingest.Hooks{})
	more = func() {
		if !returned.Load() {
			var worker sync.WaitGroup
			worker.Go(func() {
				other.Take([]byte("s.a"), nil, nil, []byte("x"))
				other.Flush()
			})
			worker.Wait()
		}
	}
	done := make(chan struct{})
	go func() {
		one.Take([]byte("s.a"), nil, nil, []byte("x"))
		one.Flush() // the log answers at once, and so the caller is the acker
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		t.Error("whoever answers goes on as long as others have something to be answered")
	}
	returned.Store(true)
	g.Close()
}

// silent is a log that takes everything and answers nothing.
type silent struct{ answering }

func (*silent) StartAll(context.Context, []command.Publish, store.Answers) error { return nil }

// What waits for answers of the log is bounded, also where it is nothing that goes to the log.
func TestWaitingIsBounded(t *testing.T) {
	log := &silent{answering{change: func(c *config.Stream) { c.AllowBatched = true }}}
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	b.open(ingest.Config{Ackers: 1, QueueMessages: 100}, log, ingest.Hooks{})
	b.stream.Take([]byte("s.a"), []byte("in.box.b.10.ok.1.0.$FI"), nil, nil)
	b.stream.Flush()
	const most = 100_000
	taken := 0
	for last := time.Now(); taken < most && time.Since(last) < time.Second; {
		if b.stream.Take([]byte("s.a"), []byte("in.box.b.10.ok.1.4.$FI"), nil, nil) {
			taken, last = taken+1, time.Now()
		}
		b.stream.Flush()
	}
	if taken == most {
		t.Errorf("%d pings were taken that wait for a log which answers nothing", taken)
	}
}

// waiting is a log that takes nothing without waiting, and nothing at all before it is released.
type waiting struct {
	answering
	released chan struct{}
}

func (l *waiting) StartAll(ctx context.Context, p []command.Publish, a store.Answers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	<-l.released
	return l.answering.StartAll(ctx, p, a)
}

// A worker does not wait for the log because a subject transform makes a message too large for those that go with it.
func TestLongerSubjectsDoNotWait(t *testing.T) {
	log := &waiting{released: make(chan struct{})}
	log.change = func(c *config.Stream) {
		c.SubjectTransform = &config.Transform{Source: "s.*", Destination: strings.Repeat("long.", 200) + "{{wildcard(1)}}"}
	}
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	b.open(ingest.Config{}, log, ingest.Hooks{})
	payload := make([]byte, 60<<10)
	for range 4 {
		b.stream.Take([]byte("s.a"), nil, nil, payload)
	}
	b.stream.Take([]byte("s.a"), []byte("last"), nil, make([]byte, 12<<10)) // fits, with its own subject
	done := make(chan struct{})
	go func() {
		b.stream.Flush()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("the worker waits for the log")
	}
	close(log.released)
	if m := b.next(); m.subject != "last" {
		t.Errorf("got %v, want the answer to the last message", m)
	}
	b.ingest.Close()
}

// capturing is a log that shows what it is given.
type capturing struct {
	answering
	given chan command.Publish
}

func (l *capturing) StartAll(ctx context.Context, publishes []command.Publish, a store.Answers) error {
	for _, c := range publishes {
		l.given <- c
	}
	return l.answering.StartAll(ctx, publishes, a)
}

// A part of a message that is empty keeps no memory: that of many messages is one piece, which would stay with it.
func TestEmptyPartsKeepNothing(t *testing.T) {
	log := &capturing{given: make(chan command.Publish, 1)}
	b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
	b.open(ingest.Config{}, log, ingest.Hooks{})
	for _, tt := range []struct{ header, payload string }{{"NATS/1.0\r\nA: b\r\n\r\n", ""}, {"", "x"}, {"", ""}} {
		b.stream.Take([]byte("s.a"), nil, []byte(tt.header), []byte(tt.payload))
		b.stream.Flush()
		c := <-log.given
		if string(c.Header) != tt.header || string(c.Payload) != tt.payload {
			t.Errorf("got %q %q, want %q %q", c.Header, c.Payload, tt.header, tt.payload)
		}
		if len(c.Header) == 0 && c.Header != nil || len(c.Payload) == 0 && c.Payload != nil {
			t.Errorf("%q %q: an empty part has memory", tt.header, tt.payload)
		}
	}
	b.ingest.Close()
}
