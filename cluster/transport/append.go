package transport

import (
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// partBytes is how much of entries goes into one frame, apart from an entry that is larger.
const partBytes = 4 << 20

// request is the AppendEntries that a frame holds.
func (h *appendHead) request(entries []*raft.Log, from raft.RPCHeader) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{
		RPCHeader: from, Term: h.term, PrevLogEntry: h.prev, PrevLogTerm: h.prevTerm,
		Entries: entries, LeaderCommitIndex: h.commit,
	}
}

// appending is an AppendEntries that was sent. Raft bounds the number of entries and not their bytes, so what is too large for a
// frame goes out in several, each the continuation of the one before. It is answered when the last one is, or
// when one was not successful.
type appending struct {
	g      *Group
	node   string
	args   *raft.AppendEntriesRequest
	resp   *raft.AppendEntriesResponse
	pipe   *pipeline // nil for one that its sender waits for
	start  time.Time
	bytes  int
	commit uint64        // as it was told to the follower
	done   chan struct{} // closed when it was answered
	err    error         // valid then

	consumed bool // raft has taken it from the pipeline, whose mutex guards this

	way budget // of what is on the way

	mu    sync.Mutex // guards what follows
	left  int        // frames without an answer
	parts []int      // bytes of those that were sent
	over  bool       // answered, or given up
}

func newAppending(g *Group, node string, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) *appending {
	a := &appending{g: g, node: node, args: args, resp: resp, start: time.Now(), done: make(chan struct{}), commit: g.clamp(args.LeaderCommitIndex)}
	for _, e := range args.Entries {
		a.bytes += entryHeadBytes + len(e.Data) + len(e.Extensions)
	}
	return a
}

// Error implements raft.AppendFuture.
func (a *appending) Error() error {
	<-a.done
	return a.err
}

// Start implements raft.AppendFuture.
func (a *appending) Start() time.Time { return a.start }

// Request implements raft.AppendFuture.
func (a *appending) Request() *raft.AppendEntriesRequest { return a.args }

// Response implements raft.AppendFuture. Raft calls it once for each answer that it takes from the pipeline, which makes room
// for another one.
func (a *appending) Response() *raft.AppendEntriesResponse {
	if a.pipe != nil {
		a.pipe.consumed(a)
	}
	return a.resp
}

// parts is how many frames the entries take, and nextPart how many of them go into the next one.
func parts(entries []*raft.Log) int {
	n := 1
	for rest := entries[nextPart(entries):]; len(rest) > 0; n++ {
		rest = rest[nextPart(rest):]
	}
	return n
}

func nextPart(entries []*raft.Log) int {
	bytes := 0
	for i, e := range entries {
		if bytes += len(e.Data) + len(e.Extensions); bytes > partBytes && i > 0 {
			return i
		}
	}
	return len(entries)
}

// send queues all frames. After an error nobody hears of an answer.
func (a *appending) send(l *lane) error {
	for _, e := range a.args.Entries {
		if n := len(e.Data) + len(e.Extensions); n > entryBytes {
			return about(a.node, fmt.Errorf("raft group %d: entry %d of %d bytes: %w", a.g.id, e.Index, n, ErrTooLarge))
		}
	}
	a.left = parts(a.args.Entries)
	a.way.limit = pipelineBytes
	a.g.sending(a)
	h := appendHead{group: a.g.id, term: a.args.Term, prev: a.args.PrevLogEntry, prevTerm: a.args.PrevLogTerm, commit: a.commit}
	for rest := a.args.Entries; ; {
		n := nextPart(rest)
		if err := a.sendPart(l, h, rest[:n]); err != nil {
			return a.giveUp(err)
		}
		if n == len(rest) {
			return nil
		}
		h.prev, h.prevTerm = rest[n-1].Index, rest[n-1].Term
		rest = rest[n:]
	}
}

func (a *appending) sendPart(l *lane, h appendHead, entries []*raft.Log) error {
	bytes := headBytes + appendHeadBytes
	for _, e := range entries {
		bytes += entryHeadBytes + len(e.Data) + len(e.Extensions)
	}
	if !a.way.take(bytes, l.done, a.done) {
		return about(a.node, ErrUnreachable)
	}
	if err := a.g.reserve(l, bytes); err != nil {
		return err
	}
	a.sent(bytes)
	id, err := a.g.ask(l, a, appendTimeout)
	if err != nil {
		l.bulk.put(bytes)
		return err
	}
	h.id = id
	f := a.g.t.newFrame(bytes)
	f.fillAppend(&h, entries)
	l.out.add(f, false)
	return nil
}

func (a *appending) sent(bytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts = append(a.parts, bytes)
}

// giveUp ends it before all was sent, unless it was answered already.
func (a *appending) giveUp(err error) error {
	a.mu.Lock()
	over := a.over
	a.over = true
	a.mu.Unlock()
	if over {
		return nil
	}
	a.g.settled(a, err)
	return err
}

// answered takes the answer to one frame.
func (a *appending) answered(body []byte, err error) {
	if !a.take(body, &err) {
		return
	}
	a.err = err
	a.g.settled(a, err)
	if a.g.opts.Has != nil && err == nil && a.resp.Success {
		a.g.opts.Has(a.node, a.args.Term, a.last())
	}
	close(a.done)
	if a.pipe != nil {
		a.pipe.answered(a)
	}
}

// take reports whether the answer to one frame is the one to the whole.
func (a *appending) take(body []byte, err *error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	if *err == nil {
		*err = readResponse(body, a.resp)
	}
	a.left--
	if *err == nil { // answers come in order
		a.way.put(a.parts[0])
		a.parts = a.parts[1:]
	}
	a.over = *err != nil || !a.resp.Success || a.left == 0
	return a.over
}
