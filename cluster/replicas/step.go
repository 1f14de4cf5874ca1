package replicas

import (
	"fmt"
	"slices"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
)

// Kinds of what a stream waits for that goes to other servers, as the API names them.
const (
	kindMeta        = "meta"        // the meta group is told that all is done
	kindMembership  = "membership"  // a server becomes a member, gets a vote, or leaves
	kindCatchUp     = "catchup"     // a replica is being filled
	kindUnavailable = "unavailable" // a server cannot be reached
	kindBlocked     = "blocked"     // the replicas that would be left are no majority that is up to date
)

// Step says what a stream waits for that is led here and goes to other servers, or to more or fewer: in words for people, and as
// the API names the kind. Both are empty for other streams.
func (h *Replicas) Step(id uint64) (text, kind string) {
	r := h.replica(id)
	if r == nil {
		return "", ""
	}
	a := r.assignment()
	if a == nil || a.Desired == nil {
		return "", ""
	}
	s, ok := r.status()
	switch {
	case !ok || !s.Leads:
		return "", ""
	case r.group.Load() == nil:
		return "the stream begins to be replicated", kindMembership
	}
	view := h.cfg.Meta.View()
	return step(a, h.cfg.Self, &s, func(node string) string {
		if m := view.Member(node); m != nil {
			return m.Name
		}
		return node
	})
}

// step is Step for what a leader sees.
func step(a *state.Assignment, self string, s *group.Status, name func(node string) string) (text, kind string) {
	what, node := decide(a, self, s)
	switch what {
	case add:
		return name(node) + " becomes a member", kindMembership
	case promote:
		return name(node) + " has caught up and gets a vote", kindMembership
	case remove:
		return name(node) + " leaves", kindMembership
	case handOver:
		if node == "" {
			return "another server takes over to lead", kindMembership
		}
		return name(node) + " takes over to lead", kindMembership
	case settle:
		return "the replicas are where they should be, and the meta group is told", kindMeta
	case nothing:
	}
	for i := range s.Peers {
		switch p := &s.Peers[i]; {
		case p.Voter || !slices.Contains(a.Target(), p.Node):
		case p.Offline:
			return name(p.Node) + " cannot be reached", kindUnavailable
		default:
			return fmt.Sprintf("%s is being filled, it lacks %d entries", name(p.Node), p.Lag), kindCatchUp
		}
	}
	return "the replicas that stay are not up to date", kindBlocked
}

// lagOf corrects how many entries a replica lacks by what it is compared with: the group knows of one that has nothing only that it
// lacks all up to an index, and the indexes of a group may begin far from 0, see laterPlace.
func lagOf(commit, lag uint64) uint64 { return min(lag, commit%groupIndexes) }

// Lag is how many entries the replica of this server lacks, as far as it knows.
func Lag(s *group.Status) uint64 { return lagOf(s.Commit, s.Commit-min(s.Applied, s.Commit)) }
