package group

import (
	"time"

	"github.com/hashicorp/raft"
)

// Orphans are entries that a leader has stored and that were not committed when its leadership ended. The next leader has them or
// has not, and the replica learns which: they are applied before the first entry of a later term, or never. So their proposals
// are answered as soon as there is a leader again, and with what became of them.

// orphanTime is how long an orphan waits for a leader whom this replica hears: longer than an election and its pauses take. Then nobody knows.
const orphanTime = 4 * time.Second

// stored notes which batches raft has stored as its leader, and in which term. What it has not stored yet may be so in a later
// leadership of this replica, so that nobody can say what becomes of it.
func (g *Group) stored(logs []*raft.Log) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range logs {
		if l.Type != raft.LogCommand {
			continue
		}
		e, _, err := decodeEnvelope(l.Data)
		if err != nil || e.instance != g.instance {
			continue // its applying says so
		}
		if i := indexOf(g.line.sent, e.number); i >= 0 && e.kind == kindRecords {
			g.line.sent[i].term = l.Term
		}
	}
}

// adopt takes the proposals of an orphan whose entry is committed.
func (l *line) adopt(number uint64) []Proposal {
	i := indexOf(l.orphans, number)
	if i < 0 {
		return nil
	}
	proposals := l.orphans[i].proposals
	l.orphans = append(l.orphans[:i:i], l.orphans[i+1:]...)
	return proposals
}

// part takes those out of the orphans of which is decided what becomes of them. All says that nobody waits any longer.
func (l *line) part(all bool) (unknown, dead []batch) {
	var left []batch
	for _, b := range l.orphans {
		switch {
		case all, b.term == 0:
			unknown = append(unknown, b)
		case b.term < l.seen:
			dead = append(dead, b)
		default:
			left = append(left, b)
		}
	}
	l.orphans = left
	return unknown, dead
}

// outlived notes that an entry of a term is applied: what was stored in earlier ones and was not applied before never will be.
func (g *Group) outlived(term uint64) {
	g.mu.Lock()
	g.line.seen = term
	unknown, dead := g.line.part(false)
	g.mu.Unlock()
	fail(unknown, ErrLeadershipLost)
	fail(dead, ErrNotLeader)
}

// forsake waits for orphans no longer.
func (g *Group) forsake() {
	g.mu.Lock()
	unknown, _ := g.line.part(true)
	g.mu.Unlock()
	fail(unknown, ErrLeadershipLost)
}

// skipped says that entries were not applied one by one, but came with a state: whose they were is not known any more.
func (g *Group) skipped() {
	g.mu.Lock()
	for i := range g.line.sent {
		g.line.sent[i].term = 0
	}
	g.mu.Unlock()
	g.forsake()
}

// fail answers what batches were made from.
func fail(batches []batch, err error) {
	for _, b := range batches {
		for _, p := range b.proposals {
			p.Fail(err)
		}
	}
}
