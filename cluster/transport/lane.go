package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/mesh"
)

const (
	// answerTimeout is how long a peer may leave a request of raft's unanswered that it does not report progress of.
	answerTimeout = 10 * time.Second
	// appendTimeout is the same for entries, which may have to wait for one another on a slow link or disk.
	appendTimeout = 30 * time.Second
	// greetTimeout is how long a peer may take to begin. writeTimeout is how long a write may take, apart from what
	// its bytes need at slowest, in bytes a second.
	greetTimeout = 10 * time.Second
	writeTimeout = 30 * time.Second
	slowest      = 128 << 10
)

// Why the link to a peer that is pinged over another one is closed.
var (
	errMute  = errors.New("the peer does not begin to speak")
	errStuck = errors.New("the peer takes nothing of what is written")
)

// waiter waits for the answer to a request. It is called once, by the goroutine that reads the link or that ends it, with no
// lock held, and must not block. The body is valid until it returns.
type waiter interface {
	answered(body []byte, err error)
}

// request is one that has no answer yet.
type request struct {
	waiter  waiter
	group   *Group    // nil for what is not of a group
	expires time.Time // zero for one that its waiter gives up itself
}

// lane is one link to a peer, from Attach until it has ended. Two goroutines belong to it, one reads and one writes.
type lane struct {
	t    *Transport
	peer *peer
	kind mesh.Kind
	link Link
	out  *outbound
	// start is when it was attached; done is closed when it has ended.
	start   time.Time
	done    chan struct{}
	greeted atomic.Bool  // the peer has begun to speak
	writeBy atomic.Int64 // when what is being written must have been, in Unix nanoseconds; 0 if nothing is

	bulk   budget // of what waits in out's bulk
	chunks budget // of what waits in out's chunks

	mu      sync.Mutex // guards what follows; nobody is called while it is held
	ended   bool
	lastID  uint64
	pending map[uint64]request
	streams map[uint64]*stream            // that were opened from here
	sources map[uint64]*source            // that the peer has opened
	serving map[uint64]context.CancelFunc // calls and streams of the peer
}

func (t *Transport) newLane(p *peer, k mesh.Kind, link Link) *lane {
	return &lane{
		t: t, peer: p, kind: k, link: link, out: newOutbound(), start: time.Now(), done: make(chan struct{}),
		bulk: budget{limit: t.cfg.OutboundBytes}, chunks: budget{limit: waitingChunkBytes},
		pending: map[uint64]request{}, streams: map[uint64]*stream{}, sources: map[uint64]*source{}, serving: map[uint64]context.CancelFunc{},
	}
}

// run starts the goroutines of a lane. It is false if the transport is closed.
func (l *lane) run() bool {
	return l.t.spawn(func() { l.end(l.write()) }) && l.t.spawn(func() { l.end(l.read()) })
}

// write writes what is queued until that fails.
func (l *lane) write() error {
	first := preamble(l.kind)
	b := batch{bufs: net.Buffers{first[:]}}
	if err := l.writeBatch(&b, len(first)); err != nil {
		return err
	}
	for {
		select {
		case <-l.done:
			return nil
		case <-l.out.wake:
		}
		runtime.Gosched() // whoever is about to add a frame shares the write
		if !l.out.take(&b) {
			continue
		}
		if err := l.writeBatch(&b, b.gatherBufs()); err != nil {
			return err
		}
		l.written(&b)
	}
}

// buffersWriter is a link that writes many buffers in one go.
type buffersWriter interface {
	WriteBuffers(bufs *net.Buffers) (int64, error)
}

// writeBatch writes what was gathered.
func (l *lane) writeBatch(b *batch, bytes int) (err error) {
	limit := writeTimeout + time.Duration(bytes)*time.Second/slowest
	l.writeBy.Store(time.Now().Add(limit).UnixNano())
	bufs := b.bufs
	if w, ok := l.link.(buffersWriter); ok {
		_, err = w.WriteBuffers(&bufs)
	} else {
		_, err = bufs.WriteTo(l.link)
	}
	l.writeBy.Store(0)
	c := &l.peer.count
	c.writes.Add(1)
	c.framesOut.Add(b.frames)
	c.bytesOut.Add(uint64(bytes))
	return err
}

