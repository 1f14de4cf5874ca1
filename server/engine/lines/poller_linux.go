package lines

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/engine/chunks"
	"runnel/server/engine/outbound"
	"runnel/server/engine/sockets"
)

const (
	// readBytes is the read buffer of a poller, shared by all its connections.
	readBytes = 256 << 10
	// pollEvents is how many events one look at epoll takes.
	pollEvents = 128
	// readRoom: below this the poller flushes and starts its buffer anew.
	readRoom = readBytes / 4
	// lineRoom is read beside the carried part of a frame at least.
	lineRoom = 4 << 10
	// discardReads bounds how much a closing connection is read to spare its peer a reset.
	discardReads = 16
)

// Poller reads and writes plain TCP connections from one goroutine: an edge-triggered epoll set, one worker,
// one read buffer. A turn reads each connection that has something once; everything that the turn produced
// is written at its end. A poller never waits for anything but epoll.
type Poller struct {
	host   Host
	env    *outbound.Env
	w      Worker
	logger *slog.Logger
	set    *sockets.Set
	stop   atomic.Bool

	buf    []byte
	offset int              // where free space begins: what lies before may be borrowed until the next flush
	again  []*pollTransport // have more to read, to be looked at next turn
	turn   []*pollTransport // what again was when this turn began
	parked []*pollTransport
	// soonest is when the first of parked goes on, if it is not woken.
	soonest int64

	// mu guards what follows.
	mu    sync.Mutex
	conns map[int32]*pollTransport // by descriptor; nil when the poller has ended
	woken []*pollTransport
}

// pollTransport is the transport of one connection of a poller. All but poller, line and fd belong to the
// poller's goroutine.
type pollTransport struct {
	poller *Poller
	line   *Line
	fd     int32

	queued bool  // is in again
	hangup bool  // the peer has ended its side: read until the end shows
	until  int64 // parked until then, on the engine's clock; 0 when not
	listed bool  // is in the poller's parked, where it may stay when it was woken
	ended  bool
}

// NewPoller returns a poller for lines of the host, which runs when Run is called. w is its worker.
func NewPoller(h Host, env *outbound.Env, w Worker, logger *slog.Logger) (*Poller, error) {
	set, err := sockets.Open(pollEvents)
	if err != nil {
		return nil, err
	}
	return &Poller{
		host: h, env: env, w: w, logger: logger, set: set, buf: make([]byte, readBytes), conns: make(map[int32]*pollTransport),
	}, nil
}

// Stop has Run end all lines and return.
func (p *Poller) Stop() {
	p.stop.Store(true)
	p.set.Ring()
}

// Close closes the descriptors of the poller itself, once nobody is left who might wake it.
func (p *Poller) Close() error { return p.set.Close() }

// poll serves l from a poller if nc is plain TCP. The descriptor leaves the care of Go's own poller. It is not ok when
// the host takes no more lines.
func (l *Line) poll(nc net.Conn, first []byte, pollers []*Poller) (served, ok bool) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok || len(pollers) == 0 {
		return false, false
	}
	fd, err := sockets.Duplicate(tcp)
	if err != nil {
		return false, false
	}
	_ = tcp.Close() // the duplicate keeps the connection
	p := pollers[l.id%uint64(len(pollers))]
	t := &pollTransport{poller: p, line: l, fd: fd}
	l.transport = t
	if !l.host.Register(l) {
		sockets.Close(fd) // nobody was told anything yet
		return true, false
	}
	if len(first) > 0 {
		l.Send(first)
	}
	p.add(t)
	return true, true
}

// add begins to watch a connection.
func (p *Poller) add(t *pollTransport) {
	switch watched, err := p.watch(t); {
	case err != nil:
		p.logger.Error("watch connection", "cid", t.line.id, "error", err)
		p.end(t, ReasonReadError)
	case !watched:
		p.end(t, ReasonShutdown)
	}
}

// watch puts t into the epoll set, unless the poller has ended.
func (p *Poller) watch(t *pollTransport) (watched bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false, nil
	}
	if err := p.set.Add(t.fd); err != nil {
		return false, err
	}
	p.conns[t.fd] = t
	return true, nil
}

