package delivery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// group is the raft group of a replicated stream: what its leader proposes is committed in order, by a goroutine, when
// nobody holds it up.
type group struct {
	t        testing.TB
	applying sync.Mutex // held by who gives an entry to the members
	running  sync.WaitGroup

	mu      sync.Mutex // guards everything below
	members []*replica
	leader  *replica
	index   uint64
	term    uint64
	waiting []*store.Proposal // of the leader
	working bool
	stopped bool                 // nothing is committed
	pause   func() time.Duration // how long it takes until something is; nil for no time
	entries int
}

// replica is a member of a group.
type replica struct {
	group  *group
	store  *store.Store
	stream *store.Stream
	cut    bool              // believes that it leads, and reaches nobody
	stuck  []*store.Proposal // what it has proposed since
}

// firstAssigned is the first id that a cluster may give to a stream.
const firstAssigned = 1 << 40

// openStore opens a store in memory.
func openStore(t testing.TB) *store.Store {
	t.Helper()
	s, _, err := store.Open(store.Config{
		FS: vfs.NewMemory(), Dir: "/store", LogBytes: 32 << 20, LogSegmentBytes: 1 << 20, ScrubBytes: -1, Shards: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newGroup makes a stream on so many servers, of which the first leads.
func newGroup(t testing.TB, cfg config.Stream, members int) *group {
	t.Helper()
	g := &group{t: t, index: 1, term: 1}
	for range members {
		r := &replica{group: g, store: openStore(t)}
		var err error
		r.stream, err = r.store.CreateAssigned(store.Assigned{
			ID: firstAssigned, Account: "A", Config: cfg, Created: now(),
			Place: &entries.Place{Index: 1, Term: 1, Configuration: []byte("a, b, c")},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.stream.SetProposer(r)
		g.members = append(g.members, r)
	}
	g.leader = g.members[0]
	return g
}

// Propose implements store.Proposer.
func (r *replica) Propose(_ context.Context, p *store.Proposal) error {
	g := r.group
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case r.cut:
		r.stuck = append(r.stuck, p)
	case r != g.leader:
		return store.ErrNotLeader
	default:
		g.waiting = append(g.waiting, p)
		g.begin()
	}
	return nil
}

// begin sees to it that what waits is committed; the caller has locked mu.
func (g *group) begin() {
	if !g.working && !g.stopped && len(g.waiting) > 0 {
		g.working = true
		g.running.Go(g.work)
	}
}

// hold lets nothing be committed, or what waits again.
func (g *group) hold(stopped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = stopped
	g.begin()
}

// work commits what waits.
func (g *group) work() {
	for g.pauseAndCommit() {
	}
}

func (g *group) pauseAndCommit() bool {
	if g.pause != nil {
		<-time.After(g.pause())
	}
	g.applying.Lock()
	defer g.applying.Unlock()
	leader, batch := g.take()
	g.apply(leader, batch)
	return len(batch) > 0
}

// take takes what goes into the next entry.
func (g *group) take() (leader *replica, batch []*store.Proposal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || len(g.waiting) == 0 {
		g.working = false
		return nil, nil
	}
	batch, g.waiting = g.waiting, nil
	return g.leader, batch
}

// apply has all members apply an entry of one who hears what became of it; the caller holds applying.
func (g *group) apply(proposer *replica, batch []*store.Proposal) {
	if len(batch) == 0 {
		return
	}
	var data []byte
	for _, p := range batch {
		data = p.Append(data)
	}
	g.mu.Lock()
	g.index++
	g.entries++
	index, term := g.index, g.term
	g.mu.Unlock()
	for _, m := range g.members {
		var local []*store.Proposal
		if m == proposer {
			local = batch
		}
		if err := m.stream.ApplyEntry(index, term, data, local); err != nil {
			g.t.Error(err)
		}
	}
}

// elect makes another member the leader. Of what waits, so many proposals are committed, and of these the old leader
// hears of so many; it never hears of the rest what became of it.
func (g *group) elect(to *replica, committed, heard int) {
	g.applying.Lock()
	defer g.applying.Unlock()
	g.mu.Lock()
	from, waiting := g.leader, g.waiting
	g.waiting = nil
	g.mu.Unlock()
	committed = min(committed, len(waiting))
	heard = min(heard, committed)
	g.apply(from, waiting[:heard])
	for _, p := range waiting[heard:] {
		p.Fail(store.ErrLeadershipLost)
	}
	g.apply(nil, waiting[heard:committed])
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = to
	g.term++
}

// isolate lets the leader go on as if it were one, although another one is elected.
func (g *group) isolate(r *replica, cut bool) {
	g.mu.Lock()
	r.cut = cut
	stuck := r.stuck
	r.stuck = nil
	g.mu.Unlock()
	for _, p := range stuck {
		p.Fail(store.ErrLeadershipLost)
	}
}

// close checks that all members have come to the same, and closes their stores.
func (g *group) close() {
	g.hold(true)
	g.running.Wait()
	for _, m := range g.members {
		index, hash := m.stream.Hash()
		if i, h := g.leader.stream.Hash(); i != index || h != hash {
			g.t.Errorf("a member has %x at entry %d, the leader %x at %d", hash, index, h, i)
		}
		if err := m.stream.Check(); err != nil {
			g.t.Errorf("check: %v", err)
		}
		if err := m.store.Close(); err != nil {
			g.t.Error(err)
		}
	}
}

// committed is how many entries there were.
func (g *group) committed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.entries
}
