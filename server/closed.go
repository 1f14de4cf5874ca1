package server

import (
	"sync"
	"time"

	"runnel/server/engine"
	"runnel/server/monitor"
)

// closedRing remembers the connections that ended last: whoever looks for the reason of a trouble comes after
// it. It grows up to its size and no further, so it costs nothing until connections have ended.
type closedRing struct {
	mu   sync.Mutex // guards what follows
	ring []monitor.Connection
	next int // the oldest, which is overwritten next; 0 until the ring is full
	size int
}

// newClosedRing makes one for that many connections; with 0 it remembers none.
func newClosedRing(size int) *closedRing { return &closedRing{size: size} }

// add takes in a connection, in place of the oldest one if there are too many.
func (r *closedRing) add(c monitor.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.size <= 0:
	case len(r.ring) < r.size:
		r.ring = append(r.ring, c)
	default:
		r.ring[r.next] = c
		r.next = (r.next + 1) % r.size
	}
}

// all returns a copy, oldest first.
func (r *closedRing) all() []monitor.Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([]monitor.Connection(nil), r.ring[r.next:]...), r.ring[:r.next]...)
}

// remember keeps what monitoring shows of a connection that has ended.
func (s *Server) remember(c *engine.Conn, reason engine.Reason) monitor.Connection {
	m := s.connection(c)
	m.Stop = time.Now()
	m.Reason = reason.String()
	s.counts.closed.add(m)
	return m
}
