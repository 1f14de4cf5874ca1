package engine

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/engine/chunks"
	"runnel/server/engine/sockets"
)

const (
	// pollEvents is how many events one look at epoll takes.
	pollEvents = 128
	// readRoom: below this the poller flushes and starts its buffer anew.
	readRoom = readBytes / 4
	// lineRoom is read beside the carried part of a frame at least.
	lineRoom = 4 << 10
	// discardReads bounds how much a closing connection is read to spare its peer a reset.
	discardReads = 16
)

// poller reads and writes plain TCP connections from one goroutine: an edge-triggered epoll set, one worker,
// one read buffer. A turn reads each connection that has something once; everything that the turn produced
// is written at its end. A poller never waits for anything but epoll.
type poller struct {
	engine *Engine
	w      *worker
	set    *sockets.Set
	stop   atomic.Bool

	buf    []byte
	offset int              // where free space begins: what lies before may be borrowed until the next flush
	again  []*pollTransport // have more to read, to be looked at next turn
	turn   []*pollTransport // what again was when this turn began
	parked []*pollTransport

	// mu guards what follows.
	mu    sync.Mutex
	conns map[int32]*pollTransport // by descriptor; nil when the poller has ended
	woken []*pollTransport
}

// pollTransport is the transport of one connection of a poller. All but poller, line and fd belong to the
// poller's goroutine.
type pollTransport struct {
	poller *poller
	line   *line
	fd     int32

	queued bool  // is in again
	hangup bool  // the peer has ended its side: read until the end shows
	until  int64 // parked until then, on the engine's clock; 0 when not
	listed bool  // is in the poller's parked, where it may stay for a turn longer
	ended  bool
}

func (e *Engine) startPollers(n int) error {
	for range n {
		p, err := newPoller(e)
		if err != nil {
			return fmt.Errorf("start epoll poller: %w", err)
		}
		e.pollers = append(e.pollers, p)
		e.running.Go(p.run)
	}
	return nil
}

func (e *Engine) stopPollers() {
	for _, p := range e.pollers {
		p.stop.Store(true)
		p.set.Ring()
	}
}

// closePollers closes the descriptors, once nobody is left who might ring.
func (e *Engine) closePollers() {
	for _, p := range e.pollers {
		if err := p.set.Close(); err != nil {
			e.logger.Error("close epoll poller", "error", err)
		}
	}
	e.pollers = nil
}

func newPoller(e *Engine) (*poller, error) {
	set, err := sockets.Open(pollEvents)
	if err != nil {
		return nil, err
	}
	return &poller{
		engine: e, w: e.makeWorker(pollerCache), set: set, buf: make([]byte, readBytes), conns: make(map[int32]*pollTransport),
	}, nil
}

// poll serves l from a poller if nc is plain TCP. The descriptor leaves the care of Go's own poller. It is not ok when
// the server is going down.
func (e *Engine) poll(l *line, nc net.Conn, first []byte) (served, ok bool) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok || len(e.pollers) == 0 {
		return false, false
	}
	fd, err := sockets.Duplicate(tcp)
	if err != nil {
		return false, false
	}
	_ = tcp.Close() // the duplicate keeps the connection
	p := e.pollers[l.id%uint64(len(e.pollers))]
	t := &pollTransport{poller: p, line: l, fd: fd}
	l.transport = t
	if !e.register(l) {
		sockets.Close(fd) // the server is going down
		return true, false
	}
	if len(first) > 0 {
		l.Send(first)
	}
	p.add(t)
	return true, true
}

// add begins to watch a connection.
func (p *poller) add(t *pollTransport) {
	switch watched, err := p.watch(t); {
	case err != nil:
		p.engine.logger.Error("watch connection", "cid", t.line.id, "error", err)
		p.end(t, ReasonReadError)
	case !watched:
		p.end(t, ReasonShutdown)
	}
}

// watch puts t into the epoll set, unless the poller has ended.
func (p *poller) watch(t *pollTransport) (watched bool, err error) {
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

func (p *poller) run() {
	for !p.stop.Load() {
		n := p.wait()
		p.engine.env.Clock.Store(time.Now().UnixNano())
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
		p.w.flush()
		p.park()
		p.unpark()
		p.w.maybeSweep()
	}
	p.endAll()
}

// wait returns the number of events.
func (p *poller) wait() int {
	timeout := -1
	switch {
	case len(p.again) > 0:
		timeout = 0
	case len(p.parked) > 0:
		timeout = 1
	}
	return p.set.Wait(timeout)
}

func (p *poller) event(ev sockets.Event) {
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
		p.w.drain(t.line)
	}
	if ev.Hangup {
		t.hangup = true
	}
	if ev.Readable {
		p.read(t)
	}
}

