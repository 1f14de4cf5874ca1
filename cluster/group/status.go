package group

import (
	"time"

	"github.com/hashicorp/raft"
)

// Status is what there is to see of a replica.
type Status struct {
	// Leader is the node that leads, as far as is known here; empty if none is. LeaderSince is when that was learned.
	Leader      string
	LeaderSince time.Time
	// Leads says that this replica leads and takes proposals.
	Leads bool
	Term  uint64
	// Voter says that this replica has a vote.
	Voter bool
	// Commit and Applied are indexes of the log; Last is its end here.
	Commit, Applied, Last uint64
	// Begun is the end of the log when the group was opened, or Last if that is less. All of it may be committed: who has not applied it may lack
	// what was confirmed long ago, also while nobody has told him of a commit.
	Begun uint64
	// Peers are the other members. Their progress is known to the leader only.
	Peers []Peer
	// Failed is why this replica takes no part any more; nil if it does.
	Failed error
}

// Current reports whether what this replica has is what the group has, or nearly: it leads, or knows who does and has carried out all that it
// knows to be committed and all that it had in its log when it was opened.
func (s *Status) Current() bool {
	return s.Leads || s.Leader != "" && s.Voter && s.Applied >= max(s.Commit, s.Begun)
}

// Peer is another member of the group.
type Peer struct {
	Node  string
	Voter bool
	// Current says that it answers and has what is committed, or lacks no more than may be on its way.
	Current bool
	// Offline says that it has not answered for some time.
	Offline bool
	// Active is how long ago it was heard of; 0 if it never was.
	Active time.Duration
	// Lag is how many committed entries it lacks.
	Lag uint64
}

// Status looks at the replica; it waits for nothing.
func (g *Group) Status() Status {
	r := g.raft
	g.mu.Lock()
	s := Status{
		LeaderSince: g.info.leaderSince, Failed: g.err,
		Leads: g.role.leads(),
	}
	g.mu.Unlock()
	_, leader := r.LeaderWithID()
	s.Leader, s.Term, s.Commit, s.Last = string(leader), r.CurrentTerm(), r.CommitIndex(), r.LastIndex()
	s.Applied, s.Begun = max(g.cfg.Machine.Applied(), g.applied.Load()), min(g.begun, s.Last)
	for _, m := range r.GetConfiguration().Configuration().Servers {
		if string(m.ID) == g.cfg.Self {
			s.Voter = m.Suffrage == raft.Voter
			continue
		}
		s.Peers = append(s.Peers, g.peer(m, &s))
	}
	return s
}

// Leader is Status.Leader alone, for who asks often.
func (g *Group) Leader() string {
	_, leader := g.raft.LeaderWithID()
	return string(leader)
}

// Term is Status.Term alone.
func (g *Group) Term() uint64 { return g.raft.CurrentTerm() }

// Silence is how long ago this replica has heard of a leader, 0 if it never has.
func (g *Group) Silence() time.Duration {
	at := g.raft.LastContact()
	if at.IsZero() {
		return 0
	}
	return time.Since(at)
}

// LeaderCommit is the commit index while this replica leads, else 0.
func (g *Group) LeaderCommit() uint64 {
	if g.raft.State() != raft.Leader {
		return 0
	}
	return g.raft.CommitIndex()
}

// peer is what is known of a member.
func (g *Group) peer(m raft.Server, s *Status) Peer {
	p := Peer{Node: string(m.ID), Voter: m.Suffrage == raft.Voter}
	switch {
	case s.Leader == g.cfg.Self:
		known := g.courier.progress(p.Node)
		if !known.contact.IsZero() {
			p.Active = max(time.Since(known.contact), 1)
		}
		p.Offline = known.contact.IsZero() || p.Active > freshness
		p.Lag = s.Commit - min(known.match, s.Commit)
		p.Current = !p.Offline && p.Lag <= nearby
	case p.Node == s.Leader:
		if at := g.raft.LastContact(); !at.IsZero() {
			p.Active = max(time.Since(at), 1)
		}
		p.Current = true
	}
	return p
}
