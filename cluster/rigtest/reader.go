package rigtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Reader follows a stream while things happen. The promise: it sees sequence after sequence without a gap, and what it
// has seen once stays.
type Reader struct {
	t      testing.TB
	stream string
	cancel jetstream.ConsumeContext

	mu    sync.Mutex // guards what follows
	seen  []Stored
	wrong findings
}

// StartReader reads a stream from its first message on, over nc. When it hears nothing for two heartbeats, of a second each, it
// asks anew, and so it does when a request is not answered within a second: those that arrive between the death of a leader and
// its discovery never are.
func StartReader(t testing.TB, nc *nats.Conn, stream string) *Reader {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(attemptTimeout))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{t: t, stream: stream}
	_, err = Retry(func(ctx context.Context) error {
		consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
		if err == nil {
			r.cancel, err = consumer.Consume(r.take, jetstream.PullExpiry(4*time.Second), jetstream.PullHeartbeat(time.Second))
		}
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", stream, err)
	}
	t.Cleanup(r.cancel.Stop)
	return r
}

// take notes a message of the stream.
func (r *Reader) take(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		r.t.Errorf("reader of %s: %v", r.stream, err)
		return
	}
	r.note(meta.Sequence.Stream, string(m.Data()))
}

// note takes the message that is due, and complains about any other.
func (r *Reader) note(sequence uint64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := uint64(len(r.seen) + 1); sequence != want {
		r.wrong.add("order", "sequence %d where %d was due", sequence, want)
		return
	}
	r.seen = append(r.seen, Stored{sequence, text})
}

// count is how many messages were read.
func (r *Reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

// Stop waits until the reader has all that the stream has, and compares it with what publishers were told.
func (r *Reader) Stop(nc *nats.Conn, l *Ledger) {
	r.t.Helper()
	Eventually(r.t, "the reader to come to the end of "+r.stream, func() error {
		info, err := StreamInfo(nc, r.stream)
		if err == nil && uint64(r.count()) < info.State.LastSeq {
			err = fmt.Errorf("it has %d of %d", r.count(), info.State.LastSeq)
		}
		return err
	})
	r.cancel.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := append(r.wrong.list(), l.Check(r.seen)...); len(found) > 0 {
		r.t.Errorf("reader of %s:\n  %s", r.stream, strings.Join(found, "\n  "))
	}
	r.t.Logf("reader of %s: %d messages", r.stream, len(r.seen))
}
