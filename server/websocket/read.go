package websocket

import (
	"errors"
	"io"
)

// Read returns the next bytes of the stream. It blocks until there are some.
// After the peer's close frame and at the end of the connection it returns
// io.EOF; if the peer broke the protocol, a *FrameError. Frames are decoded
// in p itself, so that a p of a few KiB or more costs the fewest calls.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for c.readErr == nil {
		n, err := c.readOnce(p)
		if err != nil {
			c.fail(err)
			if n == 0 {
				return 0, err
			}
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, c.readErr
}

// fail notes what reading came to. A timeout of the socket is not kept: the
// state of the decoder is whole and the caller may read on.
func (c *Conn) fail(err error) {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() && c.inflater == nil {
		return
	}
	c.readErr = err
	var fault *FrameError
	if errors.As(err, &fault) {
		c.verdict.CompareAndSwap(0, uint32(fault.Status))
	}
}

// readOnce does one read of the socket or of the inflater. It may return
// neither data nor an error.
func (c *Conn) readOnce(p []byte) (int, error) {
	if c.inflater != nil {
		return c.readInflated(p)
	}
	if c.in.deflate {
		p = p[:min(len(p), deflateReadBytes)]
	}
	n, fromPending, err := c.readRaw(p)
	if err != nil {
		return 0, err
	}
	return c.decode(p[:n], fromPending)
}

// decode turns received bytes into data at the front of the same slice.
func (c *Conn) decode(p []byte, fromPending bool) (int, error) {
	w, r := 0, 0
	for r < len(p) {
		start := w
		var ev event
		var err error
		w, r, ev, err = c.in.step(p, w, r)
		if err == nil {
			err = c.countMessage(ev, int64(w-start))
		}
		switch {
		case err != nil:
		case ev == evControl:
			err = c.control()
		case ev == evDeflated:
			c.inflater = c.codec.inflater(c)
			c.unread(p[r:], fromPending)
			return w, nil
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

// countMessage applies the limit on a message that is not compressed.
func (c *Conn) countMessage(ev event, n int64) error {
	limit := c.codec.readLimitBytes
	if limit == 0 {
		return nil
	}
	if c.message += n; c.message > limit {
		return tooBig(limit)
	}
	if ev == evEnd {
		c.message = 0
	}
	return nil
}

// control acts on the control frame that has just ended.
func (c *Conn) control() error {
	switch c.in.op {
	case opPing:
		c.answerPing(c.in.control)
	case opClose:
		s, err := closeStatus(c.in.control)
		if err != nil {
			return err
		}
		c.verdict.Store(uint32(s))
		return io.EOF
	}
	c.in.control = nil // idle connections hold no buffer
	return nil
}

// readRaw reads bytes as they were received.
func (c *Conn) readRaw(p []byte) (n int, fromPending bool, err error) {
	if c.taken < len(c.pending) {
		n = copy(p, c.pending[c.taken:])
		c.taken += n
		return n, true, nil
	}
	c.pending, c.taken = nil, 0
	n, err = c.sock.Read(p)
	if n > 0 {
		err = nil // it comes again with the next read
	}
	return n, false, err
}

// unread gives back the last bytes of what readRaw returned.
func (c *Conn) unread(rest []byte, fromPending bool) {
	switch {
	case fromPending:
		c.taken -= len(rest)
	case len(rest) > 0:
		c.pending, c.taken = append([]byte(nil), rest...), 0
	}
}

// readInflated reads from the compressed message that is arriving.
func (c *Conn) readInflated(p []byte) (int, error) {
	n, done, err := c.inflater.read(p)
	if n > 0 {
		c.in.dataless = 0
	}
	if done {
		c.unread(c.inflater.rest, c.inflater.fromPending)
		c.codec.putInflater(c.inflater)
		c.inflater = nil
	}
	return n, err
}
