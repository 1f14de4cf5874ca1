package ingest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// TestUndone: who publishes to a stream that is not led here any more learns that nobody has the message, where that is sure, and
// late enough for whoever leads it now to answer first.
func TestUndone(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("stream: %w", err) }
	for _, tt := range []struct {
		name     string
		err      error
		answered bool // by the log, which has taken the message; otherwise it refuses it
		change   func(*config.Stream)
		reply    string
		after    time.Duration // 0: never
	}{
		{"handed over while it waited", wrapped(store.ErrHandedOver), true, nil, "r", 100 * time.Millisecond},
		{"not led while it waited", wrapped(store.ErrNotLeader), true, nil, "r", time.Second},
		{"not led when it came", wrapped(store.ErrNotLeader), false, nil, "r", time.Second},
		{"nobody knows", wrapped(store.ErrLeadershipLost), true, nil, "r", 0},
		{"the stream is deleted", wrapped(store.ErrNotFound), true, nil, "r", 0},
		{"nobody asks", wrapped(store.ErrNotLeader), true, nil, "", 0},
		{"a stream without answers", wrapped(store.ErrNotLeader), true, func(c *config.Stream) { c.NoAck = true }, "r", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
				var log ingest.Log = &answering{change: tt.change, answer: func(command.Command) (jetlog.Result, error) {
					return jetlog.Result{}, tt.err
				}}
				if !tt.answered {
					log = &failing{start: func(context.Context, command.Command, func(jetlog.Result, error)) error { return tt.err }}
				}
				b.open(ingest.Config{}, log, ingest.Hooks{})
				began := time.Now()
				b.publish("s.a", tt.reply, "x")
				b.hears(began, tt.after)
				b.ingest.Close()
				b.box.closed.Wait()
			})
		})
	}
}

// hears wants one publisher told, at that time, that nobody has its message.
func (b *bench) hears(began time.Time, after time.Duration) {
	b.t.Helper()
	var got message
	select {
	case got = <-b.box.arrived:
	case <-time.After(time.Minute):
	}
	switch passed := time.Since(began); {
	case after == 0 && got.subject == "":
	case after != passed || got.header != "NATS/1.0 503\r\n\r\n" || got.payload != "":
		b.t.Errorf("got %q after %v, want status 503 after %v", got, passed, after)
	}
	if n := len(b.box.arrived); n > 0 {
		b.t.Errorf("%d more answers", n)
	}
}

// TestClosedLate: who publishes to a stream that has just been closed here, and who is refused in so many words.
func TestClosedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, box: newMailbox(), account: new(accounts.Account)}
		b.open(ingest.Config{}, &answering{}, ingest.Hooks{})
		b.stream.Close()
		began := time.Now()
		b.publish("s.a", "r", "x")
		b.hears(began, time.Second)

		began = time.Now()
		b.ingest.Refuse(b.account, []byte("first"))
		time.Sleep(300 * time.Millisecond)
		second := time.Now()
		b.ingest.Refuse(b.account, []byte("second"))
		if got := b.next(); got.subject != "first" || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want the first after a second", got, time.Since(began))
		}
		b.hears(second, time.Second)
		if n := b.ingest.Late(); n != 0 {
			t.Errorf("%d wait still", n)
		}

		for range 70_000 {
			b.ingest.Refuse(b.account, []byte("r"))
		}
		if n := b.ingest.Late(); n != 1<<16 {
			t.Errorf("%d wait, want the bound", n)
		}
		b.ingest.Close() // nobody is told any more
		b.ingest.Refuse(b.account, []byte("r"))
		time.Sleep(time.Minute)
		if n := len(b.box.arrived); n != 0 {
			t.Errorf("%d answers after the end", n)
		}
		b.box.closed.Wait()
	})
}