// Run serves lines until Stop.
func (p *Poller) Run() {
	for !p.stop.Load() {
		n := p.wait()
		p.env.Clock.Store(time.Now().UnixNano())
		p.offset = 0
		p.turn, p.again = p.again, p.turn[:0]
		for i := range n {
			p.event(p.set.Event(i))
		}
		for i, t := range p.turn {
			p.turn[i] = nil
			t.queued = false
			p.read(t)
		}
		p.w.Flush()
		p.park()
		p.unpark()
		p.w.Sweep()
	}
	p.endAll()
}

// wait returns the number of events.
func (p *Poller) wait() int {
	timeout := -1
	switch {
	case len(p.again) > 0:
		timeout = 0
	case len(p.parked) > 0:
		timeout = int(max(1, (p.soonest-p.env.Clock.Load())/int64(time.Millisecond)))
	}
	return p.set.Wait(timeout)
}

func (p *Poller) event(ev sockets.Event) {
	if ev.Bell {
		p.answer()
		return
	}
	p.mu.Lock()
	t := p.conns[ev.FD]
	p.mu.Unlock()
	if t == nil {
		return // ended in this turn
	}
	if ev.Writable {
		t.line.Drain(p.w.Scratch())
	}
	if ev.Hangup {
		t.hangup = true
	}
	if ev.Readable {
		p.read(t)
	}
}

// answer takes up what others woke the poller for.
func (p *Poller) answer() {
	p.set.Silence()
	p.mu.Lock()
	woken := p.woken
	p.woken = nil
	p.mu.Unlock()
	for _, t := range woken {
		t.until = 0
		if !t.ended && t.line.user.Halted() && !t.line.user.Suspended() {
			p.resume(t)
		}
		p.later(t)
	}
}

// resume goes on with a connection whose credentials were checked elsewhere, first with what it had sent.
func (p *Poller) resume(t *pollTransport) {
	l := t.line
	if err := l.user.Resume(p.w); err != nil {
		return // ended; the hang-up follows
	}
	if len(l.carry) == 0 {
		return
	}
	sent := l.carry
	l.carry = nil
	p.input(t, sent)
	p.w.Flush() // sent may be borrowed, and is not the poller's to keep
	p.env.Chunks.Put(sent)
}

// later has t read in the next turn.
func (p *Poller) later(t *pollTransport) {
	if !t.queued && !t.ended {
		t.queued = true
		p.again = append(p.again, t)
	}
}

// read reads t once and processes what came.
func (p *Poller) read(t *pollTransport) {
	l := t.line
	switch {
	case t.ended || t.until != 0:
		return // what there is to read is looked at when it is no longer parked
	case l.Closing():
		p.discard(t)
		return
	case l.user.Halted():
		return // waking reads it
	case cap(l.carry) > chunks.Large:
		p.readLarge(t)
		return
	}
	if len(p.buf)-p.offset < max(len(l.carry)+lineRoom, readRoom) {
		p.w.Flush()
		p.offset = 0
	}
	buf := p.buf[p.offset:]
	have := copy(buf, l.carry)
	n, err := sockets.Read(t.fd, buf[have:])
	if n == 0 {
		p.nothing(t, err)
		return
	}
	if l.carry != nil {
		p.env.Chunks.Put(l.carry)
		l.carry = nil
	}
	end := have + n
	p.offset += end
	p.input(t, buf[:end:end])
	if end == len(buf) || t.hangup {
		p.later(t)
	}
}

// nothing handles a read that gave no bytes.
func (p *Poller) nothing(t *pollTransport, err error) {
	switch err {
	case nil:
		p.w.Flush() // it may have closed one direction only, and wait for answers
		p.end(t, ReasonClientClosed)
	case sockets.ErrFull:
	default:
		p.end(t, ReasonReadError)
	}
}

// readLarge reads the rest of a message that is kept in memory of just its size straight to there.
func (p *Poller) readLarge(t *pollTransport) {
	l := t.line
	n, err := sockets.Read(t.fd, l.carry[len(l.carry):cap(l.carry)])
	if n == 0 {
		p.nothing(t, err)
		return
	}
	l.carry = l.carry[:len(l.carry)+n]
	if len(l.carry) == cap(l.carry) {
		whole := l.carry
		l.carry = nil
		p.input(t, whole)
		p.w.Flush()
	}
	p.later(t)
}

