package rigtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Writers publish messages to a stream, each writer to a subject of its own and one after the other: a message is
// published again under its id until it is acknowledged. The promise: that happens within the attempts of the client, and
// the stream then has each message once, in the order of the writer, at the sequence of the acknowledgement.
type Writers struct {
	*load
	ledger *Ledger
	cfg    WriterConfig
	js     jetstream.JetStream

	mu    sync.Mutex // guards what follows
	acked int
	most  int // attempts that a message took
}

// WriterConfig says what writers do.
type WriterConfig struct {
	Stream string
	Prefix string        // of the writers' names, which tells groups of writers apart
	Count  int           // how many write
	Pause  time.Duration // after each message
	Bytes  int           // of a message; as few as possible when zero
}

// StartWriters has writers publish over one connection. What they are told goes to the ledger, which several groups of them
// may share.
func StartWriters(t testing.TB, nc *nats.Conn, l *Ledger, cfg WriterConfig) *Writers {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	w := &Writers{load: newLoad(t), ledger: l, cfg: cfg, js: js}
	for i := range cfg.Count {
		w.all.Go(func() { w.write(fmt.Sprintf("%s%d", cfg.Prefix, i+1)) })
	}
	return w
}

// write publishes until the load is stopped.
func (w *Writers) write(name string) {
	for n := 1; w.running(); n++ {
		m := Message{name, n}
		w.ledger.Try(m)
		begin := time.Now()
		attempts, err := Retry(func(ctx context.Context) error {
			ack, err := w.js.Publish(ctx, w.cfg.Stream+"."+name, m.body(w.cfg.Bytes), jetstream.WithMsgID(m.String()), jetstream.WithRetryAttempts(0))
			if err == nil {
				w.ledger.Ack(m, ack.Sequence)
			}
			return err
		})
		if err != nil {
			w.t.Errorf("message %q was not acknowledged after %d attempts: %v", m, attempts, err)
			return
		}
		if attempts > attemptsNoted {
			w.t.Logf("message %q was acknowledged after %d attempts in %v", m, attempts, time.Since(begin))
		}
		w.note(attempts)
		w.pause(w.cfg.Pause)
	}
}

func (w *Writers) note(attempts int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked++
	w.most = max(w.most, attempts)
}

// Acked counts the messages of these writers that were acknowledged.
func (w *Writers) Acked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}

// Progress waits until n more messages are acknowledged: the stream takes messages.
func (w *Writers) Progress(n int) {
	w.t.Helper()
	ProgressAll(w.t, []*Writers{w}, n)
}

// ProgressAll waits until each of some groups of writers has n more messages acknowledged.
func ProgressAll(t testing.TB, all []*Writers, n int) {
	t.Helper()
	goals := make([]int, len(all))
	for i, w := range all {
		goals[i] = w.Acked() + n
	}
	for i, w := range all {
		Eventually(t, fmt.Sprintf("%d more acknowledgements", n), func() error {
			if got := w.Acked(); got < goals[i] {
				return fmt.Errorf("%d are missing", goals[i]-got)
			}
			return nil
		})
	}
}

// Stop lets the writers bring to an end what they have begun.
func (w *Writers) Stop() {
	w.t.Helper()
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Logf("%d messages acknowledged, after %d attempts at most", w.acked, w.most)
}
