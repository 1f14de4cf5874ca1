package lines

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"runnel/server/engine/sockets"
)

const (
	// goBufferMin and goBufferMax bound the read buffer of a goroutine's connection, but for a frame that is
	// larger: small while it says little, larger when a read filled it.
	goBufferMin = 4 << 10
	goBufferMax = 64 << 10
)

// goTransport serves one connection with a goroutine that reads, over any net.Conn. Where the socket allows
// it, what a batch produced is written without waiting by whoever produced it; otherwise, and for what the
// socket did not take, a second goroutine lives for as long as there is something to write.
type goTransport struct {
	host  Host
	line  *Line
	net   net.Conn
	try   *sockets.Writer // nil when the connection cannot be written without waiting
	woken chan struct{}
	// writer tells that writeRest runs; guarded by the lock of the connection's outbound.
	writer bool
	closed bool // guarded likewise
}

// ReasonCloser is a connection that can tell its peer why it is closed, as WebSocket can.
type ReasonCloser interface {
	CloseFor(r Reason) error
}

// Serve runs the line on nc until it ends, from a poller if there are any and nc is plain TCP; first is written before
// anything else. It returns at once, and false when the host takes no more lines.
func (l *Line) Serve(nc net.Conn, first []byte, pollers []*Poller) bool {
	if served, ok := l.poll(nc, first, pollers); served {
		return ok
	}
	t := &goTransport{host: l.host, line: l, net: nc, try: sockets.NewWriter(nc), woken: make(chan struct{}, 1)}
	l.transport = t
	if !l.host.Register(l) {
		_ = nc.Close() // nobody was told anything yet
		return false
	}
	l.host.Go(func() {
		if len(first) > 0 {
			l.Send(first)
		}
		l.Ended(t.read())
		t.abandon()
	})
	return true
}

// read is the life of the connection. It returns why it ended.
func (t *goTransport) read() Reason {
	buf := make([]byte, goBufferMin)
	have := 0
	for {
		n, err := t.net.Read(buf[have:])
		if n > 0 {
			had := have + n
			used, need, dead := t.process(buf[:had])
			if dead {
				t.linger(buf)
				return ReasonClientClosed
			}
			have = copy(buf, buf[used:had])
			buf = resize(buf, had, have, need)
		}
		if err != nil {
			return readReason(err)
		}
	}
}

// process parses what there is, waiting out a check of credentials. dead means that the connection is ending.
func (t *goTransport) process(b []byte) (used, need int, dead bool) {
	l := t.line
	for {
		w := t.host.Borrow()
		n, err := l.user.Input(w, b[used:])
		used += n
		need = w.Need()
		w.Flush()
		p := w.Pressure()
		t.host.GiveBack(w)
		t.park(p)
		if errors.Is(err, ErrSuspended) && t.await() == nil {
			continue
		}
		return used, need, err != nil || l.Closing()
	}
}

// await waits until the credentials of a suspended connection are checked, and takes over the result.
func (t *goTransport) await() error {
	for t.line.user.Suspended() {
		<-t.woken
	}
	w := t.host.Borrow()
	defer t.host.GiveBack(w)
	err := t.line.user.Resume(w)
	w.Flush()
	return err
}

// park pauses the publisher for a moment: until the slow subscriber, if there is one, has drained, or because an
// internal one asked for it.
func (t *goTransport) park(p Pressure) {
	pause := p.Hold
	if p.Slow != nil && p.Slow != t.line {
		if patience := t.line.user.Patience(); patience > pause && p.Slow.out.Park((*parked)(t.line)) {
			pause = patience
		}
	}
	if pause == 0 {
		return
	}
	t.line.stalls.Add(1)
	t.host.Parked()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-t.woken:
	case <-timer.C:
	}
}

// linger reads and drops what a refused peer still sends, so that closing does not reset the connection
// before the peer has read why. It ends when the outbound side has shut the socket.
func (t *goTransport) linger(buf []byte) {
	_ = t.net.SetReadDeadline(time.Now().Add(ClosingTime)) // a transport without deadlines ends by shut
	for {
		if _, err := t.net.Read(buf); err != nil {
			return
		}
	}
}

