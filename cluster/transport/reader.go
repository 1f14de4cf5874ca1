package transport

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

// scratchBytes is the largest body that is read into memory that the next frame overwrites.
const scratchBytes = 64 << 10

// reader reads the frames of a link.
type reader struct {
	l       *lane
	in      *bufio.Reader
	scratch []byte
}

// read reads frames and has them handled until something is wrong with one or with the link. It never waits for anything
// but the link.
func (l *lane) read() error {
	size := 64 << 10
	if l.kind == mesh.RaftHeartbeat {
		size = 16 << 10
	}
	r := &reader{l: l, in: bufio.NewReaderSize(l.link, size)}
	var first [preambleBytes]byte
	if _, err := io.ReadFull(r.in, first[:]); err != nil {
		return fmt.Errorf("read what a link begins with: %w", err)
	}
	if err := checkPreamble(first[:], l.kind); err != nil {
		return l.complain(err)
	}
	l.greeted.Store(true)
	for {
		if err := r.next(); err != nil {
			return err
		}
	}
}

// next reads one frame and handles it.
func (r *reader) next() error {
	head, err := r.in.Peek(headBytes)
	if err != nil {
		return fmt.Errorf("read a frame: %w", err)
	}
	k, n := kind(head[4]), int(binary.LittleEndian.Uint32(head))-1
	if n < 0 || k == 0 || k > kindLast || n > k.limit() {
		return r.l.complain(fmt.Errorf("a frame of kind %d and %d bytes is not allowed", k, n+1))
	}
	c := &r.l.peer.count
	c.framesIn.Add(1)
	c.bytesIn.Add(uint64(n + headBytes))
	if _, err := r.in.Discard(headBytes); err != nil {
		return err
	}
	if k == kindAppend && n > appendHeadBytes || k == kindInstall || k == kindAnswer && n > scratchBytes {
		wanted, err := r.admit(k, n)
		if err != nil {
			return err
		}
		if !wanted {
			return r.skip(n)
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r.in, body); err != nil {
			return fmt.Errorf("read a frame of %d bytes: %w", n, err)
		}
		return r.l.accept(k, body)
	}
	return r.small(k, n)
}

// small reads a frame into memory that is used again, and handles it.
func (r *reader) small(k kind, n int) error {
	body := r.scratch
	if n > cap(body) {
		body = make([]byte, n, max(n, 512))
		if cap(body) <= scratchBytes {
			r.scratch = body
		}
	}
	body = body[:n]
	if _, err := io.ReadFull(r.in, body); err != nil {
		return fmt.Errorf("read a frame of %d bytes: %w", n, err)
	}
	return r.l.accept(k, body)
}

func (r *reader) skip(n int) error {
	if _, err := r.in.Discard(n); err != nil {
		return fmt.Errorf("read a frame of %d bytes: %w", n, err)
	}
	return nil
}

// admit decides, before it costs memory, whether a large frame is wanted. Entries for a group that has too much waiting are
// refused, so that they hold up nobody else, and answers that nobody waits for any more are passed over.
func (r *reader) admit(k kind, n int) (wanted bool, err error) {
	l := r.l
	want := 16
	if k == kindAnswer {
		want = 8
	}
	if n < want {
		return false, errFrame
	}
	b, err := r.in.Peek(want)
	if err != nil {
		return false, fmt.Errorf("read a frame of %d bytes: %w", n, err)
	}
	id := binary.LittleEndian.Uint64(b)
	if k == kindAnswer {
		return l.isPending(id), nil
	}
	g := l.t.group(binary.LittleEndian.Uint64(b[8:]))
	if g == nil {
		if k == kindAppend && l.t.wanted(n) {
			return true, nil // the group may be about to begin
		}
		l.answer(id, false, nil, ErrNoGroup)
		return false, nil
	}
	if !g.in.admit(n) {
		l.peer.count.refused.Add(1)
		l.answer(id, false, nil, ErrBusy)
		return false, nil
	}
	return true, nil
}

// accept handles a frame, or says aloud why not.
func (l *lane) accept(k kind, body []byte) error {
	if err := l.handle(k, body); err != nil {
		return l.complain(err)
	}
	return nil
}