// written gives back what a batch has used.
func (l *lane) written(b *batch) {
	l.out.written(b)
	for _, f := range b.bulk {
		l.bulk.put(f.bytes)
		l.t.release(f)
	}
	for _, f := range b.chunks {
		l.chunks.put(f.bytes)
		l.t.release(f)
	}
	clear(b.bulk)
	clear(b.chunks)
}

// end ends the lane: everything that waits for the peer fails.
func (l *lane) end(reason error) {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return
	}
	l.ended = true
	pending, streams, serving := l.pending, l.streams, l.serving
	l.pending, l.streams, l.sources, l.serving = nil, nil, nil, nil
	close(l.done)
	l.mu.Unlock()

	l.link.CloseWith(reason)
	l.out.close()
	l.peer.leave(l)
	err := about(l.peer.node, ErrUnreachable)
	if reason != nil {
		err = fmt.Errorf("%w (%w)", err, reason)
	}
	for _, cancel := range serving {
		cancel()
	}
	for _, s := range streams {
		s.finish(err)
	}
	for _, r := range pending {
		r.waiter.answered(nil, err)
	}
	l.t.log.Debug("a raft link has ended", "peer", l.peer.node, "kind", l.kind.String(), "reason", reason)
}

// isOver reports whether the lane has ended.
func (l *lane) isOver() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// ask notes who waits for the answer to the request with the id that it returns.
func (l *lane) ask(r request) (id uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return 0, about(l.peer.node, ErrUnreachable)
	}
	l.lastID++
	l.pending[l.lastID] = r
	return l.lastID, nil
}

// forget takes a request back. It is false if its waiter has been called or is about to be.
func (l *lane) forget(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.pending[id]
	delete(l.pending, id)
	return ok
}

// answerTo is who waits for an answer; from now on nobody does.
func (l *lane) answerTo(id uint64) waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.pending[id]
	delete(l.pending, id)
	return r.waiter
}

// isPending reports whether somebody waits for an answer.
func (l *lane) isPending(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.pending[id]
	return ok
}

// progressed gives a request that is being worked on more time.
func (l *lane) progressed(id uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.pending[id]; ok && !r.expires.IsZero() {
		r.expires = now.Add(answerTimeout)
		l.pending[id] = r
	}
}

// fail fails the requests that which picks.
func (l *lane) fail(err error, which func(request) bool) {
	l.mu.Lock()
	var failed []waiter
	for id, r := range l.pending {
		if which(r) {
			failed = append(failed, r.waiter)
			delete(l.pending, id)
		}
	}
	l.mu.Unlock()
	for _, w := range failed {
		w.answered(nil, err)
	}
}

// expire fails what was not answered in time, and ends a lane whose peer does not read or speak.
func (l *lane) expire(now time.Time) {
	by := l.writeBy.Load()
	switch {
	case l.out.overflown():
		l.end(fmt.Errorf("the peer leaves more than %d bytes unread", waitingControlBytes))
	case by != 0 && now.UnixNano() > by:
		l.end(errStuck)
	case !l.greeted.Load() && now.Sub(l.start) > greetTimeout:
		l.end(errMute)
	}
	l.fail(about(l.peer.node, ErrTimeout), func(r request) bool { return !r.expires.IsZero() && r.expires.Before(now) })
}

// control queues a control frame.
func (l *lane) control(k kind, lazy bool, fill func([]byte) []byte) { l.out.put(k, lazy, fill) }

// answer answers a request: response is one of raft's, or nil.
func (l *lane) answer(id uint64, lazy bool, response any, err error) {
	c, text := codeOf(err)
	l.control(kindAnswer, lazy, func(b []byte) []byte {
		b = append(putUint64s(b, id), byte(c))
		if c != codeOK {
			return append(b, text...)
		}
		return putResponse(b, response)
	})
}
