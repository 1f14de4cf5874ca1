package meta

import (
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// Status is the group as this server sees it.
type Status struct {
	ClusterID string
	// Leader is the node that leads, empty if that is not known.
	Leader string
	// Term and Applied are raft's.
	Term, Applied uint64
	// Voters is how many servers vote, Quorum how many of them have to agree.
	Voters, Quorum int
	// Votes is nil, or says what is not yet as it should be about who votes: this server is to get a vote and has none, or one that is
	// gone still has its vote. As long as that is so, to stop another server may be one too many.
	Votes error
	Peers []Peer
}

// Peer is a member of the group.
type Peer struct {
	*state.Member
	Voter, Online bool
	// Current says that it has what this server has applied. Only the leader knows; of itself every server does.
	Current bool
	// Lag is how many entries it lacks, Active how long ago it was heard of; -1 if this server does not know.
	Lag    int64
	Active time.Duration
	Usage  Usage
}

// Status returns how the group is doing.
func (m *Meta) Status() Status {
	view := m.View()
	s := Status{ClusterID: view.ClusterID()}
	s.Leader, _, _ = m.leader.get()
	voters := make(map[string]bool)
	if g := m.current(); g != nil {
		s.Term, s.Applied = g.raft.CurrentTerm(), g.raft.AppliedIndex()
		for _, server := range g.raft.GetConfiguration().Configuration().Servers {
			if server.Suffrage == raft.Voter {
				voters[string(server.ID)] = true
			}
		}
	}
	s.Voters, s.Quorum = len(voters), len(voters)/2+1
	connected := m.cfg.Connected()
	for member := range view.Members() {
		p := Peer{Member: member, Voter: voters[member.Node], Lag: -1, Active: -1}
		p.Online = member.Node == m.self || slices.Contains(connected, member.Node)
		if r, ok := m.freshReport(member.Node); ok && s.Leader == m.self {
			p.Lag, p.Active, p.Usage = max(0, int64(s.Applied)-int64(r.Applied)), time.Since(r.at), r.Usage
			p.Current = p.Online && p.Lag <= nearEnough
		}
		if member.Node == m.self {
			p.Current, p.Lag, p.Active = true, 0, 0
		}
		s.Peers = append(s.Peers, p)
	}
	s.Votes = unsettled(s.Peers, s.Voters, m.self)
	return s
}

// unsettled is Status.Votes; voters counts those that are no members any more, too.
func unsettled(members []Peer, voters int, self string) error {
	voting, own := 0, false
	for i := range members {
		if p := &members[i]; p.Voter {
			voting++
			own = own || p.Node == self
		}
	}
	switch {
	case voters > voting:
		return errors.New("a server that has left still counts for the majority of the meta group")
	case !own && voting < votersOf(len(members)):
		return errors.New("this server has no vote in the meta group yet")
	}
	return nil
}

// LeaderCommit is the index of the last entry that is decided while this server leads, else 0.
func (m *Meta) LeaderCommit() uint64 {
	g := m.current()
	if g == nil || g.raft.State() != raft.Leader {
		return 0
	}
	return g.raft.CommitIndex()
}

// Servers are the members as placement sees them; only the leader knows how much room they have.
func (m *Meta) Servers() []state.Server { return m.servers(m.View()) }
