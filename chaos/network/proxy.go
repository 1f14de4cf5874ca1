package network

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// again is the pause after a connection that could not be accepted, for want of file descriptors say.
const again = 10 * time.Millisecond

// A Direction is one of the two ways through a proxy.
type Direction int

const (
	// Forward is from who dialled to who was dialled.
	Forward Direction = iota
	// Backward is the other way.
	Backward
)

// String is the name of the direction.
func (d Direction) String() string {
	if d == Forward {
		return "forward"
	}
	return "backward"
}

// A Proxy forwards connections to one address. What it does to them can be changed at any time, by several goroutines.
type Proxy struct {
	listener net.Listener

	mu      sync.Mutex // guards what follows
	target  string
	state   weather
	changed chan struct{} // closed, and replaced, when the state changes
	pipes   map[*pipe]struct{}
	closed  bool

	running sync.WaitGroup
}

// NewProxy listens on a free port of the loopback address and forwards to target, a host and port. It must be closed.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a proxy to %s: %w", target, err)
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}), pipes: make(map[*pipe]struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Hold stops one direction: bytes, and the ends of connections, do not arrive any more, and nobody is told. Nobody gets
// a new connection either, since that takes both directions. What is held arrives after [Proxy.Heal].
func (p *Proxy) Hold(d Direction) {
	p.change(func(w *weather) { w.held[d] = true })
}

// Delay has every byte arrive that much later, in both directions. Zero ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.change(func(w *weather) { w.delay = d })
}

// Throttle lets so many bytes a second through, in each direction, whatever number of connections shares them. Zero ends it.
func (p *Proxy) Throttle(bytesPerSecond int) {
	p.change(func(w *weather) { w.rate = max(0, bytesPerSecond) })
}

// Heal forwards again, at once and all of it.
func (p *Proxy) Heal() {
	p.change(func(w *weather) { *w = weather{} })
}

// Reset breaks the connections that there are, as if a machine on the way had forgotten them. New ones come about.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.pipes {
		e.reset()
	}
}

// Retarget forwards to another address from now on, and breaks the connections to the one before.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for e := range p.pipes {
		e.reset()
	}
}

// Connections counts those that are forwarded.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pipes)
}

// Close breaks all connections and stops listening. It may be called twice, and returns when nothing runs any more.
func (p *Proxy) Close() {
	p.stop()
	p.running.Wait()
}

func (p *Proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	_ = p.listener.Close() // there is nobody to tell
	for e := range p.pipes {
		e.reset()
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// change applies f to the state and wakes whoever waits for that.
func (p *Proxy) change(f func(*weather)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.state)
	close(p.changed)
	p.changed = make(chan struct{})
}

// pass asks how many of some bytes may go on now that were read at a time. When none may, w says what to wait for.
func (p *Proxy) pass(d Direction, bytes int, read time.Time) (n int, w wait) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.changed, w.closed = p.changed, p.closed
	n, w.pause = p.state.pass(d, bytes, read, time.Now())
	return n, w
}

// wait is what somebody waits for whose bytes may not go on.
type wait struct {
	changed <-chan struct{} // closed when the state of the proxy is another one
	closed  bool            // the proxy is: nothing goes on any more
	pause   time.Duration   // after which the next bytes may; never if that is negative
}

// accept serves whoever dials, until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // who dials waits in the queue of the listener
			time.Sleep(again)
		default:
			p.running.Go(func() { p.serve(conn) })
		}
	}
}

// serve dials the target for a connection as soon as that is possible, and forwards until it ends. Who gives up meanwhile
// is connected all the same and found to be gone then.
func (p *Proxy) serve(conn net.Conn) {
	defer conn.Close()
	target, ok := p.open()
	if !ok {
		return
	}
	onward, err := net.Dial("tcp", target)
	if err != nil {
		return // the server is down, and whoever dialled sees that its connection ends
	}
	defer onward.Close()
	e := &pipe{proxy: p, near: conn, far: onward, done: make(chan struct{})}
	if !p.add(e, target) {
		return
	}
	defer p.remove(e)
	e.run()
}

// open waits until connections can come about, and returns where to; false when the proxy is closed before.
func (p *Proxy) open() (target string, ok bool) {
	for {
		target, changed, closed, clear := p.now()
		if closed || clear {
			return target, !closed
		}
		<-changed
	}
}

// now is the target, a channel that is closed when the state changes, whether the proxy is closed, and whether new connections
// may come about.
func (p *Proxy) now() (target string, changed <-chan struct{}, closed, clear bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target, p.changed, p.closed, p.state.clear()
}

// add takes a connection in, unless there is nothing to connect to at its target any more.
func (p *Proxy) add(e *pipe, target string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.target != target {
		return false
	}
	p.pipes[e] = struct{}{}
	return true
}

func (p *Proxy) remove(e *pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pipes, e)
}