// answer takes up what others woke the poller for.
func (p *poller) answer() {
	p.set.Silence()
	p.mu.Lock()
	woken := p.woken
	p.woken = nil
	p.mu.Unlock()
	for _, t := range woken {
		t.until = 0
		if !t.ended && t.line.user.halted() && !t.line.user.suspended() {
			p.resume(t)
		}
		p.later(t)
	}
}

// resume goes on with a connection whose credentials were checked elsewhere, first with what it had sent.
func (p *poller) resume(t *pollTransport) {
	l := t.line
	if err := l.user.resume(p.w); err != nil {
		return // ended; the hang-up follows
	}
	if len(l.carry) == 0 {
		return
	}
	sent := l.carry
	l.carry = nil
	p.input(t, sent)
	p.w.flush() // sent may be borrowed, and is not the poller's to keep
	p.engine.env.Chunks.Put(sent)
}

// later has t read in the next turn.
func (p *poller) later(t *pollTransport) {
	if !t.queued && !t.ended {
		t.queued = true
		p.again = append(p.again, t)
	}
}

// read reads t once and processes what came.
func (p *poller) read(t *pollTransport) {
	l := t.line
	switch {
	case t.ended || t.until != 0:
		return // what there is to read is looked at when it is no longer parked
	case l.isClosing():
		p.discard(t)
		return
	case l.user.halted():
		return // waking reads it
	case cap(l.carry) > chunks.Large:
		p.readLarge(t)
		return
	}
	if len(p.buf)-p.offset < max(len(l.carry)+lineRoom, readRoom) {
		p.w.flush()
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
		p.engine.env.Chunks.Put(l.carry)
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
func (p *poller) nothing(t *pollTransport, err error) {
	switch err {
	case nil:
		p.w.flush() // it may have closed one direction only, and wait for answers
		p.end(t, ReasonClientClosed)
	case sockets.ErrFull:
	default:
		p.end(t, ReasonReadError)
	}
}

// readLarge reads the rest of a message that is kept in memory of just its size straight to there.
func (p *poller) readLarge(t *pollTransport) {
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
		p.w.flush()
	}
	p.later(t)
}

// input processes bytes of t and keeps what is left of them.
func (p *poller) input(t *pollTransport, b []byte) {
	l := t.line
	used, err := l.user.input(p.w, b)
	if p.w.pressed && l.user.parks() && !p.engine.settings.Load().NoStall {
		p.pause(t)
	}
	if err != nil && !errors.Is(err, errSuspended) {
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
		want = max(want, p.w.need)
	}
	if len(rest) <= chunks.Large && want <= chunks.Large {
		l.carry = append(p.engine.env.Chunks.Get(len(rest)), rest...)
	} else {
		l.carry = append(make([]byte, 0, want), rest...)
	}
}

// discard reads and drops what a closing connection still sends, so that closing the descriptor does not
// reset it before the peer has read why.
func (p *poller) discard(t *pollTransport) {
	p.w.flush()
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
func (p *poller) park() {
	slow, publisher := p.w.slow, p.w.pressing
	p.w.slow, p.w.pressing = nil, nil
	if slow == nil || publisher == nil || publisher == slow || !publisher.user.parks() {
		return
	}
	t, ok := publisher.transport.(*pollTransport)
	if !ok || t.ended || t.until != 0 {
		return
	}
	if p.engine.settings.Load().NoStall || !slow.out.Park((*parkedLine)(publisher)) {
		return
	}
	p.pause(t)
}

// pause lets t wait for parkTime, or until it is woken.
func (p *poller) pause(t *pollTransport) {
	t.until = time.Now().Add(parkTime).UnixNano()
	t.line.stalls.Add(1)
	p.engine.stalled.Add(1)
	if !t.listed {
		t.listed = true
		p.parked = append(p.parked, t)
	}
}

// unpark lets those read again that were woken or have been parked long enough.
func (p *poller) unpark() {
	if len(p.parked) == 0 {
		return
	}
	now := time.Now().UnixNano()
	kept := p.parked[:0]
	for _, t := range p.parked {
		if now < t.until {
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
func (p *poller) end(t *pollTransport, reason Reason) {
	p.mu.Lock()
	delete(p.conns, t.fd)
	p.mu.Unlock()
	t.ended = true
	if t.line.carry != nil {
		p.engine.env.Chunks.Put(t.line.carry)
	}
	t.line.ended(reason)
}

// endAll ends what is left when the engine stops.
func (p *poller) endAll() {
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
func (t *pollTransport) write(w *worker, buffers [][]byte) (int, error) {
	return sockets.Write(t.fd, buffers, &w.vectors)
}

// arm has nothing to do: the edge comes by itself.
func (t *pollTransport) Arm() {}

func (t *pollTransport) Shut() { sockets.Shutdown(t.fd) }

func (t *pollTransport) Close() { sockets.Close(t.fd) }

func (t *pollTransport) wake() {
	p := t.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns != nil { // else the bell may be another file by now
		p.woken = append(p.woken, t)
		p.set.Ring()
	}
}
