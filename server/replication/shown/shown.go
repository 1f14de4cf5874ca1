// Package shown is replication as monitoring shows it.
package shown

import (
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/server/jetstream/clustered"
	"runnel/server/monitor"
	"runnel/server/replication"
)

// metaGroup is the name of the meta group on the pages.
const metaGroup = "_meta_"

// RaftGroups returns the groups that this server has a part in; system is the name of the system account, in whose name they
// are run.
func RaftGroups(r *replication.Replication, system string) []monitor.RaftGroup {
	list := []monitor.RaftGroup{metaRaft(r, system)}
	for a, s := range r.All() {
		list = append(list, streamRaft(r, system, a, &s))
	}
	return list
}

// MetaCluster is the meta group as the JetStream page shows it.
func MetaCluster(r *replication.Replication) *monitor.MetaCluster {
	s := r.Meta()
	m := &monitor.MetaCluster{
		Name: r.Name(), Leader: s.Leader.Name, Peer: s.Leader.ID, Size: len(s.Replicas), Quorum: r.Quorum(), Leads: r.Leads(),
	}
	for i := range s.Replicas {
		if p := &s.Replicas[i]; p.ID != s.Leader.ID {
			m.Replicas = append(m.Replicas, clustered.ShowReplica(p))
		}
	}
	switch err := r.Err(); {
	case err != nil:
		m.Waiting = "JetStream has not established contact with a meta leader: " + err.Error()
	case r.MetaLeader() == "":
		m.Waiting = "JetStream has not established contact with a meta leader"
	}
	return m
}

// Behind are the streams that this server was given and does not have as they are.
func Behind(r *replication.Replication) []monitor.Problem {
	var list []monitor.Problem
	for a, text := range r.Behind() {
		list = append(list, monitor.Problem{Account: a.Account, Stream: a.Config.Name, Text: text, Down: true})
	}
	return list
}

// metaRaft is the meta group as monitoring shows it.
func metaRaft(r *replication.Replication, system string) monitor.RaftGroup {
	s := r.MetaStatus()
	g := monitor.RaftGroup{
		Account: system, Name: metaGroup, ID: r.Node(), State: raftState(s.Leader == r.Node(), true, nil), Size: len(s.Peers), Quorum: s.Quorum,
		Committed: s.Applied, Applied: s.Applied, LastIndex: s.Applied, Leader: s.Leader, EverHadLeader: s.Term > 0, Term: s.Term,
		SystemAccount: true, TrafficAccount: system, Peers: map[string]monitor.RaftPeer{},
	}
	for _, p := range s.Peers {
		if p.Node != r.Node() {
			g.Peers[p.Node] = raftPeer(p.Name, s.Applied, uint64(max(p.Lag, 0)), p.Active)
		}
	}
	return g
}

// streamRaft is the group of a stream as monitoring shows it. Groups are run in the system account's name, as infos say.
func streamRaft(r *replication.Replication, system string, a *state.Assignment, s *group.Status) monitor.RaftGroup {
	voters := 0
	if s.Voter {
		voters++
	}
	g := monitor.RaftGroup{
		Account: a.Account, Name: a.Group, ID: r.Node(), State: raftState(s.Leads, s.Voter, s.Failed), Size: len(a.Peers),
		Committed: s.Commit, Applied: s.Applied, CatchingUp: s.Applied < s.Commit, Leader: s.Leader, EverHadLeader: s.Term > 1,
		Term: s.Term, LastIndex: s.Last, SystemAccount: true, TrafficAccount: system, Peers: map[string]monitor.RaftPeer{},
	}
	if s.Failed != nil {
		g.Failure = s.Failed.Error()
	}
	if s.Leader != "" && !s.LeaderSince.IsZero() {
		since := s.LeaderSince.UTC()
		g.LeaderSince = &since
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Voter {
			voters++
		}
		g.Peers[p.Node] = raftPeer(r.Named(p.Node), s.Commit, p.Lag, p.Active)
	}
	g.Quorum = voters/2 + 1
	return g
}

// raftState is the role of a member in the words of the page.
func raftState(leads, votes bool, failed error) string {
	switch {
	case failed != nil:
		return "CLOSED"
	case leads:
		return "LEADER"
	case votes:
		return "FOLLOWER"
	}
	return "OBSERVER"
}

// raftPeer is another member.
func raftPeer(name string, commit, lag uint64, active time.Duration) monitor.RaftPeer {
	p := monitor.RaftPeer{Name: name, Known: true, LastIndex: commit - min(lag, commit)}
	if active > 0 {
		p.LastSeen = active.Round(time.Millisecond).String()
	}
	return p
}
