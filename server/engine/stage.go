package engine

import (
	"runnel/server/accounts"
	"runnel/server/engine/chunks"
)

const (
	// stageBytes is the size up to which a stage collects before it is flushed.
	stageBytes = 64 << 10
	// borrowBytes: a tail at least so long is not copied into the stage but written from where it is.
	borrowBytes = 512
	// borrowedMax bounds the borrowed bytes of one stage.
	borrowedMax = 1 << 20
	// borrowsMax bounds the borrowed pieces of one stage, of which a message may add two; with the pieces
	// between them they stay below the 1,024 buffers that one writev takes.
	borrowsMax = 500
)

// borrow is a piece of the read buffer, or of what a [Publisher] was given, that belongs after the first at bytes of the stage's own buffer.
type borrow struct {
	at    int
	bytes []byte
}

// stage collects what one batch has for one connection. It belongs to one worker.
type stage struct {
	conn     *Conn
	own      []byte
	borrows  []borrow
	borrowed int // sum of the borrowed bytes
	// messages and payload are what the stage adds to the connection's counters when it is flushed.
	messages, payload int
	// last is the subscription of the newest delivery, named when the connection turns out too slow, and from
	// the publisher, parked then; nil for the server.
	last *accounts.Subscription
	from *Conn
}

func (s *stage) bytes() int { return len(s.own) + s.borrowed }

// full tells whether the stage must be flushed before need more own bytes are added.
func (s *stage) full(need int) bool {
	return len(s.own) > 0 && len(s.own)+need > stageBytes || s.borrowed > borrowedMax || len(s.borrows) >= borrowsMax
}

// add adds bytes that stay until the flush: it copies them unless they are many.
func (s *stage) add(p []byte) {
	if len(p) < borrowBytes {
		s.own = append(s.own, p...)
		return
	}
	s.borrow(p)
}

// ownBytes is how many bytes add(p) copies.
func ownBytes(p []byte) int {
	if len(p) < borrowBytes {
		return len(p)
	}
	return 0
}

// borrow adds a piece without copying it.
func (s *stage) borrow(p []byte) {
	s.borrows = append(s.borrows, borrow{len(s.own), p})
	s.borrowed += len(p)
}

// buffers appends the stage's pieces in order to out.
func (s *stage) buffers(out [][]byte) [][]byte {
	from := 0
	for _, b := range s.borrows {
		if b.at > from {
			out = append(out, s.own[from:b.at])
		}
		out = append(out, b.bytes)
		from = b.at
	}
	if len(s.own) > from {
		out = append(out, s.own[from:])
	}
	return out
}

// copyTo appends all but the first skip bytes to q.
func (s *stage) copyTo(q *chunks.Queue, pools *chunks.Pools, skip int) {
	put := func(p []byte) {
		n := min(skip, len(p))
		skip -= n
		q.Append(pools, p[n:])
	}
	from := 0
	for _, b := range s.borrows {
		put(s.own[from:b.at])
		put(b.bytes)
		from = b.at
	}
	put(s.own[from:])
}

// reset forgets the content and keeps the memory.
func (s *stage) reset() {
	s.own = s.own[:0]
	clear(s.borrows)
	s.borrows = s.borrows[:0]
	s.borrowed, s.messages, s.payload = 0, 0, 0
	s.last, s.from = nil, nil
}