// complain logs what the peer does wrong.
func (l *lane) complain(err error) error {
	l.t.log.Warn("a raft link is closed because of what the peer sends", "peer", l.peer.node, "kind", l.kind.String(), "reason", err)
	return err
}

// handle handles a frame. Bodies of entries, snapshots and those above scratchBytes belong to it; others are valid until
// it returns.
func (l *lane) handle(k kind, body []byte) error {
	switch k {
	case kindAppend:
		return l.handleAppend(body)
	case kindHeartbeat:
		return l.handleHeartbeat(body)
	case kindVote, kindPreVote, kindTimeoutNow:
		return l.handleVote(k, body)
	case kindInstall:
		return l.handleInstall(body)
	case kindAnswer:
		return l.handleAnswer(body)
	case kindProgress:
		c := cursor{b: body}
		l.progressed(c.uint64(), time.Now())
		return c.end()
	case kindHints:
		return l.handleHints(body)
	case kindHintAnswer:
		return l.handleHintAnswer(body)
	case kindPing:
		return l.handlePing(body)
	case kindPong:
		return l.handlePong(body)
	case kindCall:
		return l.handleCall(body)
	case kindCancel:
		c := cursor{b: body}
		l.cancel(c.uint64())
		return c.end()
	}
	return l.handleStream(k, body)
}

// handleAnswer hands an answer to who waits for it.
func (l *lane) handleAnswer(body []byte) error {
	c := cursor{b: body}
	id, how := c.uint64(), code(c.uint8())
	rest := c.rest()
	if err := c.end(); err != nil {
		return err
	}
	w := l.answerTo(id)
	if w == nil {
		return nil // it came too late
	}
	if how != codeOK {
		w.answered(nil, errorOf(l.peer.node, how, rest))
	} else {
		w.answered(rest, nil)
	}
	return nil
}

// group is the group of a request, which is told if there is none.
func (l *lane) group(id, group uint64) *Group {
	g := l.t.group(group)
	if g == nil {
		l.answer(id, false, nil, ErrNoGroup)
	}
	return g
}

func (l *lane) handleAppend(body []byte) error {
	h, entries, err := readAppend(body)
	if err != nil {
		return err
	}
	r := inbound{lane: l, id: h.id, kind: kindAppend, command: h.request(entries, l.peer.header)}
	if len(entries) > 0 {
		r.bytes = len(body)
	}
	l.deliver(h.group, r)
	return nil
}

// deliver queues a request for its group, which may not be here yet.
func (l *lane) deliver(group uint64, r inbound) {
	g := l.t.group(group)
	if g == nil {
		var held bool
		if g, held = l.t.hold(group, r); !held {
			l.answer(r.id, false, nil, ErrNoGroup)
		}
		if g == nil {
			return
		}
	}
	g.noteLeader(r)
	if !g.in.push(r) {
		l.answer(r.id, false, nil, ErrBusy)
	}
}

func (l *lane) handleHeartbeat(body []byte) error {
	id, group, request, err := readRequest(kindHeartbeat, body, l.peer.header)
	if err != nil {
		return err
	}
	if g := l.group(id, group); g != nil {
		g.hear(request.(*raft.AppendEntriesRequest).Term)
		g.beat(inbound{lane: l, id: id, kind: kindHeartbeat, command: request})
	}
	return nil
}

func (l *lane) handleVote(k kind, body []byte) error {
	id, group, request, err := readRequest(k, body, l.peer.header)
	if err != nil {
		return err
	}
	r := inbound{lane: l, id: id, kind: k, command: request}
	if k != kindTimeoutNow {
		l.deliver(group, r)
	} else if g := l.group(id, group); g != nil && !g.in.push(r) {
		l.answer(id, false, nil, ErrBusy)
	}
	return nil
}

func (l *lane) handleInstall(body []byte) error {
	request, data, err := readInstall(body, l.peer.header)
	if err != nil {
		return err
	}
	c := cursor{b: body}
	id, group := c.uint64(), c.uint64()
	r := inbound{lane: l, id: id, kind: kindInstall, bytes: len(body), command: request, data: data, over: make(chan struct{})}
	if g := l.group(id, group); g != nil {
		g.hear(request.Term)
		l.t.spawn(r.reportProgress)
		g.in.push(r)
	}
	return nil
}
