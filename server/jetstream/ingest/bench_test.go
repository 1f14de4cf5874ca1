package ingest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/accounts"
	"runnel/server/jetstream/ingest"
)

// instant is a log that answers at once.
type instant struct{ sequence uint64 }

func (*instant) Name() string          { return "S" }
func (*instant) Config() config.Stream { return streamConfig() }

func (l *instant) Start(_ context.Context, _ command.Command, done func(jetlog.Result, error)) error {
	l.sequence++
	done(jetlog.Result{Sequence: l.sequence, Stored: true}, nil)
	return nil
}

func (l *instant) StartAll(_ context.Context, publishes []command.Publish, a store.Answers) error {
	for i := range publishes {
		l.sequence++
		a.Answer(i, jetlog.Result{Sequence: l.sequence, Stored: true}, nil)
	}
	a.Answered().Flush()
	return nil
}

func (*instant) State() jetlog.State { return jetlog.State{} }

func (*instant) View(func(*jetlog.Stream, jetlog.Messages) error) error { return nil }

// credits is an outlet that gives the publisher a credit for each answer.
type credits struct {
	staged int
	given  chan int
}

func (c *credits) Publish(*accounts.Account, string, string, []byte, []byte) int {
	c.staged++
	return 1
}

func (c *credits) Flush() {
	if c.staged > 0 {
		c.given <- c.staged
	}
	c.staged = 0
}

func (*credits) Close() {}

// BenchmarkPublish measures the way of a message through this package, from Take to its acknowledgement, with a
// log and an outlet that cost nothing.
func BenchmarkPublish(b *testing.B) {
	for _, header := range [][]byte{nil, block("Nats-Msg-Id", "0123456789abcdef")} {
		for _, inFlight := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("header=%t/inflight=%d", header != nil, inFlight), func(b *testing.B) {
				publishMany(b, &instant{}, header, inFlight)
			})
		}
	}
}

// BenchmarkStored is the same with a store in memory.
func BenchmarkStored(b *testing.B) {
	for _, inFlight := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1})
			if err != nil {
				b.Fatal(err)
			}
			log, err := s.Create("A", streamConfig(func(c *config.Stream) { c.MaxMessages = 1000 }))
			if err != nil {
				b.Fatal(err)
			}
			publishMany(b, log, nil, inFlight)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// publishMany publishes messages of 128 bytes, so many at a time without an acknowledgement.
func publishMany(b *testing.B, log ingest.Log, header []byte, inFlight int) {
	c := &credits{given: make(chan int, inFlight)}
	g := ingest.New(ingest.Config{Ackers: 1, Outlet: func() ingest.Outlet { return c }})
	defer g.Close()
	var stored atomic.Uint64
	s := g.Open(new(accounts.Account), log, ingest.Hooks{
		Stored: func(_ string, sequence uint64) { stored.Store(sequence) },
	})
	subject, reply, payload := []byte("s.new.eu"), []byte("_INBOX.abcdefghijklmnop.abcdef"), make([]byte, 128)
	b.ReportAllocs()
	for free := inFlight; b.Loop(); free-- {
		for free == 0 {
			free += <-c.given
		}
		if !s.Take(subject, reply, header, payload) {
			b.Fatal("no room")
		}
		if free == 1 {
			s.Flush() // as at the end of what a client has sent
		}
	}
}

// BenchmarkTakeLarge measures how a message of the size of an object's chunk is taken over.
func BenchmarkTakeLarge(b *testing.B) {
	g := ingest.New(ingest.Config{Ackers: 1, Outlet: func() ingest.Outlet { return &credits{given: make(chan int, 1)} }})
	defer g.Close()
	s := g.Open(new(accounts.Account), &instant{}, ingest.Hooks{})
	subject, payload := []byte("s.new.eu"), make([]byte, 128<<10)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		s.Take(subject, nil, nil, payload)
		s.Flush()
	}
}
