package transport

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// groupBytes is how much of entries may wait for one group, apart from one request that may be larger.
	groupBytes = 16 << 20
	// groupRequests is how many requests may wait for one group.
	groupRequests = 256
	// progressEvery is how often a leader is told that its snapshot is being installed.
	progressEvery = 2 * time.Second
)

// inbound is a request for a group. lane is nil for one that was made here.
type inbound struct {
	lane    *lane
	id      uint64
	kind    kind
	bytes   int // of memory that it holds; 0 for those that hold next to none
	command any
	data    []byte        // of a snapshot
	hint    hint          // of kindHints
	over    chan struct{} // closed when a snapshot was answered
}

// inbox is what waits for raft's main loop. It is handed over one by one by a goroutine that there is only while something is
// waiting, so that an idle group has none.
type inbox struct {
	g     *Group
	total *atomic.Int64 // bytes in all inboxes of the transport
	limit int64         // of total

	mu      sync.Mutex // guards what follows
	queue   []inbound
	bytes   int // in queue, and under way
	running bool
}

// admit reports whether a request of so many bytes may be read. It is asked by those who read links before they push.
func (x *inbox) admit(bytes int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.bytes == 0 {
		return x.total.Load() <= x.limit
	}
	return x.bytes+bytes <= groupBytes && x.total.Load()+int64(bytes) <= x.limit && len(x.queue) < groupRequests
}

// push queues a request. It is false if too many are waiting; requests that were admitted are always taken.
func (x *inbox) push(r inbound) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.bytes == 0 && len(x.queue) >= groupRequests {
		return false
	}
	x.queue = append(x.queue, r)
	x.bytes += r.bytes
	x.total.Add(int64(r.bytes))
	if !x.running {
		x.running = x.g.t.spawn(x.serve)
	}
	return true
}

// free gives back what a request has held, before its answer makes room for others at the sender.
func (x *inbox) free(bytes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bytes -= bytes
	x.total.Add(-int64(bytes))
}

// pop is the next request.
func (x *inbox) pop() (r inbound, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		x.queue, x.running = nil, false
		return r, false
	}
	r = x.queue[0]
	x.queue[0] = inbound{}
	x.queue = x.queue[1:]
	return r, true
}

// serve hands over what is waiting.
func (x *inbox) serve() {
	answers := make(chan raft.RPCResponse, 1)
	for {
		r, ok := x.pop()
		if !ok {
			return
		}
		if r.lane != nil && r.lane.isOver() {
			x.free(r.bytes)
			continue // who has sent it has been told that it failed
		}
		answer, ok := x.ask(r, answers)
		x.free(r.bytes)
		if !ok { // raft still holds the channel
			answers = make(chan raft.RPCResponse, 1)
		}
		r.answer(answer)
	}
}

// ask hands a request to raft and waits for the answer. It is false if the group was closed before that.
func (x *inbox) ask(r inbound, answers chan raft.RPCResponse) (raft.RPCResponse, bool) {
	rpc := raft.RPC{Command: r.command, RespChan: answers}
	switch r.kind {
	case kindInstall:
		rpc.Reader = bytes.NewReader(r.data)
	case kindAppend, kindHints:
		x.g.rebase(r.command.(*raft.AppendEntriesRequest))
	}
	select {
	case x.g.consumer <- rpc:
	case <-x.g.done:
		return raft.RPCResponse{Error: ErrNoGroup}, true
	}
	select {
	case answer := <-answers:
		x.g.settle(r.command, answer)
		return answer, true
	case <-x.g.done:
		return raft.RPCResponse{Error: ErrNoGroup}, false
	}
}

// reportProgress tells the sender of a snapshot now and then that it is being worked on, also while it waits for one that is
// being installed already.
func (r *inbound) reportProgress() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.lane.control(kindProgress, false, func(b []byte) []byte { return putUint64s(b, r.id) })
		case <-r.lane.done:
			return
		case <-r.over:
			return
		}
	}
}

// answer tells who has sent the request what raft has answered.
func (r *inbound) answer(a raft.RPCResponse) {
	if r.over != nil {
		close(r.over)
	}
	switch {
	case r.lane == nil:
	case r.kind == kindHints:
		r.lane.answerHint(r.hint, a)
	default:
		r.lane.answer(r.id, false, a.Response, a.Error)
	}
}
