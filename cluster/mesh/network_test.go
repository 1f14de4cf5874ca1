package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// network is a network in memory that works in a synctest bubble. Hosts have a name for an address and any port.
type network struct {
	mu        sync.Mutex // guards what follows and is never held while a pipe's is taken
	listeners map[string]*listener
	conns     map[*end]bool // the dialling ends
	cut       map[[2]string]bool
	dials     int
	delay     time.Duration // of every byte, one way
}

func newNetwork() *network {
	return &network{listeners: map[string]*listener{}, conns: map[*end]bool{}, cut: map[[2]string]bool{}}
}

// addr is a host:port of the network.
type addr string

func (addr) Network() string  { return "mem" }
func (a addr) String() string { return string(a) }

func (a addr) host() string {
	h, _, _ := net.SplitHostPort(string(a))
	return h
}

// listener accepts connections of the network.
type listener struct {
	n      *network
	at     addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *network) listen(at string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{n: n, at: addr(at), conns: make(chan net.Conn, 64), closed: make(chan struct{})}
	n.listeners[at] = l
	return l
}

func (l *listener) Addr() net.Addr { return l.at }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.n.mu.Lock()
		defer l.n.mu.Unlock()
		if l.n.listeners[string(l.at)] == l {
			delete(l.n.listeners, string(l.at))
		}
	})
	return nil
}

// pair makes both ends of a connection.
func (n *network) pair(from, to addr) (near, far *end) {
	up, down := newPipe(n.delay), newPipe(n.delay)
	near = &end{in: down, out: up, local: from, remote: to, n: n}
	far = &end{in: up, out: down, local: to, remote: from, n: n}
	near.peer, far.peer = far, near
	return near, far
}

// dialer dials for one host.
func (n *network) dialer(host string) func(context.Context, string) (net.Conn, error) {
	return func(_ context.Context, to string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.dials++
		l := n.listeners[to]
		if l == nil || n.cut[hostPair(host, addr(to).host())] {
			return nil, fmt.Errorf("%s: %w", to, errors.New("connection refused"))
		}
		near, far := n.pair(addr(fmt.Sprintf("%s:%d", host, 10_000+n.dials)), addr(to))
		select {
		case l.conns <- far:
		default:
			return nil, errors.New("backlog full")
		}
		n.conns[near] = true
		return near, nil
	}
}

// dialled is how often somebody has dialled.
func (n *network) dialled() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

func hostPair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// between lists the connections of two hosts, or of one and any other.
func (n *network) between(a, b string) []*end {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []*end
	for c := range n.conns {
		l, r := c.local.host(), c.remote.host()
		if l == a && (b == "" || r == b) || r == a && (b == "" || l == b) {
			list = append(list, c)
		}
	}
	return list
}

// split cuts the connections of two hosts and lets them have no new ones until heal.
func (n *network) split(a, b string) {
	n.mu.Lock()
	n.cut[hostPair(a, b)] = true
	n.mu.Unlock()
	for _, c := range n.between(a, b) {
		c.reset()
	}
}

// heal undoes all splits. Connections that are frozen stay so.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
}

// cutOne resets one connection, by chance.
func (n *network) cutOne(r *rand.Rand, a, b string) {
	if list := n.between(a, b); len(list) > 0 {
		list[r.IntN(len(list))].reset()
	}
}

// freeze lets nothing arrive any more on the connections that two hosts have now.
func (n *network) freeze(a, b string) {
	for _, c := range n.between(a, b) {
		c.in.freeze()
		c.out.freeze()
	}
}

// lose breaks the connections of two hosts at the ends of a, and b hears nothing of it. With one set it is that
// one alone.
func (n *network) lose(a, b string, one func(*end) bool) {
	err := errors.New("connection reset")
	for _, c := range n.between(a, b) {
		if c.local.host() != a {
			c = c.peer
		}
		if one != nil && !one(c) {
			continue
		}
		c.in.freeze()
		c.out.freeze()
		c.in.drop(err)
		c.out.finish(err)
	}
}

// slow changes the delay on the connections that two hosts have now.
func (n *network) slow(a, b string, oneWay time.Duration) {
	for _, c := range n.between(a, b) {
		for _, p := range []*pipe{c.in, c.out} {
			p.mu.Lock()
			p.delay = oneWay
			p.mu.Unlock()
		}
	}
}