// resize returns a buffer for the next read, after one that filled had bytes of buf, of which have are left: large
// enough for a frame of need bytes, larger after a read that filled it, smaller after one that needed little of it.
func resize(buf []byte, had, have, need int) []byte {
	size := len(buf)
	switch {
	case need > size:
		size = need
	case have == size || had == size && size < goBufferMax:
		size = min(2*size, max(goBufferMax, have+goBufferMin))
	case have > 0:
	case size > goBufferMax:
		size = goBufferMin
	case had < size/4:
		size = max(size/2, goBufferMin)
	}
	if size == len(buf) {
		return buf
	}
	next := make([]byte, size)
	copy(next, buf[:have])
	return next
}

func readReason(err error) Reason {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return ReasonClientClosed
	}
	return ReasonReadError
}

func (t *goTransport) Write(_ *Scratch, buffers [][]byte) (int, error) {
	if t.try == nil {
		return 0, sockets.ErrFull
	}
	return t.try.Write(buffers)
}

func (t *goTransport) Arm() {
	if t.writer {
		return
	}
	t.writer = true
	t.host.Go(t.writeRest)
}

// writeRest writes the outbound queue, waiting for the socket, until it is empty or somebody else is at it. It
// takes one buffer at a time: TLS and WebSocket make a record or a frame of each anyway, and a peer that is slow
// must be seen to make progress.
func (t *goTransport) writeRest() {
	o := &t.line.out
	var buffers [][]byte
	for {
		buffers = o.Take(buffers[:0], 1, &t.writer)
		if len(buffers) == 0 {
			return
		}
		// After an error the connection is dead, and the rest forgotten.
		err := t.writeWaiting(buffers[0])
		_, woken := o.Took(t, len(buffers[0]), len(buffers[0]))
		woken.Wake()
		if err != nil {
			t.fail(err)
		}
	}
}

// writeWaiting writes b within the write deadline, which it takes back afterwards: it would pass later and then
// fail what is written without waiting, and what TLS and WebSocket write of their own accord, such as the answer
// to a ping.
func (t *goTransport) writeWaiting(b []byte) error {
	if err := t.setDeadline(time.Now().Add(t.line.WriteDeadline())); err != nil {
		return err
	}
	if _, err := t.net.Write(b); err != nil {
		return err
	}
	return t.setDeadline(time.Time{})
}

// setDeadline sets the write deadline, unless the connection is being closed, which has a shorter one of its own.
func (t *goTransport) setDeadline(at time.Time) error {
	err := net.ErrClosed
	t.line.out.Guard(func() {
		if !t.closed {
			err = t.net.SetWriteDeadline(at)
		}
	})
	return err
}

func (t *goTransport) fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.host.Slow(t.line)
		return
	}
	t.line.End(ReasonWriteError, nil, false)
}

func (t *goTransport) Shut() {
	if h, ok := t.net.(interface{ CloseRead() error }); ok && t.try != nil {
		_ = h.CloseRead() // makes the reader return; what was written is still delivered
		if w, ok := t.net.(interface{ CloseWrite() error }); ok {
			_ = w.CloseWrite()
		}
		return
	}
	t.Close()
}

func (t *goTransport) Close() {
	if t.closed {
		return
	}
	t.closed = true
	t.host.Go(func() { // TLS and WebSocket say good-bye, which may wait
		if r, ok := t.net.(ReasonCloser); ok {
			_ = r.CloseFor(t.line.Reason())
			return
		}
		_ = t.net.Close()
	})
}

// abandon closes the connection although a writer may be at it still: its reader has gone, so nobody needs
// the rest, and the writer must not wait for its deadline.
func (t *goTransport) abandon() {
	t.line.out.Guard(t.Close)
}

func (t *goTransport) Wake() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}
