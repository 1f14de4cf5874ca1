package rigtest

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A Direction is one of the two ways through a proxy.
type Direction int

const (
	// Forward is from who dialled to who was dialled.
	Forward Direction = iota
	// Backward is the other way.
	Backward
)

// A Proxy forwards connections to one address. What it does to them can be changed at any time, by several goroutines.
type Proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex // guards what follows
	state   weather
	changed chan struct{} // closed, and replaced, when the state changes
	pipes   map[*pipe]struct{}
	closed  bool

	running sync.WaitGroup
}

// weather is what a proxy does to its connections.
type weather struct {
	held  [2]bool       // by direction: bytes wait, for ever if need be
	delay time.Duration // on every byte, in both directions
}

// clear reports whether new connections may come about.
func (w weather) clear() bool { return !w.held[Forward] && !w.held[Backward] }

// NewProxy listens on a free port of the loopback address and forwards to target, a host and port.
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

// Delay has every byte arrive that much later.
func (p *Proxy) Delay(d time.Duration) {
	p.change(func(w *weather) { w.delay = d })
}

// Heal forwards again, without delay.
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

// now is the state, a channel that is closed when it changes, and whether the proxy is closed.
func (p *Proxy) now() (weather, <-chan struct{}, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.changed, p.closed
}

// accept serves whoever dials, until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(conn) })
	}
}

// serve dials the target for a connection as soon as that is possible, and forwards until it ends. Who gives up meanwhile
// is connected all the same and found to be gone then.
func (p *Proxy) serve(conn net.Conn) {
	defer conn.Close()
	for {
		w, changed, closed := p.now()
		if closed {
			return
		}
		if w.clear() {
			break
		}
		<-changed
	}
	onward, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the server is down, and whoever dialled sees that its connection ends
	}
	defer onward.Close()
	e := &pipe{proxy: p, near: conn, far: onward, done: make(chan struct{})}
	if !p.add(e) {
		return
	}
	defer p.remove(e)
	e.run()
}

func (p *Proxy) add(e *pipe) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pipes[e] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) remove(e *pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pipes, e)
}
