//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// history is what clients were told, over all lives of a server.
type history struct {
	mu       sync.Mutex
	stored   map[string]uint64 // messages that were acknowledged, with their sequences
	done     map[uint64]bool   // sequences whose acknowledgement was confirmed
	repeated []uint64          // of those, what was delivered again
}

// freePort returns a port that nobody listens on, so that a server can come back to it.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// produce publishes until the context ends.
func (h *history) produce(ctx context.Context, js jetstream.JetStream, name string) {
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("%s-%d", name, n)
		short, cancel := context.WithTimeout(ctx, time.Second)
		ack, err := js.Publish(short, "kill."+name, []byte(text))
		cancel()
		if err != nil {
			continue // nobody knows what became of it
		}
		h.mu.Lock()
		h.stored[text] = ack.Sequence
		h.mu.Unlock()
	}
}

// consume asks for messages and has each acknowledgement confirmed, until the context ends. Messages and confirmations
// come in over one subscription, in the order in which the server sent them: so a message that comes after its
// confirmation was sent after it.
func (h *history) consume(ctx context.Context, nc *nats.Conn) error {
	inbox := nc.NewInbox()
	_, err := nc.Subscribe(inbox+".>", func(m *nats.Msg) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if confirmed, ok := strings.CutPrefix(m.Subject, inbox+".ack."); ok {
			if seq, err := strconv.ParseUint(confirmed, 10, 64); err == nil && len(m.Header) == 0 {
				h.done[seq] = true
			}
			return
		}
		meta, err := m.Metadata()
		if err != nil {
			return // a status
		}
		seq := meta.Sequence.Stream
		if h.done[seq] {
			h.repeated = append(h.repeated, seq)
		}
		_ = nc.PublishRequest(m.Reply, fmt.Sprintf("%s.ack.%d", inbox, seq), nil) // it may be lost like any other
	})
	if err != nil {
		return err
	}
	for n := 0; ctx.Err() == nil; n++ {
		_ = nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.KILL.C", fmt.Sprintf("%s.next.%d", inbox, n), []byte(`{"batch":50,"expires":200000000}`))
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// A server is killed again and again while clients publish and consume. What was acknowledged stays; what was
// confirmed as done does not come again.
func TestKill(t *testing.T) {
	port, dir := freePort(t), t.TempDir()
	begin := func() *daemon {
		d := startDaemon(t, nil, "-js", "-sd", dir, "-p", port)
		d.waitLine("Server is ready")
		return d
	}
	d := begin()
	nc, err := nats.Connect("127.0.0.1:"+port, nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	setUpKill(t, js)

	h := &history{stored: make(map[string]uint64), done: make(map[uint64]bool)}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() { h.produce(ctx, js, fmt.Sprintf("p%d", i)) })
	}
	clients.Go(func() {
		if err := h.consume(ctx, nc); err != nil {
			t.Error(err)
		}
	})
	for range killings {
		under := time.Duration(20+rand.IntN(200)) * time.Millisecond
		<-time.After(under)
		d.signal(syscall.SIGKILL)
		d.wantExit(-1)
		d = begin()
	}
	eventually(t, "messages flow after the last start", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.done) > killings
	})
	stop()
	clients.Wait()
	h.verify(t, js)
}

// setUpKill makes the stream and the consumer.
func setUpKill(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "KILL", Subjects: []string{"kill.>"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "C", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 300 * time.Millisecond, MaxAckPending: 50,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// verify compares the stream with what clients were told.
func (h *history) verify(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := js.Stream(ctx, "KILL")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]uint64)
	for len(found) < int(info.State.Msgs) {
		m, err := reader.Next()
		if err != nil {
			t.Fatalf("after %d of %d messages: %v", len(found), info.State.Msgs, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		found[string(m.Data())] = meta.Sequence.Stream
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for text, seq := range h.stored {
		if found[text] != seq {
			t.Errorf("message %q was acknowledged as %d and is at %d", text, seq, found[text])
		}
	}
	if len(h.repeated) > 0 {
		t.Errorf("delivered again after they were confirmed: %v", h.repeated)
	}
	t.Logf("%d killings: %d messages, %d acknowledged, %d confirmed", killings, len(found), len(h.stored), len(h.done))
}
