package replicas

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
)

// deed is something that a leader does to bring its group to what is assigned.
type deed int

const (
	nothing  deed = iota
	add           // a member without a vote
	promote       // it has caught up
	remove        // it is not to be a member
	handOver      // the leader is not to be a member
	settle        // all is as assigned: the meta group is told
)

// decide is the next step of a leader towards what is assigned, and whom it is about.
//
// New members come without a vote, so they do no harm while they catch up. Then each gets a vote before an old one
// leaves, so that there are never fewer voters than there should be; but one that was given up and cannot be reached
// leaves at once, since it only makes the majority larger.
func decide(a *state.Assignment, self string, s *group.Status) (deed, string) {
	target := a.Target()
	m := census(self, s)
	for _, node := range target {
		if _, ok := m[node]; !ok {
			return add, node
		}
	}
	voters := 0
	for _, p := range m {
		if p.Voter {
			voters++
		}
	}
	names := sorted(m)
	for _, node := range names {
		if p := m[node]; p.Voter && p.Offline && !a.On(node) && canLose(m, node) {
			return remove, node
		}
	}
	for _, node := range names {
		if p := m[node]; !p.Voter && p.Current && slices.Contains(target, node) {
			return promote, node
		}
	}
	waits := false
	slices.SortStableFunc(names, func(a, b string) int { return doubt(m[b], m[a]) })
	for _, node := range names {
		switch p := m[node]; {
		case slices.Contains(target, node):
			waits = waits || !p.Voter
		case !p.Voter:
			return remove, node
		case node != self && voters > len(target) && canLose(m, node):
			return remove, node
		case node != self:
			waits = true
		}
	}
	switch {
	case waits:
		return nothing, ""
	case !slices.Contains(target, self):
		return handOver, heir(a, m, target)
	case a.Desired != nil:
		return settle, ""
	}
	return nothing, ""
}

// asAssigned reports whether a group has just the members that it is to have, all of them with a vote, and is led where it should be.
func asAssigned(a *state.Assignment, self string, s *group.Status) bool {
	return a.Desired == nil && a.Preferred == self && len(s.Peers)+1 == len(a.Peers) &&
		!slices.ContainsFunc(s.Peers, func(p group.Peer) bool { return !p.Voter || !a.On(p.Node) })
}

// census are the members of a group by node, the leader among them.
func census(self string, s *group.Status) map[string]group.Peer {
	m := map[string]group.Peer{self: {Node: self, Voter: true, Current: true}}
	for _, p := range s.Peers {
		m[p.Node] = p
	}
	return m
}

func sorted(m map[string]group.Peer) []string {
	names := make([]string, 0, len(m))
	for node := range m {
		names = append(names, node)
	}
	slices.Sort(names)
	return names
}

// doubt compares how likely it is that members are dead: who is goes first, so that the rest is a majority.
func doubt(a, b group.Peer) int {
	if a.Offline != b.Offline {
		if a.Offline {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.Lag, b.Lag), cmp.Compare(a.Active, b.Active))
}

// canLose reports whether without a voter the others still have a majority that is up to date.
func canLose(m map[string]group.Peer, node string) bool {
	voters, current := 0, 0
	for _, p := range m {
		if p.Voter && p.Node != node {
			voters++
			if p.Current {
				current++
			}
		}
	}
	return current > voters/2
}

// heir is who takes over from a leader that leaves: the preferred one if it can, else any; empty for whom raft chooses.
func heir(a *state.Assignment, m map[string]group.Peer, target []string) string {
	if p := m[a.Preferred]; p.Voter && p.Current {
		return a.Preferred
	}
	for _, node := range target {
		if p := m[node]; p.Voter && p.Current {
			return node
		}
	}
	return ""
}

// deedTime bounds one step.
const deedTime = 10 * time.Second

// manage takes the steps that there are to take, until there is none or one fails.
func (r *replica) manage() {
	for {
		hot, g, a := r.hot.Load(), r.group.Load(), r.assignment()
		if g == nil || a == nil {
			return
		}
		s := g.Status()
		if !s.Leads {
			return
		}
		what, node := decide(a, r.h.cfg.Self, &s)
		if what == nothing {
			if asAssigned(a, r.h.cfg.Self, &s) {
				r.hot.CompareAndSwap(hot, 0) // there is nothing to look for until something changes
			}
			r.balance(a, g, &s)
			return
		}
		if err := r.do(g, a, what, node); err != nil {
			if !errors.Is(err, group.ErrNotLeader) && !errors.Is(err, group.ErrBehind) && !errors.Is(err, group.ErrConflict) {
				r.h.logger.Debug("a group is not as assigned", "stream", nameOf(a), "id", r.id, "error", err)
			}
			return
		}
		if what == settle {
			return // the meta group's change brings this here again
		}
	}
}

// do takes one step.
func (r *replica) do(g *group.Group, a *state.Assignment, what deed, node string) error {
	ctx, cancel := context.WithTimeout(r.h.ctx, deedTime)
	defer cancel()
	switch what {
	case add:
		return g.Add(ctx, node)
	case promote:
		if err := r.hear(ctx, g, node, true); err != nil {
			return err
		}
		if err := g.Promote(ctx, node); err != nil {
			return err
		}
		g.Compare() // what it has got must be what there is
		return nil
	case remove:
		if err := r.hear(ctx, g, node, false); err != nil {
			return err
		}
		return g.Remove(ctx, node)
	case handOver:
		return g.StepDown(ctx, node)
	case settle:
		result, err := r.h.cfg.Meta.Propose(ctx, &state.Settle{ID: a.ID, Version: a.Version})
		if err == nil {
			err = result.Err()
		}
		return err
	case nothing:
	}
	return nil
}

// How long members may take to answer, and how often is looked.
const (
	hearTime  = 2 * time.Second
	hearEvery = 10 * time.Millisecond
)

// hear makes sure that a group can go on when a node gets a vote, or loses its own: a majority of the voters of then must answer now,
// and the one that gets a vote. What was heard a while ago does not count: a change that cannot be committed stops the group.
func (r *replica) hear(ctx context.Context, g *group.Group, node string, vote bool) error {
	ctx, cancel := context.WithTimeout(ctx, hearTime)
	defer cancel()
	begin := time.Now()
	for n := 0; ; n++ {
		if n%50 == 0 {
			g.Nudge()
		}
		s, voters, alive := g.Status(), 0, 0
		ago, good := time.Since(begin), !vote
		for name, p := range census(r.h.cfg.Self, &s) {
			if p.Voter = name == node && vote || p.Voter && name != node; !p.Voter {
				continue
			}
			voters++
			if name == r.h.cfg.Self || p.Active > 0 && p.Active <= ago {
				alive++
				good = good || name == node
			}
		}
		if good && alive > voters/2 {
			return nil
		}
		select {
		case <-time.After(hearEvery):
		case <-ctx.Done():
			return group.ErrBehind
		}
	}
}

// assignment is what is wanted of the replica.
func (r *replica) assignment() *state.Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.want
}

// manageSoon has manage run, unless it does.
func (r *replica) manageSoon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.managing {
		return
	}
	r.managing = r.h.spawn(func() {
		r.manage()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.managing = false
	})
}
