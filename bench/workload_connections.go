package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// dialers is how many connections are being opened at a time.
	dialers = 16
	// idleBufferBytes is the client's write buffer for a connection that idles.
	idleBufferBytes = 1 << 10
)

// runConnections opens idle connections, proves that all of them live, and
// notes how long each took to open. One connection is made before, so that what
// the server sets up once is not counted.
func runConnections(ctx context.Context, s *session) error {
	first, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := s.flush(ctx, first); err != nil {
		return err
	}
	n := s.params.Connections
	s.total.Store(int64(n))
	s.begin()
	conns, err := s.openIdle(ctx, n)
	s.end(int64(len(conns)), 0)
	if err != nil {
		return err
	}
	for _, nc := range conns {
		if err := s.flush(ctx, nc); err != nil {
			return fmt.Errorf("an idle connection does not answer: %w", err)
		}
		s.measure.tally.Delivered++
	}
	return nil
}

// openIdle opens n connections, several at a time.
func (s *session) openIdle(ctx context.Context, n int) ([]*nats.Conn, error) {
	var mu sync.Mutex // guards conns, left, failure and the recorder
	var conns []*nats.Conn
	var failure error
	s.measure.latency = NewRecorder()
	left := n
	take := func() bool {
		mu.Lock()
		defer mu.Unlock()
		left--
		return left >= 0 && failure == nil
	}
	keep := func(nc *nats.Conn, took time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failure = errors.Join(failure, err)
			return
		}
		conns = append(conns, nc)
		s.measure.latency.Record(took)
	}
	var group sync.WaitGroup
	for range min(dialers, n) {
		group.Go(func() {
			for take() {
				begun := time.Now()
				nc, err := s.connect(ctx, nats.WriteBufferSize(idleBufferBytes), nats.ReconnectBufSize(-1))
				keep(nc, time.Since(begun), err)
				s.published.Add(1)
			}
		})
	}
	group.Wait()
	if failure != nil {
		return conns, fmt.Errorf("connection %d of %d: %w (is the limit of open files, ulimit -n, high enough on both sides?)", len(conns)+1, n, failure)
	}
	return conns, nil
}
