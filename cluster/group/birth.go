package group

import (
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// The place at which groups begin. There is never an entry 1: a replica without any place is thus never sent entries in the
// place of the state that it lacks.
const (
	birthIndex = 2
	birthTerm  = 1
)

// Birth is the place at which all replicas of a new group begin: the same members, all of them with a vote. In the first term the
// first of them leads, without an election: to begin here is to have given it one's vote in that term.
//
// So the first member may lead in that term without asking anybody, as long as nothing has come behind the place in its log; everybody
// else begins in that term and stands for election in later ones. That the first term has begun needs not be kept apart: its first entry
// is on the first member's disk before anybody hears of an entry. If it is lost before, it was nothing, and is done again.
func Birth(nodes []string) Place {
	var c raft.Configuration
	for _, n := range nodes {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(n), Address: raft.ServerAddress(n)})
	}
	return Place{Index: birthIndex, Term: birthTerm, Configuration: encodeConfiguration(birthIndex, c)}
}

// First returns the node that leads a group from its birth on, if a replica at this place is one of those that have just been born;
// else it is empty.
func First(p Place) string { return bornAt(p).leader }

// birth is what a replica knows that is at the place where its group began; it is empty for others.
type birth struct {
	leader  string // in the first term
	members []string
}

// bornAt returns the birth that a place is.
func bornAt(p Place) (b birth) {
	if p.Index != birthIndex || p.Term != birthTerm {
		return b
	}
	voters, _, err := Members(p.Configuration)
	if err != nil || len(voters) == 0 {
		return b
	}
	return birth{leader: voters[0], members: voters}
}

// leads reports whether a node is the one that leads from birth on.
func (b *birth) leads(node string) bool { return b.leader == node && node != "" }

// dawn is the first entry of a group, as long as its leader does not know that a majority has it. Group.mu guards it, but for breaks.
//
// Nothing was decided before that entry. So who leads from birth on has all there is once the entry is committed, and needs no
// barrier to know that.
type dawn struct {
	breaks atomic.Bool // the entry is there, and not known to be with enough others
	has    []string
	needs  int // how many have to have it
}

// breaks begins to wait for the others when the first entry of all is on the disk here. It is false if it is not that. The caller
// holds mu.
func (g *Group) breaks(index, term uint64) bool {
	born := &g.votes.born
	if index != birthIndex+1 || term != birthTerm || !born.leads(g.cfg.Self) {
		return false
	}
	g.dawn.has, g.dawn.needs = []string{g.cfg.Self}, len(born.members)/2+1
	g.dawn.breaks.Store(g.dawn.needs > 1)
	return true
}

// Has tells that a peer has answered in a term of this leader that it has all up to an index. Who sets Config.Progress calls it.
func (g *Group) Has(node string, term, index uint64) {
	d := &g.dawn
	if !d.breaks.Load() || term != birthTerm || index <= birthIndex {
		return
	}
	g.mu.Lock()
	if !slices.Contains(d.has, node) {
		d.has = append(d.has, node)
	}
	up := len(d.has) >= d.needs && d.breaks.CompareAndSwap(true, false)
	g.mu.Unlock()
	if up {
		g.caughtUp(term)
	}
}
