package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// waitingChunkBytes is how much of streams may wait to be written to one peer.
const waitingChunkBytes = 512 << 10

// FetchHandler opens what request asks for, from offset on. ctx ends when the stream does. The transport closes what it
// returns. An error, also one of reading, is told to the peer by its text.
type FetchHandler func(ctx context.Context, from string, request []byte, offset int64) (io.ReadCloser, error)

// HandleFetch has streams opened by h.
func (t *Transport) HandleFetch(h FetchHandler) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fetch = h
}

// source is a stream that the peer has opened. A goroutine reads it as the peer gives credit.
type source struct {
	l      *lane
	id     uint64
	ctx    context.Context
	cancel context.CancelFunc
	more   chan struct{} // credit has come
	share  share

	mu      sync.Mutex // guards what follows
	allowed uint64
}

// handleFetch opens a stream for the peer.
func (l *lane) handleFetch(id uint64, offset int64, window uint64, what []byte) {
	l.t.mu.RLock()
	open := l.t.fetch
	l.t.mu.RUnlock()
	switch {
	case open == nil:
		l.answer(id, false, nil, ErrNoService)
	case len(what) > fetchRequestBytes || offset < 0:
		l.answer(id, false, nil, ErrTooLarge)
	case int(l.peer.opened.Add(1)) > l.t.cfg.Streams:
		l.peer.opened.Add(-1)
		l.peer.count.refused.Add(1)
		l.answer(id, false, nil, ErrBusy)
	default:
		what = append([]byte(nil), what...)
		s := &source{l: l, id: id, more: make(chan struct{}, 1), allowed: window}
		s.ctx, s.cancel = l.serve(id, 0)
		l.addSource(s)
		if !l.t.spawn(func() { s.run(open, what, offset) }) {
			s.cancel()
		}
	}
}

func (l *lane) addSource(s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.sources[s.id] = s
	}
}

func (l *lane) removeSource(s *source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sources, s.id)
}

// credit lets a source send more.
func (l *lane) credit(id, more uint64) {
	l.mu.Lock()
	s := l.sources[id]
	l.mu.Unlock()
	if s == nil {
		return
	}
	more = min(more, windowBytes)
	s.allow(more)
	l.t.flight.give(&s.share, int64(more))
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// run opens the stream and sends it.
func (s *source) run(open FetchHandler, what []byte, offset int64) {
	defer s.l.peer.opened.Add(-1)
	defer s.cancel()
	defer s.l.removeSource(s)
	defer s.l.t.flight.give(&s.share, math.MaxInt64) // what the peer has not read it drops
	r, err := open(s.ctx, s.l.peer.node, what, offset)
	if err != nil {
		s.l.answer(s.id, false, nil, plain(err))
		return
	}
	s.l.answer(s.id, false, nil, nil)
	err = s.send(r)
	if closing := r.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close a stream: %w", closing)
	}
	if s.ctx.Err() == nil {
		s.end(err)
	}
}

// send sends all that r has, or fails.
func (s *source) send(r io.Reader) error {
	for {
		n, err := s.wait()
		if err != nil {
			return err
		}
		if err = s.l.t.flight.take(s.ctx, &s.share, int64(n)); err != nil {
			return err
		}
		f := s.l.t.newFrame(0)
		if f.mem == nil || cap(f.mem) < headBytes+8+chunkBytes {
			f.mem = make([]byte, 0, headBytes+8+chunkBytes)
		}
		b := putUint64s(openFrame(f.mem[:0], kindChunk), s.id)
		start := len(b)
		reserved := n
		n, err = r.Read(b[start : start+n])
		s.l.t.flight.give(&s.share, int64(reserved-n))
		if n > 0 {
			if s.l.t.rate.wait(s.ctx, n) != nil {
				return s.ctx.Err()
			}
			s.use(n)
			f.mem = b[:start+n]
			sealFrame(f.mem, 0, 0)
			f.bufs, f.bytes = append(f.bufs, f.mem), len(f.mem)
			if !s.l.chunks.take(f.bytes, s.l.done, s.ctx.Done()) {
				return s.l.stopped(s.ctx)
			}
			s.l.out.add(f, true)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wait waits for credit and returns how much of it goes into the next chunk.
func (s *source) wait() (int, error) {
	for {
		s.mu.Lock()
		allowed := s.allowed
		s.mu.Unlock()
		if allowed > 0 {
			return int(min(allowed, chunkBytes)), s.ctx.Err()
		}
		select {
		case <-s.more:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
}

// allow lets so much more be sent.
func (s *source) allow(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed += n
}

func (s *source) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed -= uint64(n)
}

// end says that there is no more, behind all chunks.
func (s *source) end(err error) {
	c, text := codeOK, ""
	if err != nil {
		c, text = codeOf(plain(err))
	}
	bytes := headBytes + 9 + len(text)
	if !s.l.chunks.take(bytes, s.l.done, s.ctx.Done()) {
		return
	}
	f := s.l.t.newFrame(bytes)
	f.fill(kindEnd, bytes, nil, func(b []byte) []byte { return append(append(putUint64s(b, s.id), byte(c)), text...) })
	s.l.out.add(f, true)
}
