package transport

import (
	"context"
	"fmt"
	"io"
	"sync"

	"runnel/cluster/mesh"
)

const (
	// chunkBytes is how much of a stream goes into one frame.
	chunkBytes = 64 << 10
	// windowBytes is how much of a stream may be on the way or wait to be read. It bounds the memory that a stream takes,
	// and its speed to so much a round trip.
	windowBytes = 2 << 20
	// fetchRequestBytes bounds the request that a stream is opened with.
	fetchRequestBytes = 64 << 10
)

// Fetch opens a stream of what node has under request, from offset on. It returns when the peer has opened it. Reading fails
// with ErrUnreachable when the link breaks; the stream may then be fetched again from where it was. A peer that serves as many
// streams as it may (Config.Streams) answers ErrBusy: try again later. The stream must be closed, and ends with ctx.
func (t *Transport) Fetch(ctx context.Context, node string, request []byte, offset int64) (io.ReadCloser, error) {
	if len(request) > fetchRequestBytes {
		return nil, fmt.Errorf("fetch with a request of %d bytes: %w (more than %d)", len(request), ErrTooLarge, fetchRequestBytes)
	}
	l := t.lane(node, mesh.RaftData)
	if l == nil {
		return nil, fmt.Errorf("fetch: %w", about(node, ErrUnreachable))
	}
	s, err := l.open(ctx, request, offset)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return s, nil
}

// stream is one that was opened from here. Its bytes come with the goroutine that reads the link, which never waits: the peer
// sends no more than it was given credit for.
type stream struct {
	l      *lane
	id     uint64
	opened chan error
	stop   func() bool // ends the watch on the context

	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	chunks  []*chunk // what was not read yet
	bytes   int      // in chunks
	taken   int      // read since the last credit
	err     error    // what comes behind the bytes
	closed  bool
}

// chunk is a part of a stream that has come, in memory that is used again.
type chunk struct {
	mem  [chunkBytes]byte
	rest []byte // what was not read yet
}

func (s *stream) answered(_ []byte, err error) { s.opened <- err }

// open opens a stream over the link.
func (l *lane) open(ctx context.Context, what []byte, offset int64) (*stream, error) {
	s := &stream{l: l, opened: make(chan error, 1)}
	s.changed = sync.NewCond(&s.mu)
	id, err := l.ask(request{waiter: s})
	if err != nil {
		return nil, err
	}
	s.id = id
	if !l.enter(s) {
		return nil, about(l.peer.node, ErrUnreachable)
	}
	l.control(kindFetch, false, func(b []byte) []byte {
		return append(putUint64s(b, id, uint64(offset), windowBytes), what...)
	})
	select {
	case err = <-s.opened:
	case <-ctx.Done():
		l.forget(id)
		err = about(l.peer.node, ctx.Err())
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { s.abort(about(l.peer.node, ctx.Err())) })
	return s, nil
}

func (l *lane) enter(s *stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.streams[s.id] = s
	return true
}

// leave forgets a stream, and has the peer do so if it has not ended.
func (l *lane) leave(s *stream) {
	l.mu.Lock()
	_, there := l.streams[s.id]
	delete(l.streams, s.id)
	l.mu.Unlock()
	if there {
		l.control(kindCancel, false, func(b []byte) []byte { return putUint64s(b, s.id) })
	}
}

// stream is the one with the id, which leaves if last is set.
func (l *lane) stream(id uint64, last bool) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[id]
	if last {
		delete(l.streams, id)
	}
	return s
}

// Read reads what has come. After an error it fails with that for ever.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes == 0 && s.err == nil && !s.closed && len(p) > 0 {
		s.changed.Wait()
	}
	if s.closed {
		return 0, fmt.Errorf("read a fetched stream: %w", ErrClosed)
	}
	n := s.take(p)
	s.credit(n)
	if n == 0 && len(p) > 0 {
		return 0, s.err
	}
	return n, nil
}

// take moves bytes to p. The mutex must be held.
func (s *stream) take(p []byte) (n int) {
	for n < len(p) && len(s.chunks) > 0 {
		c := s.chunks[0]
		k := copy(p[n:], c.rest)
		c.rest, n = c.rest[k:], n+k
		if len(c.rest) == 0 {
			s.l.t.chunks.Put(c)
			s.chunks[0] = nil
			s.chunks = s.chunks[1:]
		}
	}
	s.bytes -= n
	return n
}

// drop forgets what was not read. The mutex must be held.
func (s *stream) drop() {
	for _, c := range s.chunks {
		s.l.t.chunks.Put(c)
	}
	s.chunks, s.bytes = nil, 0
}

// credit lets the peer send as much as was read, now and then. The mutex must be held; that of the outbound is taken.
func (s *stream) credit(n int) {
	s.taken += n
	if s.taken >= creditBytes && s.err == nil {
		more := uint64(s.taken)
		s.taken = 0
		s.l.control(kindCredit, false, func(b []byte) []byte { return putUint64s(b, s.id, more) })
	}
}

// Close ends the stream.
func (s *stream) Close() error {
	if s.stop != nil {
		s.stop()
	}
	s.l.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.drop()
	s.changed.Broadcast()
	return nil
}

// abort makes reading fail at once.
func (s *stream) abort(err error) {
	s.l.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	if s.err == nil || s.err == io.EOF {
		s.err = err
	}
	s.changed.Broadcast()
}

// finish makes reading end with err when all that has come was read.
func (s *stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// arrived adds bytes. It fails if the peer sends more than it was given credit for.
func (s *stream) arrived(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(p) > windowBytes {
		return fmt.Errorf("the peer sends more of a stream than the %d bytes it may", windowBytes)
	}
	if s.closed || s.err != nil || len(p) == 0 {
		return nil
	}
	s.add(p)
	s.changed.Broadcast()
	return nil
}

// add keeps bytes to be read. Small ones share a chunk, so that the memory is bounded like the bytes. The mutex must be held.
func (s *stream) add(p []byte) {
	s.bytes += len(p)
	if n := len(s.chunks); n > 0 {
		if last := s.chunks[n-1]; cap(last.rest)-len(last.rest) >= len(p) {
			last.rest = append(last.rest, p...)
			return
		}
	}
	c, _ := s.l.t.chunks.Get().(*chunk)
	if c == nil {
		c = &chunk{}
	}
	c.rest = append(c.mem[:0], p...)
	s.chunks = append(s.chunks, c)
}

// handleStream handles what belongs to streams.
func (l *lane) handleStream(k kind, body []byte) error {
	c := cursor{b: body}
	id := c.uint64()
	var err error
	switch k {
	case kindFetch:
		offset, window := int64(c.uint64()), c.uint64()
		what := c.rest()
		if err = c.end(); err == nil {
			l.handleFetch(id, offset, window, what)
		}
	case kindCredit:
		more := c.uint64()
		if err = c.end(); err == nil {
			l.credit(id, more)
		}
	case kindChunk:
		p := c.rest()
		if err = c.end(); err == nil {
			if s := l.stream(id, false); s != nil {
				err = s.arrived(p)
			}
		}
	case kindEnd:
		how := code(c.uint8())
		text := c.rest()
		if err = c.end(); err == nil {
			l.endStream(id, how, text)
		}
	}
	if err != nil {
		return fmt.Errorf("read a frame of a stream: %w", err)
	}
	return nil
}

func (l *lane) endStream(id uint64, how code, text []byte) {
	s := l.stream(id, true)
	if s == nil {
		return
	}
	if how == codeOK {
		s.finish(io.EOF)
		return
	}
	s.finish(fmt.Errorf("read a fetched stream: %w", errorOf(l.peer.node, how, text)))
}
