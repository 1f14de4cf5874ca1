package meta

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// nearEnough is how many entries a server may lack that gets a vote: it has them before anybody needs it.
const nearEnough = 64

// changing tells whether raft's configuration has still to follow the members.
func (m *Meta) changing(g *group, view *state.View) bool {
	f := g.raft.GetConfiguration()
	if f.Error() != nil {
		return true
	}
	servers := f.Configuration().Servers
	return len(servers) != view.Size() || slices.ContainsFunc(servers, func(s raft.Server) bool { return view.Member(string(s.ID)) == nil })
}

// mendVotes takes one step towards a raft configuration that has all members and nobody else, and as many voters as there should be. Each step
// is committed before the next.
func (m *Meta) mendVotes(ctx context.Context, g *group, view *state.View) error {
	f := g.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return err
	}
	change, node := m.nextVote(view, f.Configuration(), g.raft.AppliedIndex())
	if change == nil {
		return nil
	}
	m.logger.Info("who votes in the meta group changes", "node", node)
	return await(ctx, change(g.raft, f.Index()))
}

// change is a change of raft's configuration, given the index of the last one.
type change func(r *raft.Raft, index uint64) raft.Future

// nextVote returns the next change of who votes, nil for none.
func (m *Meta) nextVote(view *state.View, c raft.Configuration, applied uint64) (change, string) {
	voters := 0
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	for member := range view.Members() {
		if !slices.ContainsFunc(c.Servers, func(s raft.Server) bool { return string(s.ID) == member.Node }) {
			return addNonvoter(member.Node), member.Node
		}
	}
	ready := m.readyToVote(view, c, applied)
	for _, s := range c.Servers {
		if view.Member(string(s.ID)) != nil {
			continue
		}
		heir := slices.IndexFunc(ready, func(n *state.Member) bool { return n.Replaces == string(s.ID) })
		switch {
		case s.Suffrage == raft.Voter && heir >= 0:
			return addVoter(ready[heir].Node), ready[heir].Node // first, so that there are never fewer voters
		case s.Suffrage == raft.Voter && m.expectsHeir(view, c, string(s.ID)):
			continue // it will have caught up soon
		}
		return removeServer(string(s.ID)), string(s.ID)
	}
	want := votersOf(view.Size())
	switch {
	case voters < want && len(ready) > 0:
		return addVoter(ready[0].Node), ready[0].Node
	case voters > want:
		node := m.superfluous(c)
		return demoteVoter(node), node
	}
	return nil, ""
}

func addNonvoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.AddNonvoter(raft.ServerID(node), raft.ServerAddress(node), index, proposeTimeout)
	}
}

func addVoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.AddVoter(raft.ServerID(node), raft.ServerAddress(node), index, proposeTimeout)
	}
}

func removeServer(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.RemoveServer(raft.ServerID(node), index, proposeTimeout)
	}
}

func demoteVoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.DemoteVoter(raft.ServerID(node), index, proposeTimeout)
	}
}

// readyToVote lists the members without a vote that have caught up and can be reached.
func (m *Meta) readyToVote(view *state.View, c raft.Configuration, applied uint64) []*state.Member {
	connected := m.cfg.Connected()
	var ready []*state.Member
	for _, s := range c.Servers {
		member := view.Member(string(s.ID))
		if s.Suffrage == raft.Voter || member == nil || member.Evacuating || !slices.Contains(connected, member.Node) {
			continue
		}
		if r, ok := m.freshReport(member.Node); ok && r.Applied+nearEnough >= applied {
			ready = append(ready, member)
		}
	}
	slices.SortFunc(ready, func(a, b *state.Member) int { return cmp.Compare(a.Node, b.Node) })
	return ready
}

// expectsHeir tells whether a member without a vote is to take the place of a node and can be reached.
func (m *Meta) expectsHeir(view *state.View, c raft.Configuration, node string) bool {
	for _, s := range c.Servers {
		member := view.Member(string(s.ID))
		if member != nil && member.Replaces == node && s.Suffrage != raft.Voter && slices.Contains(m.cfg.Connected(), member.Node) {
			return true
		}
	}
	return false
}

// superfluous returns the voter to be done without: not this server; one that cannot be reached rather than others.
func (m *Meta) superfluous(c raft.Configuration) string {
	connected := m.cfg.Connected()
	var worst string
	for _, s := range c.Servers {
		node := string(s.ID)
		if s.Suffrage != raft.Voter || node == m.self {
			continue
		}
		off, worstOff := !slices.Contains(connected, node), worst != "" && !slices.Contains(connected, worst)
		if worst == "" || off && !worstOff || off == worstOff && node > worst {
			worst = node
		}
	}
	return worst
}
