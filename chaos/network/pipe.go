package network

import (
	"net"
	"sync"
	"time"
)

// chunks is how many reads of a direction may be on their way; then the sender has to wait.
const chunks = 64

// A pipe is one connection through a proxy.
type pipe struct {
	proxy     *Proxy
	near, far net.Conn // to who dialled, and to who was dialled
	done      chan struct{}
	once      sync.Once // ends it
}

// chunk is what was read at once, and when.
type chunk struct {
	data []byte
	read time.Time
}

// run forwards in both directions until the connection ends at either side.
func (e *pipe) run() {
	var both sync.WaitGroup
	for d, way := range [2]struct{ from, to net.Conn }{Forward: {e.near, e.far}, Backward: {e.far, e.near}} {
		queue := make(chan chunk, chunks)
		both.Go(func() { e.read(way.from, queue) })
		both.Go(func() { e.write(way.to, queue, Direction(d)) })
	}
	both.Wait()
}

// end closes both sides.
func (e *pipe) end() {
	e.once.Do(func() {
		close(e.done)
		_ = e.near.Close() // the other side notices
		_ = e.far.Close()
	})
}

// reset closes both sides with what TCP says of a connection that it does not know.
func (e *pipe) reset() {
	for _, conn := range []net.Conn{e.near, e.far} {
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.SetLinger(0) // it only fails for a connection that is closed
		}
	}
	e.end()
}

// read queues what comes from one side. It closes the queue at the end, which so takes its turn behind the bytes.
func (e *pipe) read(from net.Conn, queue chan<- chunk) {
	defer close(queue)
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case queue <- chunk{buf[:n], time.Now()}:
			case <-e.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// write sends to one side what was read at the other, when the proxy lets it through.
func (e *pipe) write(to net.Conn, queue <-chan chunk, d Direction) {
	defer e.end()
	for c := range queue {
		for len(c.data) > 0 {
			n, ok := e.wait(d, len(c.data), c.read)
			if !ok {
				return
			}
			if _, err := to.Write(c.data[:n]); err != nil {
				return
			}
			c.data = c.data[n:]
		}
	}
	e.wait(d, 0, time.Now())
}

// wait returns when some of the bytes that were read at a time may go on, and how many; false when the connection ends before.
func (e *pipe) wait(d Direction, bytes int, read time.Time) (n int, ok bool) {
	for {
		n, w := e.proxy.pass(d, bytes, read)
		if w.closed {
			return 0, false
		}
		if w.pause == 0 {
			return n, true
		}
		if !e.pause(w) {
			return 0, false
		}
	}
}

// pause waits as it is told; false when the connection has ended.
func (e *pipe) pause(w wait) bool {
	var due <-chan time.Time
	if w.pause > 0 {
		timer := time.NewTimer(w.pause)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-w.changed:
	case <-e.done:
		return false
	}
	return true
}
