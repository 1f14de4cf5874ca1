package rigtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Workers share a durable consumer of a stream: they fetch messages and have each acknowledgement confirmed. The promise:
// every message is delivered, the ack floor never goes back, and all that was confirmed is done at the end. A message may
// be delivered again, as long as the consumer's leader does not know of its acknowledgement.
type Workers struct {
	*load
	stream, name string
	nc           *nats.Conn
	consumer     jetstream.Consumer

	mu        sync.Mutex // guards what follows
	delivered map[Message]int
	confirmed map[uint64]bool // by sequence
	repeated  int             // deliveries of what was confirmed
	floor     uint64          // the highest ack floor that was told
	wrong     findings
}

// ackWait is how long a worker has, before another one gets the message.
const ackWait = 2 * time.Second

// StartWorkers makes a durable consumer, and has count workers consume the stream over nc.
func StartWorkers(t testing.TB, nc *nats.Conn, stream, name string, count int) *Workers {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	w := &Workers{
		load: newLoad(t), stream: stream, name: name, nc: nc,
		delivered: make(map[Message]int), confirmed: make(map[uint64]bool),
	}
	_, err = Retry(func(ctx context.Context) (err error) {
		w.consumer, err = js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 100,
		})
		return err
	})
	if err != nil {
		t.Fatalf("create consumer %s of %s: %v", name, stream, err)
	}
	for range count {
		w.all.Go(w.work)
	}
	w.all.Go(w.watch)
	return w
}

// work consumes until the load is stopped.
func (w *Workers) work() {
	for w.running() {
		batch, err := w.consumer.Fetch(10, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			w.pause(attemptPause)
			continue
		}
		for m := range batch.Messages() {
			w.take(m)
		}
		if batch.Error() != nil {
			w.pause(attemptPause)
		}
	}
}

// take notes a message and acknowledges it.
func (w *Workers) take(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		w.complain("alien", "%v", err)
		return
	}
	message, err := ParseMessage(string(m.Data()))
	if err != nil {
		w.complain("alien", "%v", err)
		return
	}
	sequence := meta.Sequence.Stream
	w.deliver(sequence, message)
	ctx, cancel := context.WithTimeout(context.Background(), ackWait)
	defer cancel()
	if m.DoubleAck(ctx) == nil { // otherwise it is delivered again
		w.confirm(sequence)
	}
}

func (w *Workers) deliver(sequence uint64, m Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delivered[m]++
	if w.confirmed[sequence] {
		w.repeated++
	}
}

func (w *Workers) confirm(sequence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.confirmed[sequence] = true
}

func (w *Workers) complain(kind, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong.add(kind, format, args...)
}

// watch looks at the ack floor until the load is stopped.
func (w *Workers) watch() {
	for w.running() {
		if info, err := w.info(); err == nil {
			w.see(info)
		}
		w.pause(50 * time.Millisecond)
	}
}

// info is what the consumer's leader says. An answer that names no leader is nobody's word.
func (w *Workers) info() (*jetstream.ConsumerInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	info, err := w.consumer.Info(ctx)
	if err == nil && (info.Cluster == nil || info.Cluster.Leader == "") {
		err = fmt.Errorf("consumer %s of %s has no leader", w.name, w.stream)
	}
	return info, err
}

func (w *Workers) see(info *jetstream.ConsumerInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	floor := info.AckFloor.Stream
	if floor < w.floor {
		w.wrong.add("floor", "the ack floor is %d on %s, after it was %d", floor, info.Cluster.Leader, w.floor)
	}
	w.floor = max(w.floor, floor)
}

// Stop waits until all of the stream is acknowledged, stops the workers and looks whether they had all that was published.
func (w *Workers) Stop(l *Ledger) {
	w.t.Helper()
	Eventually(w.t, fmt.Sprintf("consumer %s of %s to be done", w.name, w.stream), w.undone)
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	for m := range l.messages() {
		if w.delivered[m] == 0 {
			w.wrong.add("lost", "%q was not delivered", m)
		}
	}
	if found := w.wrong.list(); len(found) > 0 {
		w.t.Errorf("consumer %s of %s:\n  %s", w.name, w.stream, strings.Join(found, "\n  "))
	}
	w.t.Logf("consumer %s of %s: %d messages, %d confirmed, %d of these delivered again", w.name, w.stream, len(w.delivered), len(w.confirmed), w.repeated)
}

// undone is what is left for the workers to do.
func (w *Workers) undone() error {
	info, err := w.info()
	if err != nil {
		return err
	}
	stream, err := StreamInfo(w.nc, w.stream)
	if err != nil {
		return err
	}
	if info.NumPending > 0 || info.NumAckPending > 0 || info.AckFloor.Stream != stream.State.LastSeq {
		text := fmt.Sprintf("%d pending, %d unacknowledged, ack floor %d of %d", info.NumPending, info.NumAckPending, info.AckFloor.Stream, stream.State.LastSeq)
		return errors.New(text)
	}
	return nil
}

// Repeated counts messages that were delivered although the acknowledgement was confirmed before.
func (w *Workers) Repeated() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.repeated
}
