package delivery_test

import (
	"context"
	"sync"
	"testing"

	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/manifest"
	"runnel/jetlog/store"
)

// group is the raft group of a replicated stream, of which one member is seen: what is proposed is committed in order,
// by a goroutine, when nobody holds it up.
type group struct {
	t testing.TB

	mu        sync.Mutex // guards everything below
	stream    *store.Stream
	index     uint64
	waiting   []*store.Proposal
	working   bool
	stopped   bool  // nothing is committed
	refusal   error // of all that is proposed
	proposals int   // that were ever taken
}

// create makes the stream of a world, with a group if it is to be replicated.
func create(t testing.TB, s *store.Store, cfg config.Stream) *store.Stream {
	t.Helper()
	if cfg.Replicas <= 1 {
		stream, err := s.Create("A", cfg)
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	stream, err := s.CreateAssigned(store.Assigned{
		ID: manifest.FirstAssigned, Account: "A", Config: cfg, Created: now(),
		Place: &entries.Place{Index: 1, Term: 1, Configuration: []byte("a, b, c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	stream.SetProposer(&group{t: t, stream: stream, index: 1})
	return stream
}

// Propose implements store.Proposer.
func (g *group) Propose(_ context.Context, p *store.Proposal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refusal != nil {
		return g.refusal
	}
	g.proposals++
	g.waiting = append(g.waiting, p)
	g.begin()
	return nil
}

// begin sees to it that what waits is committed.
func (g *group) begin() {
	if !g.working && !g.stopped && len(g.waiting) > 0 {
		g.working = true
		go g.work()
	}
}

// work commits what waits.
func (g *group) work() {
	for {
		index, batch := g.take()
		if len(batch) == 0 {
			return
		}
		var data []byte
		for _, p := range batch {
			data = p.Append(data)
		}
		if err := g.stream.ApplyEntry(index, 1, data, batch); err != nil {
			g.t.Error(err)
		}
	}
}

// take takes what goes into the next entry.
func (g *group) take() (index uint64, batch []*store.Proposal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || len(g.waiting) == 0 {
		g.working = false
		return 0, nil
	}
	g.index++
	batch, g.waiting = g.waiting, nil
	return g.index, batch
}
