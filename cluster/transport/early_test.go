package transport_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// TestEntriesBeforeTheirGroup sends entries to a group that begins a moment later: they are answered then, in order.
func TestEntriesBeforeTheirGroup(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		g := p.a.Group(1, transport.GroupOptions{})
		results := make(chan error, 2)
		var indexes []uint64
		for i := range uint64(2) {
			request := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: i, PrevLogTerm: 7, Entries: entries(i+1, 1, 100)}
			go func() { results <- g.AppendEntries("bbb", "bbb", request, &raft.AppendEntriesResponse{}) }()
			synctest.Wait()
		}
		after(300 * time.Millisecond)
		if len(results) > 0 {
			t.Fatalf("answered with %v before the group is there", <-results)
		}
		p.serve(p.b.Group(1, transport.GroupOptions{}), func(rpc raft.RPC) {
			indexes = append(indexes, rpc.Command.(*raft.AppendEntriesRequest).Entries[0].Index)
			succeed(rpc)
		})
		if took := within(func() {
			for range 2 {
				if err := <-results; err != nil {
					t.Errorf("the answer is %v", err)
				}
			}
		}); took > 100*time.Millisecond {
			t.Errorf("answered after another %v", took)
		}
		if len(indexes) != 2 || indexes[0] != 1 || indexes[1] != 2 {
			t.Errorf("entries came as %v, want 1, 2", indexes)
		}
	})
}

// TestEntriesWithoutGroup sends entries to a group that never comes, and more than may wait.
func TestEntriesWithoutGroup(t *testing.T) {
	for name, test := range map[string]struct {
		requests, bytes, waits int
	}{
		"few":   {3, 100, 3},
		"many":  {1100, 100, 1024},
		"bytes": {100, 60 << 10, 68},
		"large": {2, 80 << 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				results := make(chan error, test.requests)
				for id := range uint64(test.requests) {
					g := p.a.Group(id, transport.GroupOptions{})
					go func() { results <- appendTo(g, entries(1, 1, test.bytes)) }()
				}
				after(100 * time.Millisecond)
				if got := test.requests - len(results); got != test.waits {
					t.Errorf("%d of %d wait, want %d", got, test.requests, test.waits)
				}
				after(1500 * time.Millisecond)
				if len(results) != test.requests {
					t.Fatalf("%d of %d were answered after more than a second", len(results), test.requests)
				}
				for range test.requests {
					if err := <-results; !errors.Is(err, transport.ErrNoGroup) {
						t.Fatalf("the answer is %v, want ErrNoGroup", err)
					}
				}
			})
		})
	}
}

// TestHas is told what followers have, in which term.
func TestHas(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		type has struct {
			node        string
			term, index uint64
		}
		var told []has
		g := p.a.Group(1, transport.GroupOptions{Has: func(node string, term, index uint64) { told = append(told, has{node, term, index}) }})
		p.serve(p.b.Group(1, transport.GroupOptions{}), succeed)
		if err := appendTo(g, entries(1, 3, 100)); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || told[0] != (has{"bbb", 7, 3}) {
			t.Errorf("told %v, want that bbb has all up to 3 in term 7", told)
		}
	})
}

// TestVotesBeforeTheirGroup asks for votes in a group that is there two seconds later, and in one that does not come.
func TestVotesBeforeTheirGroup(t *testing.T) {
	for name, ask := range map[string]func(*transport.Group) error{
		"vote": func(g *transport.Group) error {
			return g.RequestVote("bbb", "bbb", &raft.RequestVoteRequest{Term: 8}, &raft.RequestVoteResponse{})
		},
		"pre-vote": func(g *transport.Group) error {
			return g.RequestPreVote("bbb", "bbb", &raft.RequestPreVoteRequest{Term: 8}, &raft.RequestPreVoteResponse{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				granted, refused := make(chan error, 1), make(chan error, 1)
				go func() { granted <- ask(p.a.Group(1, transport.GroupOptions{})) }()
				go func() { refused <- ask(p.a.Group(2, transport.GroupOptions{})) }()
				after(2 * time.Second)
				if len(granted)+len(refused) > 0 {
					t.Fatal("answered before a group is there")
				}
				p.serve(p.b.Group(1, transport.GroupOptions{}), succeed)
				if took := within(func() {
					if err := <-granted; err != nil {
						t.Errorf("the answer is %v", err)
					}
				}); took > 100*time.Millisecond {
					t.Errorf("answered after another %v", took)
				}
				if err := <-refused; !errors.Is(err, transport.ErrNoGroup) {
					t.Errorf("the answer is %v, want ErrNoGroup", err)
				}
			})
		})
	}
}
