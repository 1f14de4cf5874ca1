package powercut_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/powercut"
)

// load publishes to a stream from several clients, one message after the other each, and knows what was acknowledged.
type load struct {
	t      *testing.T
	stream string
	size   int // of a message, at least
	ctx    context.Context
	stop   context.CancelFunc
	ends   sync.WaitGroup

	mu    sync.Mutex
	acked map[string]uint64 // by value: the sequence
	tried int
	last  time.Time // of the last acknowledgement
}

// connect connects a client that tries for ever.
func connect(t *testing.T, c *powercut.Cluster) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(c.URLs(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.IgnoreDiscoveredServers(), nats.Timeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// startLoad begins to publish to a stream, which is there.
func startLoad(t *testing.T, c *powercut.Cluster, stream string, writers, size int) *load {
	l := &load{t: t, stream: stream, size: size, acked: map[string]uint64{}, last: time.Now()}
	l.ctx, l.stop = context.WithCancel(t.Context())
	for w := range writers {
		nc := connect(t, c)
		l.ends.Go(func() { l.write(nc, w) })
	}
	return l
}

func (l *load) write(nc *nats.Conn, writer int) {
	pace := time.NewTicker(5 * time.Millisecond) // what is published has to be read again in the end
	defer pace.Stop()
	for n := 0; l.ctx.Err() == nil; n++ {
		<-pace.C
		value := fmt.Sprintf("%d-%d", writer, n)
		l.mu.Lock()
		l.tried++
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(l.ctx, 2*time.Second)
		m, err := nc.RequestWithContext(ctx, fmt.Sprintf("%s.%d", l.stream, writer), fmt.Appendf(nil, "%-*s", l.size, value))
		cancel()
		if err != nil {
			continue // nobody knows whether it was stored
		}
		var ack struct {
			Sequence uint64 `json:"seq"`
			Error    *struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &ack); err != nil || ack.Error != nil || ack.Sequence == 0 {
			continue
		}
		l.mu.Lock()
		l.acked[value], l.last = ack.Sequence, time.Now()
		l.mu.Unlock()
	}
}

// waitAck waits until something that was sent from now on is acknowledged.
func (l *load) waitAck() {
	l.t.Helper()
	since := time.Now()
	waitFor(l.t, "an acknowledgement in stream "+l.stream, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.last.After(since)
	})
}

// count is how many messages are acknowledged.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// verify ends the load and looks for what was acknowledged.
func (l *load) verify(js jetstream.JetStream) {
	l.t.Helper()
	l.stop()
	l.ends.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.Stream(ctx, l.stream)
	if err != nil {
		l.t.Fatal(err)
	}
	info := s.CachedInfo()
	stored := make(map[string]uint64)
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		l.t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		l.t.Fatal(err)
	}
	defer messages.Stop()
	for next := uint64(1); next <= info.State.LastSeq; next++ {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			l.t.Fatalf("read message %d of %d of %s: %v", next, info.State.LastSeq, l.stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			l.t.Fatal(err)
		}
		if meta.Sequence.Stream != next {
			l.t.Fatalf("got message %d, want %d: the sequences have a gap", meta.Sequence.Stream, next)
		}
		stored[strings.TrimSpace(string(m.Data()))] = next
	}
	lost := 0
	for value, sequence := range l.acked {
		if got := stored[value]; got != sequence {
			if lost++; lost <= 5 {
				l.t.Errorf("%s: %s was acknowledged as message %d, and is message %d (0: it is lost)", l.stream, value, sequence, got)
			}
		}
	}
	l.t.Logf("%s: %d tried, %d acknowledged, %d stored, %d lost", l.stream, l.tried, len(l.acked), len(stored), lost)
}

// patience is how long the tests wait for what must come.
const patience = 60 * time.Second

// waitFor waits until something holds, which it asks for now and then.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
