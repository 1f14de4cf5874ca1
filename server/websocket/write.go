package websocket

import (
	"net"
	"sync"
	"sync/atomic"
)

// deflateAboveBytes: shorter messages are not compressed.
const deflateAboveBytes = 64

// writeSide sends frames. A frame that was cut (by a deadline, say) cannot be
// continued, so the first error stays.
type writeSide struct {
	mu      sync.Mutex // guards all below; held while the socket is written
	err     error
	deflate bool // set before use, never changed

	header [maxHeaderBytes]byte
	parts  [3][]byte
	bufs   net.Buffers // a view of parts that WriteTo consumes
}

// Write sends p as one binary message. It is compressed if that was agreed
// on, p has more than 64 bytes and gets shorter by it. After an error,
// timeouts included, all later calls fail as well.
func (c *Conn) Write(p []byte) (int, error) {
	first, body := byte(opBinary), p
	if c.writing.deflate && len(p) > deflateAboveBytes {
		buf := c.codec.deflate(p)
		defer c.codec.putBuffer(buf)
		if b := buf.Bytes(); len(b) < len(p) {
			first, body = opBinary|bitDeflated, b
		}
	}
	return c.writing.message(c, first, body, len(p))
}

// message sends one data frame and the pong that waits, if any. size is what
// the caller of Write counts in.
func (s *writeSide) message(c *Conn, first byte, body []byte, size int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.parts[0] = takePong(&c.pong)
	s.parts[1] = appendHeader(s.header[:0], first, len(body))
	s.parts[2] = body
	if s.err = s.flush(c); s.err != nil {
		return 0, s.err
	}
	return size, nil
}

// flush writes the three parts. A TCP socket takes them in one system call;
// others (TLS) would make a record of each, so that they are joined first.
func (s *writeSide) flush(c *Conn) error {
	defer clear(s.parts[:])
	if _, ok := c.sock.(*net.TCPConn); ok {
		s.bufs = s.parts[:]
		_, err := s.bufs.WriteTo(c.sock)
		s.bufs = nil
		return err
	}
	buf := c.codec.buffer()
	defer c.codec.putBuffer(buf)
	buf.Write(s.parts[0])
	buf.Write(s.parts[1])
	body := s.parts[2]
	joined := min(len(body), joinBytes)
	buf.Write(body[:joined])
	if _, err := c.sock.Write(buf.Bytes()); err != nil {
		return err
	}
	if joined == len(body) {
		return nil
	}
	_, err := c.sock.Write(body[joined:])
	return err
}

// control sends the pong that waits, if any, and then frame, if not nil.
func (s *writeSide) control(sock net.Conn, pong *atomic.Pointer[[]byte], frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	frame = append(takePong(pong), frame...)
	if len(frame) > 0 {
		_, s.err = sock.Write(frame)
	}
	return s.err
}

// takePong empties the slot. It is called under writeSide.mu, so that the
// pong goes out before anything that is written later.
func takePong(slot *atomic.Pointer[[]byte]) []byte {
	if frame := slot.Swap(nil); frame != nil {
		return *frame
	}
	return nil
}