// end is one end of a connection.
type end struct {
	in, out       *pipe
	local, remote addr
	n             *network
	peer          *end
}

func (c *end) Read(p []byte) (int, error)         { return c.in.read(p) }
func (c *end) Write(p []byte) (int, error)        { return c.out.write(p) }
func (c *end) LocalAddr() net.Addr                { return c.local }
func (c *end) RemoteAddr() net.Addr               { return c.remote }
func (c *end) SetReadDeadline(t time.Time) error  { return c.in.readBy.set(c.in, t) }
func (c *end) SetWriteDeadline(t time.Time) error { return c.out.writeBy.set(c.out, t) }

func (c *end) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite ends what the other side reads.
func (c *end) CloseWrite() error {
	c.out.finish(io.EOF)
	return nil
}

// Close lets the other side read what was written, and takes nothing more.
func (c *end) Close() error {
	c.out.finish(io.EOF)
	c.in.drop(net.ErrClosed)
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	delete(c.n.conns, c)
	delete(c.n.conns, c.peer)
	return nil
}

// reset breaks the connection at both ends, with what is on the way.
func (c *end) reset() {
	err := errors.New("connection reset")
	for _, p := range []*pipe{c.in, c.out} {
		p.finish(err)
		p.drop(err)
	}
}

// pipe is one direction: a bounded buffer.
type pipe struct {
	mu      sync.Mutex
	cond    *sync.Cond
	buf     []byte
	ready   []time.Time // when each chunk of buf may be read
	sizes   []int
	delay   time.Duration
	frozen  bool
	end     error // what a reader gets behind the last byte
	broken  error // what a writer gets
	closed  error // what a reader gets now
	readBy  deadline
	writeBy deadline
}

const pipeBytes = 32 << 10

func newPipe(delay time.Duration) *pipe {
	p := &pipe{delay: delay}
	p.cond = sync.NewCond(&p.mu)
	return p
}

// deadline wakes those who wait when it has passed.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(p *pipe, t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), p.wake)
	}
	p.cond.Broadcast()
	return nil
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

// wake makes those who wait look again. It takes the mutex, so that nobody is between looking and waiting.
func (p *pipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cond.Broadcast()
}

// readable is how many bytes have arrived.
func (p *pipe) readable() int {
	if p.frozen {
		return 0
	}
	n := 0
	for i, at := range p.ready {
		if time.Now().Before(at) {
			break
		}
		n += p.sizes[i]
	}
	return n
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch n := p.readable(); {
		case p.closed != nil:
			return 0, p.closed
		case p.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case n > 0:
			n = copy(b, p.buf[:n])
			p.take(n)
			p.cond.Broadcast()
			return n, nil
		case p.end != nil && len(p.buf) == 0 && !p.frozen:
			return 0, p.end
		}
		p.cond.Wait()
	}
}

func (p *pipe) take(n int) {
	p.buf = p.buf[n:]
	for n > 0 {
		k := min(n, p.sizes[0])
		p.sizes[0] -= k
		n -= k
		if p.sizes[0] == 0 {
			p.sizes, p.ready = p.sizes[1:], p.ready[1:]
		}
	}
}

func (p *pipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.broken != nil:
			return n, p.broken
		case p.writeBy.passed():
			return n, os.ErrDeadlineExceeded
		case len(b) == 0:
			return n, nil
		}
		if k := min(len(b), pipeBytes-len(p.buf)); k > 0 {
			p.buf = append(p.buf, b[:k]...)
			b, n = b[k:], n+k
			p.ready, p.sizes = append(p.ready, time.Now().Add(p.delay)), append(p.sizes, k)
			if p.delay > 0 {
				time.AfterFunc(p.delay, p.wake)
			}
			p.cond.Broadcast()
			continue
		}
		p.cond.Wait()
	}
}

// finish ends the writing side; what was written can be read, and then err.
func (p *pipe) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		p.end = err
	}
	if p.broken == nil {
		p.broken = net.ErrClosed
	}
	p.cond.Broadcast()
}

// drop ends the reading side of a pipe with err and makes further writes fail.
func (p *pipe) drop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil && !p.frozen {
		p.broken = errors.New("broken pipe")
	}
	p.closed = err
	p.cond.Broadcast()
}

func (p *pipe) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}
