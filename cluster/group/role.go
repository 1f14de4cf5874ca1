package group

import (
	"time"

	"github.com/hashicorp/raft"
)

// role is where this replica stands as a leader: what raft says, and what the host was told. Group.mu guards it.
//
// Raft's word comes from raft's own goroutines: a leader's first entry begins a term, and any other state ends it. The
// host is told by teller, one step after the other.
type role struct {
	term    uint64 // in which raft leads here; 0 if it does not
	asked   uint64 // the term whose barrier was handed to raft
	ready   bool   // the barrier of term is applied
	told    uint64 // the term of the last Lead; 0 if Follow came after it
	telling bool   // teller runs

	over chan struct{} // closed when term ends; nil if there is none
}

// end ends the term.
func (r *role) end() {
	r.term, r.ready = 0, false
	if r.over != nil {
		close(r.over)
		r.over = nil
	}
}

// observe is told by raft of changes, in raft's goroutines; it may not call raft.
func (g *Group) observe(o *raft.Observation) bool {
	switch state := o.Data.(type) {
	case raft.RaftState:
		if state != raft.Leader {
			g.lost()
		}
	case raft.LeaderObservation:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.info.leaderSince = time.Now()
	}
	return false
}

// elected is called by raft's main goroutine when the first entry of a term that this replica leads is stored, and safe here.
func (g *Group) elected(index, term uint64) {
	g.courier.forget()
	g.mu.Lock()
	if g.err == nil {
		g.role.end()
		g.role.term, g.role.over = term, make(chan struct{})
		if g.breaks(index, term) {
			g.role.asked = term // no barrier
			g.role.ready = !g.dawn.breaks.Load()
		}
	}
	g.mu.Unlock()
	// A heartbeat of a later leader may have ended it meanwhile, when lost had nothing to end yet.
	if g.raft.State() != raft.Leader {
		g.lost()
		return
	}
	g.tell()
}

// caughtUp is called when the barrier of a term is applied, and with it all that was committed before.
func (g *Group) caughtUp(term uint64) {
	g.mu.Lock()
	g.role.ready = g.role.term == term && g.err == nil
	g.mu.Unlock()
	g.tell()
}

// lost ends the leadership, if there is one: from now on no proposal is taken.
func (g *Group) lost() {
	g.mu.Lock()
	g.role.end()
	g.dawn.breaks.Store(false)
	if g.line.term != 0 {
		g.line.term, g.line.handed = 0, g.line.paused
	}
	g.mu.Unlock()
	g.tell()
}

// tell sees to it that the host is told what it does not know yet.
func (g *Group) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.role.telling && g.role.next() != nothing {
		g.role.telling = true
		g.wg.Go(g.teller)
	}
}

// step is something to do about the role.
type step int

const (
	nothing step = iota
	ask
	lead
	follow
)

// leads reports whether the host was told to lead, and still may.
func (r *role) leads() bool { return r.told != 0 && r.told == r.term }

// next is what is to be done now.
func (r *role) next() step {
	switch {
	case r.told != 0 && r.told != r.term:
		return follow
	case r.term != 0 && r.asked != r.term:
		return ask
	case r.term != 0 && r.ready && r.told == 0:
		return lead
	}
	return nothing
}

// teller does what is to be done about the role until there is nothing.
func (g *Group) teller() {
	for {
		s, term := g.step()
		switch s {
		case nothing:
			return
		case ask:
			g.mark(kindBarrier)
		case lead:
			g.logger.Debug("leads", "group", g.cfg.ID, "term", term)
			if g.cfg.Lead != nil {
				g.cfg.Lead(term)
			}
			g.pump(false)
		case follow:
			g.logger.Debug("does not lead any more", "group", g.cfg.ID)
			if g.cfg.Follow != nil {
				g.cfg.Follow()
			}
			g.abandon(ErrNotLeader)
		}
	}
}

// mark has an entry without records replicated.
func (g *Group) mark(k kind) {
	e := envelope{kind: k, group: g.cfg.ID, instance: g.instance}
	g.raft.ApplyLog(raft.Log{Data: e.append(nil)}, 0)
}

// Nudge has a leader replicate something now, so that a peer that raft has given up for a while is tried again. It does
// not wait.
func (g *Group) Nudge() { g.markSoon(kindBarrier) }

// Compare has a leader ask all replicas to look at their state at the same entry: Config.Compare is called on each. It
// does not wait, and nothing happens where nobody leads.
func (g *Group) Compare() { g.markSoon(kindCompare) }

func (g *Group) markSoon(k kind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.role.leads() && !g.line.paused && g.ctx.Err() == nil {
		g.wg.Go(func() { g.mark(k) })
	}
}

// spawn runs f in a goroutine that Close waits for. It is false once the group is closed.
func (g *Group) spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.wg.Go(f)
	return true
}

// step takes the next step to do, and marks it as done.
func (g *Group) step() (step, uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.role
	s := r.next()
	switch s {
	case nothing:
		r.telling = false
	case ask:
		r.asked = r.term
	case lead:
		r.told, g.line.term = r.term, r.term
	case follow:
		r.told = 0
	}
	return s, r.term
}