// input processes bytes of t and keeps what is left of them.
func (p *Poller) input(t *pollTransport, b []byte) {
	l := t.line
	used, err := l.user.Input(p.w, b)
	if hold := p.w.Pressure().Hold; hold > 0 {
		p.pause(t, hold)
	}
	if err != nil && !errors.Is(err, ErrSuspended) {
		p.later(t) // it is closing: discard what it still sends
		return
	}
	rest := b[used:]
	if len(rest) == 0 {
		return
	}
	// What was read before a check of credentials may be more than a frame, and is not read into further.
	want := len(rest)
	if err == nil {
		want = max(want, p.w.Need())
	}
	if len(rest) <= chunks.Large && want <= chunks.Large {
		l.carry = append(p.env.Chunks.Get(len(rest)), rest...)
	} else {
		l.carry = append(make([]byte, 0, want), rest...)
	}
}

// discard reads and drops what a closing connection still sends, so that closing the descriptor does not
// reset it before the peer has read why.
func (p *Poller) discard(t *pollTransport) {
	p.w.Flush()
	p.offset = 0
	for range discardReads {
		n, err := sockets.Read(t.fd, p.buf)
		if n == 0 {
			p.nothing(t, err)
			return
		}
	}
	p.later(t)
}

// park pauses the publisher of this turn for whom a target fell behind, if there is one.
func (p *Poller) park() {
	pressure := p.w.Pressure()
	p.w.Ease()
	slow, publisher := pressure.Slow, pressure.Publisher
	if slow == nil || publisher == nil || publisher == slow {
		return
	}
	t, ok := publisher.transport.(*pollTransport)
	if !ok || t.ended || t.until != 0 {
		return
	}
	if patience := publisher.user.Patience(); patience > 0 && slow.out.Park((*parked)(publisher)) {
		p.pause(t, patience)
	}
}

// pause lets t wait so long, or until it is woken.
func (p *Poller) pause(t *pollTransport, d time.Duration) {
	now := time.Now()
	t.until = now.Add(d).UnixNano()
	if len(p.parked) == 0 || t.until < p.soonest {
		p.soonest = t.until
	}
	t.line.stalls.Add(1)
	p.host.Parked()
	if !t.listed {
		t.listed = true
		p.parked = append(p.parked, t)
	}
}

// unpark lets those read again that were woken or have been parked long enough.
func (p *Poller) unpark() {
	if len(p.parked) == 0 {
		return
	}
	now := time.Now().UnixNano()
	if now < p.soonest {
		return
	}
	kept := p.parked[:0]
	p.soonest = math.MaxInt64
	for _, t := range p.parked {
		if now < t.until {
			p.soonest = min(p.soonest, t.until)
			kept = append(kept, t)
			continue
		}
		t.until, t.listed = 0, false
		p.later(t)
	}
	clear(p.parked[len(kept):])
	p.parked = kept
}

// end forgets a connection whose reader has stopped for good.
func (p *Poller) end(t *pollTransport, reason Reason) {
	p.mu.Lock()
	delete(p.conns, t.fd)
	p.mu.Unlock()
	t.ended = true
	if t.line.carry != nil {
		p.env.Chunks.Put(t.line.carry)
	}
	t.line.Ended(reason)
}

// endAll ends what is left when the engine stops.
func (p *Poller) endAll() {
	p.mu.Lock()
	left := make([]*pollTransport, 0, len(p.conns))
	for _, t := range p.conns {
		left = append(left, t)
	}
	p.conns = nil // whoever comes now must end by itself
	p.mu.Unlock()
	for _, t := range left {
		p.end(t, ReasonShutdown)
	}
}

// write offers buffers to the socket, which does not block.
func (t *pollTransport) Write(s *Scratch, buffers [][]byte) (int, error) {
	return sockets.Write(t.fd, buffers, &s.vectors)
}

// arm has nothing to do: the edge comes by itself.
func (t *pollTransport) Arm() {}

func (t *pollTransport) Shut() { sockets.Shutdown(t.fd) }

func (t *pollTransport) Close() { sockets.Close(t.fd) }

func (t *pollTransport) Wake() {
	p := t.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	// Before it is watched it is not the poller's: whoever adds it may have to end it. When it has ended, the bell may be another file.
	if p.conns[t.fd] == t {
		p.woken = append(p.woken, t)
		p.set.Ring()
	}
}
