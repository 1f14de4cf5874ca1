package transport

import (
	"errors"
	"time"
)

const (
	// nudgeFirst is the pause between two nudges for one follower. It doubles up to nudgeLast while they do not help.
	nudgeFirst = time.Second
	nudgeLast  = 30 * time.Second
	// hintAgain is when a hint without an answer is given again.
	hintAgain = time.Second
	// patience is how many hints in a row a follower has to refuse before it is taken to lack entries, and how many rounds
	// raft may leave it without those that it has.
	patience = 2
)

// Progress is how far a follower is known to be, as its answers told.
type Progress struct {
	Node string
	// Index is the last index that the follower has told to have in its log, to this server as the leader.
	Index uint64
	// Contact is when the follower has answered last; zero if it has not.
	Contact time.Time
	// Pending is how many requests with entries wait for its answer.
	Pending int
}

// follower is what is known of a peer that entries were sent to. The mutex of its group guards it.
type follower struct {
	index   uint64 // the last one that it is known to have
	sent    uint64 // the last one that was sent to it
	told    uint64 // the commit index that it is known to know
	contact time.Time
	pending int

	// failed says that the last request has failed and that raft may leave it at that. refused counts hints that were
	// refused, stalled rounds in which raft had more for the follower and nothing was on the way.
	failed           bool
	refused, stalled int
	unpipe           bool      // the pipeline has to be given up
	hinted           uint64    // the commit index of the last hint, whose answer may take its time
	hintDue          time.Time // no hint that says no more before
	nudge            time.Time // no nudge before
	pause            time.Duration
}

// follower is the one of the node. The mutex must be held.
func (g *Group) follower(node string) *follower {
	f := g.followers[node]
	if f == nil {
		f = &follower{}
		g.followers[node] = f
	}
	return f
}

// lead notes that raft has sent something as leader of the term.
func (g *Group) lead(term uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if term <= g.term {
		return
	}
	g.term, g.own = term, 0
	close(g.raised)
	g.raised = make(chan struct{})
	for _, f := range g.followers { // others may have led since
		f.index, f.sent, f.hinted = 0, 0, 0
	}
}

// leads reports whether raft has led in no later term, and when that may change.
func (g *Group) leads(term uint64) (raised <-chan struct{}, current bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.raised, term >= g.term
}

// clamp is how much of a commit index others may be told.
func (g *Group) clamp(commit uint64) uint64 {
	if commit > 0 && g.opts.Clamp != nil {
		return min(commit, g.opts.Clamp())
	}
	return commit
}

// sending notes that entries are on the way.
func (g *Group) sending(a *appending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(a.node)
	f.pending++
	f.sent = max(f.sent, a.last())
	if a.args.Term != g.term {
		return
	}
	for _, e := range a.args.Entries { // in order, and those of the term are the last ones
		if e.Term == g.term {
			if g.own == 0 || e.Index < g.own {
				g.own = e.Index
			}
			return
		}
	}
}

// hear notes that a leader of the term has sent something. It is called before raft gets that.
func (g *Group) hear(term uint64) {
	for {
		was := g.heard.Load()
		if term <= was || g.heard.CompareAndSwap(was, term) {
			return
		}
	}
}

// last is the last index that a follower has which answers with success.
func (a *appending) last() uint64 {
	if n := len(a.args.Entries); n > 0 {
		return a.args.Entries[n-1].Index
	}
	return a.args.PrevLogEntry
}

// settled notes how a request with entries has ended.
func (g *Group) settled(a *appending, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(a.node)
	f.pending--
	f.failed = err != nil || !a.resp.Success
	if err == nil {
		f.contact = time.Now()
	}
	if f.failed {
		return
	}
	f.refused, f.pause = 0, 0
	f.unpipe = f.unpipe && a.pipe != nil
	if a.args.Term == g.term {
		f.index = max(f.index, a.last())
	}
	f.told = max(f.told, min(a.commit, a.last()))
	if f.pending == 0 && f.told < f.index && g.opts.Commit != nil {
		g.t.hinter.want(g)
	}
}

// missed notes that raft could not send entries by a pipeline.
func (g *Group) missed(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(node)
	f.failed, f.nudge = true, time.Time{}
}

// contacted notes the answer to a heartbeat.
func (g *Group) contacted(node string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(node)
	switch {
	case err == nil:
		f.contact = time.Now()
		if f.hinted == noGroup { // it has come, and knows nothing
			f.hinted, f.hintDue = 0, time.Time{}
		}
	case errors.Is(err, ErrNoGroup): // when it comes back it knows nothing
		f.told = 0
	}
}

// installing notes that a snapshot is on the way.
func (g *Group) installing(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follower(node).pending++
}

// installed notes how that has ended.
func (g *Group) installed(node string, index uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(node)
	f.pending--
	f.failed = !ok
	if ok {
		f.index, f.told, f.contact = max(f.index, index), max(f.told, index), time.Now()
	}
}

// relinked notes that a peer has a new link, and may have been started again.
func (g *Group) relinked(node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.followers[node]; f != nil {
		f.told, f.refused, f.hinted, f.hintDue, f.nudge, f.pause = 0, 0, 0, time.Time{}, time.Time{}, 0
	}
}

// unpipes reports, once, whether raft should send to the follower without a pipeline.
func (g *Group) unpipes(node string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.follower(node)
	was := f.unpipe
	f.unpipe = false
	return was
}

// nudges are the nodes that the group should be nudged about.
//
// Raft sends to a follower when there are new entries, and then no more than MaxAppendEntries of them as long as it uses
// its pipeline; after a failure it waits for the next ones. Only without a pipeline does it go on until the follower has
// everything. So one that has fallen behind while nothing is proposed any more is nudged about, and out of the pipeline.
func (g *Group) nudges(now time.Time, up map[string]bool) []string {
	if g.opts.Nudge == nil || g.opts.Commit == nil {
		return nil
	}
	commit := g.opts.Commit()
	g.mu.Lock()
	defer g.mu.Unlock()
	if commit == 0 {
		return nil
	}
	var nodes []string
	for node, f := range g.followers {
		if f.lacks(commit, up[node]) && !now.Before(f.nudge) {
			f.unpipe = !f.failed
			f.pause = min(max(2*f.pause, nudgeFirst), nudgeLast)
			f.nudge = now.Add(f.pause)
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// lacks reports whether a follower lacks entries that raft does nothing about. It is asked once a round.
func (f *follower) lacks(commit uint64, up bool) bool {
	if !up || f.pending > 0 {
		f.stalled = 0
		return false
	}
	if commit > max(f.sent, f.index) {
		f.stalled++
	} else {
		f.stalled = 0
	}
	return f.failed || f.refused >= patience || f.stalled >= patience
}
