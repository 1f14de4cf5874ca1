package transport

import (
	"time"

	"github.com/hashicorp/raft"
)

const (
	// earlyTime is how long entries wait for a group that is not here: when one begins, its leader may be there first, and after a refusal
	// it would pause.
	earlyTime = time.Second
	// earlyVoteTime is how long requests for votes do. When several servers start, the groups of one are open before those of the
	// others, and who has no answers to its campaign tries no other for many seconds.
	earlyVoteTime = 3 * time.Second
	// earlyMost and earlyBytes are how much waits so, oneEarlyBytes how long a request may be.
	earlyMost     = 1024
	earlyBytes    = 4 << 20
	oneEarlyBytes = 64 << 10
)

// early are requests with entries, to see what a follower has, or for votes, for groups that are not here yet. The mutex of the transport guards it.
type early struct {
	waiting map[uint64][]inbound // by group, in the order in which they came
	next    map[uint64]time.Time // when those of a group are given up
	count   int
	bytes   int
}

// hold keeps a request until its group is here. It returns the group if it is here already, and false if the request is too large or too
// many wait.
func (t *Transport) hold(group uint64, r inbound) (*Group, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &t.early
	switch g := t.groups[group]; {
	case g != nil:
		return g, true
	case t.closed || !e.room(r.bytes):
		return nil, false
	}
	if e.waiting == nil {
		e.waiting, e.next = map[uint64][]inbound{}, map[uint64]time.Time{}
	}
	if e.waiting[group] == nil {
		e.next[group] = time.Now().Add(r.patience())
	}
	e.waiting[group] = append(e.waiting[group], r)
	e.count++
	e.bytes += r.bytes
	return nil, true
}

// patience is how long a request waits for its group.
func (r *inbound) patience() time.Duration {
	if r.kind == kindAppend {
		return earlyTime
	}
	return earlyVoteTime
}

// room reports whether a request of so many bytes may wait.
func (e *early) room(bytes int) bool {
	return bytes <= oneEarlyBytes && e.count < earlyMost && e.bytes+bytes <= earlyBytes
}

// wanted is room for who does not hold the mutex.
func (t *Transport) wanted(bytes int) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.early.room(bytes)
}

// take takes what waits for a group.
func (e *early) take(group uint64) []inbound {
	list := e.waiting[group]
	delete(e.waiting, group)
	delete(e.next, group)
	e.count -= len(list)
	for i := range list {
		e.bytes -= list[i].bytes
	}
	return list
}

// overdue takes what has waited long enough.
func (t *Transport) overdue(now time.Time) (list []inbound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for group, by := range t.early.next {
		if !now.Before(by) {
			list = append(list, t.early.take(group)...)
		}
	}
	return list
}

// turnAway answers what has waited for groups that have not come.
func (t *Transport) turnAway(now time.Time) {
	for _, r := range t.overdue(now) {
		r.answer(raft.RPCResponse{Error: ErrNoGroup})
	}
}

// begin queues what has come before the group, while nobody else knows it.
func (x *inbox) begin(list []inbound) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range list {
		x.g.noteLeader(r)
		x.bytes += r.bytes
		x.total.Add(int64(r.bytes))
	}
	x.queue = list
}

// noteLeader notes the term of a request of a leader.
func (g *Group) noteLeader(r inbound) {
	if request, ok := r.command.(*raft.AppendEntriesRequest); ok {
		g.hear(request.Term)
	}
}

// run has what is queued handed over.
func (x *inbox) run() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) > 0 && !x.running {
		x.running = x.g.t.spawn(x.serve)
	}
}
