package websocket

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// closeTimeout is how long Close may take to send its close frame to a
	// peer that does not read.
	closeTimeout = 100 * time.Millisecond
	// deflateReadBytes limits one read of a connection with compression,
	// since what follows a compressed message in it must be kept aside.
	deflateReadBytes = 16 << 10
)

// Conn is the server's side of a WebSocket connection, as a stream of bytes.
// One goroutine at a time may call Read; all else may be called by any. The
// deadlines are those of the connection below and may be moved after they
// have passed, with two exceptions: one that cuts a frame being written
// breaks the writing side, and one that passes inside a compressed message
// breaks the reading side.
type Conn struct {
	sock  net.Conn
	codec *codec

	// Owned by the goroutine that reads.
	in       decoder
	pending  []byte // bytes received and not decoded yet are pending[taken:]
	taken    int
	message  int64     // bytes of the message that arrives, if not compressed
	inflater *inflater // only while a compressed message arrives
	readErr  error     // what Read answers from now on

	// verdict is the status that reading came to: the one to echo or the
	// one for a fault; 0 for none. It goes before what a caller of
	// CloseWithReason says.
	verdict atomic.Uint32
	// pong is the frame that answers the newest ping; nil for none. It is
	// written by who holds writing next, before anything else, so that it
	// cannot fall behind an answer to data that came after the ping.
	pong atomic.Pointer[[]byte]

	writing writeSide // has its own mutex

	mu      sync.Mutex // guards the two below; nothing is called under it
	ponging bool       // a goroutine that sends pongs is alive
	closed  bool
	pongers sync.WaitGroup
}

// newConn makes a Conn of a socket after the upgrade. early is what the
// client sent right behind its request.
func newConn(sock net.Conn, codec *codec, early []byte, compressed bool) *Conn {
	c := &Conn{sock: sock, codec: codec, pending: early}
	c.in.deflate = compressed
	c.writing.deflate = compressed
	return c
}

// Close sends a close frame with NormalClosure, or with what the reading side
// came to: the echo of the peer's own close frame, or the status of its
// fault. It does not wait for the peer's answer and closes the socket. A peer
// that does not read delays it by a tenth of a second at most.
func (c *Conn) Close() error { return c.CloseWithReason(NormalClosure) }

// CloseWithReason is Close with another status than NormalClosure.
func (c *Conn) CloseWithReason(s Status) error {
	if !c.markClosed() {
		return net.ErrClosed
	}
	if v := c.verdict.Load(); v != 0 {
		s = Status(v)
	}
	frame := appendHeader(nil, opClose, 2)
	frame = binary.BigEndian.AppendUint16(frame, uint16(s))
	// The deadline also ends a write that is under way, so the lock comes.
	_ = c.sock.SetWriteDeadline(time.Now().Add(closeTimeout))
	// Best effort: the peer may be gone, and the socket is closed anyway.
	_ = c.writing.control(c.sock, &c.pong, frame)
	err := c.sock.Close()
	c.pongers.Wait()
	return err
}

func (c *Conn) markClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.closed
	c.closed = true
	return !was
}

// LocalAddr returns the address of the socket on this side.
func (c *Conn) LocalAddr() net.Addr { return c.sock.LocalAddr() }

// RemoteAddr returns the address of the socket on the other side, which may
// be a proxy's. Request.RemoteAddr has the one to show.
func (c *Conn) RemoteAddr() net.Addr { return c.sock.RemoteAddr() }

// SetDeadline sets both deadlines. See Conn for what they may break.
func (c *Conn) SetDeadline(t time.Time) error { return c.sock.SetDeadline(t) }

// SetReadDeadline sets the time after which Read fails with a timeout.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.sock.SetReadDeadline(t) }

// SetWriteDeadline sets the time after which Write fails with a timeout.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.sock.SetWriteDeadline(t) }

// answerPing leaves a pong to be sent. The reader never writes itself: a peer
// that pings and does not read would block it. One goroutine at a time does,
// and a flood of pings only replaces the slot (RFC 6455, section 5.5.3,
// allows to answer the newest only).
func (c *Conn) answerPing(payload []byte) {
	frame := append(appendHeader(nil, opPong, len(payload)), payload...)
	c.pong.Store(&frame)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ponging {
		return
	}
	c.ponging = true
	c.pongers.Go(c.sendPongs)
}

// sendPongs writes pongs until none is waiting. An error needs no mention: it
// sticks to the writing side.
func (c *Conn) sendPongs() {
	for {
		err := c.writing.control(c.sock, &c.pong, nil)
		if c.pongsDone(err != nil) {
			return
		}
	}
}

func (c *Conn) pongsDone(failed bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !failed && !c.closed && c.pong.Load() != nil {
		return false
	}
	c.ponging = false
	return true
}
