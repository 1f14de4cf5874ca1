package transporttest

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// pipeBytes is how much a direction of a link holds that was not read yet.
const pipeBytes = 256 << 10

// Why a link cannot be used any more.
var (
	errReset  = errors.New("connection reset")
	errClosed = errors.New("use of a closed link")
)

// pipe is one direction of a link: bytes on the way.
type pipe struct {
	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	packets []packet
	bytes   int
	delay   time.Duration
	frozen  bool
	end     error // what the reader gets behind the last byte; nil while it is open
	broken  error // what the reader gets at once
}

// packet is what one write has brought, from when it may be read.
type packet struct {
	at   time.Time
	data []byte
}

func newPipe() *pipe {
	p := &pipe{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// set changes how the pipe behaves.
func (p *pipe) set(change func(*pipe)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
	p.changed.Broadcast()
}

func (p *pipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		if p.end != nil || p.broken != nil {
			return n, errClosed
		}
		room := min(pipeBytes-p.bytes, len(b))
		if room == 0 {
			p.changed.Wait()
			continue
		}
		p.packets = append(p.packets, packet{time.Now().Add(p.delay), append([]byte(nil), b[:room]...)})
		p.bytes += room
		n, b = n+room, b[room:]
		if p.delay > 0 {
			time.AfterFunc(p.delay, func() { p.set(func(*pipe) {}) })
		}
		p.changed.Broadcast()
	}
	return n, nil
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.broken != nil:
			return 0, p.broken
		case p.frozen:
		case len(p.packets) > 0 && !time.Now().Before(p.packets[0].at):
			return p.take(b), nil
		case len(p.packets) == 0 && p.end != nil:
			return 0, p.end
		}
		p.changed.Wait()
	}
}

// take copies what has arrived of the first packet. The mutex must be held.
func (p *pipe) take(b []byte) int {
	first := &p.packets[0]
	n := copy(b, first.data)
	first.data = first.data[n:]
	if len(first.data) == 0 {
		p.packets = p.packets[1:]
	}
	p.bytes -= n
	p.changed.Broadcast()
	return n
}

// end is one end of a link.
type end struct {
	in, out *pipe
	once    sync.Once
	closed  func() // told once when it is closed
}

// Read implements transport.Link.
func (e *end) Read(b []byte) (int, error) { return e.in.read(b) }

// Write implements transport.Link.
func (e *end) Write(b []byte) (int, error) { return e.out.write(b) }

// WriteBuffers writes all buffers.
func (e *end) WriteBuffers(bufs *net.Buffers) (n int64, err error) {
	for len(*bufs) > 0 {
		k, err := e.out.write((*bufs)[0])
		n += int64(k)
		if err != nil {
			return n, err
		}
		*bufs = (*bufs)[1:]
	}
	return n, nil
}

// CloseWith implements transport.Link. The other side reads what was written before.
func (e *end) CloseWith(error) {
	e.once.Do(func() {
		e.out.set(func(p *pipe) { p.end = io.EOF })
		e.in.set(func(p *pipe) { p.broken = errClosed })
		e.closed()
	})
}
