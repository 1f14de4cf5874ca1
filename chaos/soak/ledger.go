package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	streamName = "SOAK"
	subject    = "soak.kept"
	// nameHeader has the name of a message, which no other has.
	nameHeader = "Soak"
	answerTime = 10 * time.Second
	readIdle   = 15 * time.Second
)

// ledger publishes to a stream, and knows what was acknowledged. It is safe for concurrent use.
type ledger struct {
	url string
	nc  *nats.Conn
	js  jetstream.JetStream

	mu     sync.Mutex // guards what follows
	next   int
	acked  map[string]uint64 // sequences by name
	unsure int
}

// connect opens a connection that comes back by itself.
func connect(url string) (*nats.Conn, error) {
	return nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.Timeout(answerTime),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // whoever asks is told
}

// openLedger connects with a server that has no stream of that name yet, and makes it.
func openLedger(ctx context.Context, url string) (*ledger, error) {
	nc, err := connect(url)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: streamName, Subjects: []string{subject}})
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("create the stream: %w", err)
	}
	return &ledger{url: url, nc: nc, js: js, acked: make(map[string]uint64)}, nil
}

func (l *ledger) close() { l.nc.Close() }

// message is a new one with its name.
func (l *ledger) message(bytes int) (*nats.Msg, string) {
	l.mu.Lock()
	l.next++
	name := fmt.Sprintf("m%d", l.next)
	l.mu.Unlock()
	return &nats.Msg{Subject: subject, Header: nats.Header{nameHeader: {name}}, Data: make([]byte, bytes)}, name
}

// note keeps what became of a message.
func (l *ledger) note(name string, ack *jetstream.PubAck, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Without an acknowledgement the message may be there or not, and neither is a fault.
	if err != nil {
		l.unsure++
		return
	}
	l.acked[name] = ack.Sequence
}

// some publishes messages one after the other; it ends with the first that is not acknowledged.
func (l *ledger) some(ctx context.Context, n, bytes int) error {
	for range n {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		m, name := l.message(bytes)
		// The library would try again by itself, and then one name might be there twice.
		ack, err := l.js.PublishMsg(limited, m, jetstream.WithRetryAttempts(0))
		cancel()
		if l.note(name, ack, err); err != nil {
			return err
		}
	}
	return nil
}

// keep publishes until ctx ends, whatever becomes of it, and returns the longest time between two acknowledgements.
func (l *ledger) keep(ctx context.Context, bytes int) (longest time.Duration) {
	last := time.Now()
	for ctx.Err() == nil {
		// The last message is waited for, or it would be unsure for no reason of the server's.
		err := l.some(context.WithoutCancel(ctx), 1, bytes)
		longest = max(longest, time.Since(last))
		if err == nil {
			last = time.Now()
		}
	}
	return longest
}

// flood has a connection of its own publish until ctx ends, so that many messages are on their way at any time, and waits for their
// answers.
func (l *ledger) flood(ctx context.Context, onTheWay, bytes int) error {
	nc, err := connect(l.url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(onTheWay), jetstream.WithPublishAsyncTimeout(settleTime))
	if err != nil {
		return err
	}
	var answers sync.WaitGroup
	for ctx.Err() == nil {
		m, name := l.message(bytes)
		future, err := js.PublishMsgAsync(m, jetstream.WithStallWait(settleTime))
		if err != nil {
			l.note(name, nil, err)
			continue
		}
		answers.Go(func() {
			select {
			case ack := <-future.Ok():
				l.note(name, ack, nil)
			case err := <-future.Err():
				l.note(name, nil, err)
			}
		})
	}
	// The answers of what is on its way still come, so each message is in the books before anybody looks for it.
	select {
	case <-js.PublishAsyncComplete():
		answers.Wait()
		return nil
	case <-time.After(2 * settleTime):
		return errors.New("publishers get no answers any more")
	}
}

// count is how many messages were acknowledged.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// unanswered is how many were not, or by an error.
func (l *ledger) unanswered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unsure
}

// read returns the names of all messages that the stream has, with their sequences.
func (l *ledger) read(ctx context.Context) (map[string]uint64, error) {
	s, err := l.js.Stream(ctx, streamName)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]uint64)
	if info.State.Msgs == 0 {
		return found, nil
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{HeadersOnly: true})
	if err != nil {
		return nil, err
	}
	messages, err := c.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextMaxWait(readIdle))
		if err != nil {
			return found, fmt.Errorf("read after %d messages: %w", len(found), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return found, err
		}
		found[m.Headers().Get(nameHeader)] = meta.Sequence.Stream
		// What others publish meanwhile would have this never end; all that was acknowledged before is at or below that sequence.
		if meta.Sequence.Stream >= info.State.LastSeq {
			return found, nil
		}
	}
}

// missing returns the names of messages that were acknowledged and are not there, or elsewhere than was said.
func (l *ledger) missing(ctx context.Context) ([]string, error) {
	found, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	return l.lacking(found), nil
}

// lacking is missing of what was found.
func (l *ledger) lacking(found map[string]uint64) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, sequence := range l.acked {
		if found[name] != sequence {
			names = append(names, name)
		}
	}
	return names
}
