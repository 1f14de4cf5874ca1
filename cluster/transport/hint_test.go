package transport_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// follower notes what it is told of commits without entries.
type follower struct {
	mu      sync.Mutex
	hints   []string
	refuses bool
}

func (f *follower) answer(rpc raft.RPC) {
	r, ok := rpc.Command.(*raft.AppendEntriesRequest)
	f.mu.Lock()
	defer f.mu.Unlock()
	if ok && len(r.Entries) == 0 && r.PrevLogEntry > 0 {
		f.hints = append(f.hints, fmt.Sprintf("term %d, %d/%d, commit %d", r.Term, r.PrevLogEntry, r.PrevLogTerm, r.LeaderCommitIndex))
		if f.refuses {
			rpc.Respond(&raft.AppendEntriesResponse{Term: r.Term}, nil)
			return
		}
	}
	succeed(rpc)
}

// refuse has it refuse hints from now on.
func (f *follower) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuses = true
}

// take is what it was told since the last time.
func (f *follower) take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := fmt.Sprint(f.hints)
	f.hints = nil
	return got
}

// TestWhichHintsAreGiven goes through what decides about hints. In all cases a has sent the entries 3 of term 6, and 4 and 5 of term 7, as
// the leader of term 7.
func TestWhichHintsAreGiven(t *testing.T) {
	tests := []struct {
		name   string
		commit uint64 // as the group says
		clamp  uint64
		then   func(p *pair, ga, gb *transport.Group, f *follower)
		want   string
	}{
		{"committed", 5, 99, nil, "[term 7, 5/7, commit 5]"},
		{"not all of it", 4, 99, nil, "[term 7, 4/7, commit 4]"},
		{"not all of it is durable", 5, 4, nil, "[term 7, 4/7, commit 4]"},
		{"nothing of the term", 3, 99, nil, "[]"},
		{"not led here", 0, 99, nil, "[]"},
		{"not sent yet", 6, 99, nil, "[]"},
		{"known", 5, 99, func(_ *pair, ga, _ *transport.Group, _ *follower) {
			ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 5, PrevLogTerm: 7, LeaderCommitIndex: 5}, &raft.AppendEntriesResponse{})
		}, "[term 7, 5/7, commit 5]"}, // that one was raft's
		{"deposed", 5, 99, func(_ *pair, _, gb *transport.Group, _ *follower) {
			gb.AppendEntries("aaa", "aaa", &raft.AppendEntriesRequest{Term: 8, PrevLogEntry: 4, Entries: entries(5, 1, 10)}, &raft.AppendEntriesResponse{})
		}, "[]"},
		{"deposed by a heartbeat", 5, 99, func(_ *pair, _, gb *transport.Group, _ *follower) {
			gb.AppendEntries("aaa", "aaa", &raft.AppendEntriesRequest{Term: 8}, &raft.AppendEntriesResponse{})
		}, "[]"},
		{"old leader", 5, 99, func(_ *pair, _, gb *transport.Group, _ *follower) {
			gb.AppendEntries("aaa", "aaa", &raft.AppendEntriesRequest{Term: 6}, &raft.AppendEntriesResponse{})
		}, "[term 7, 5/7, commit 5]"},
		{"leads again and has sent nothing", 5, 99, func(_ *pair, ga, _ *transport.Group, _ *follower) {
			ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 9}, &raft.AppendEntriesResponse{})
		}, "[]"},
		{"link has broken", 5, 99, func(p *pair, _, _ *transport.Group, f *follower) {
			after(2 * time.Second)
			f.take()
			p.net.Break("aaa", "bbb") // the follower may have been started again
		}, "[term 7, 5/7, commit 5]"},
		{"not linked", 5, 99, func(p *pair, _, _ *transport.Group, _ *follower) { p.net.Cut("aaa", "bbb") }, "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				commit := make(chan uint64, 1) // what the group says, from the moment on that it is set
				commit <- 0
				ga := p.a.Group(1, transport.GroupOptions{
					Clamp:  func() uint64 { return tt.clamp },
					Commit: func() uint64 { c := <-commit; commit <- c; return c },
				})
				gb := p.b.Group(1, transport.GroupOptions{})
				f := &follower{}
				p.serve(gb, f.answer)
				p.serve(ga, succeed)
				logs := entries(3, 3, 10)
				logs[0].Term = 6
				if err := ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: logs[0].Index - 1, Entries: logs}, &raft.AppendEntriesResponse{}); err != nil {
					t.Fatal(err)
				}
				<-commit
				if tt.name == "link has broken" {
					commit <- tt.commit
				}
				if tt.then != nil {
					if len(commit) == 0 {
						commit <- 0
					}
					tt.then(p, ga, gb, f)
					<-commit
				}
				commit <- tt.commit
				after(2 * time.Second)
				if got := f.take(); got != tt.want {
					t.Errorf("hints %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestHintToGroupThatComesLate has the server of a follower be started again: it hears of the leader's commit before it has the group. It is told again once it
// has answered a heartbeat.
func TestHintToGroupThatComesLate(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var commit atomic.Uint64
		ga := p.a.Group(1, transport.GroupOptions{Commit: commit.Load})
		gb := p.b.Group(1, transport.GroupOptions{})
		p.serve(gb, succeed)
		logs := entries(1, 1, 10)
		logs[0].Term = 7
		if err := ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, Entries: logs}, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		commit.Store(1)
		after(2 * time.Second)
		if err := gb.Close(); err != nil {
			t.Fatal(err)
		}
		p.net.Break("aaa", "bbb")
		after(2 * time.Second)
		gb = p.b.Group(1, transport.GroupOptions{})
		f := &follower{}
		p.serve(gb, f.answer)
		after(2 * time.Second)
		if got := f.take(); got != "[]" {
			t.Fatalf("hints %v before the follower was heard of", got)
		}
		if err := ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		after(2 * time.Second)
		if got, want := f.take(), "[term 7, 1/7, commit 1]"; got != want {
			t.Errorf("hints %v, want %v", got, want)
		}
	})
}

// TestHintsComeSoon has a group fall quiet: its follower hears of the commit at once, and not with the next ping. While more entries are on
// their way it hears nothing, since those bring the commit index with them.
func TestHintsComeSoon(t *testing.T) {
	inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
		var commit atomic.Uint64
		ga := p.a.Group(1, transport.GroupOptions{Commit: commit.Load})
		gb := p.b.Group(1, transport.GroupOptions{})
		f := &follower{}
		p.serve(gb, f.answer)
		after(10 * time.Millisecond) // not where a ping is due
		add := func(index uint64) {
			logs := entries(index, 1, 10)
			logs[0].Term = 7
			if err := ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: logs[0].Index - 1, Entries: logs}, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
			commit.Store(index)
		}
		for index := uint64(1); index <= 3; index++ {
			add(index)
		}
		if got := f.take(); got != "[]" {
			t.Errorf("hints %v while entries follow one another, want none", got)
		}
		after(5 * time.Millisecond)
		if got, want := f.take(), "[term 7, 3/7, commit 3]"; got != want {
			t.Errorf("hints %v, want %v", got, want)
		}
		add(4) // before the answer to the hint is here
		after(5 * time.Millisecond)
		if got, want := f.take(), "[term 7, 4/7, commit 4]"; got != want {
			t.Errorf("hints %v right after another one, want %v", got, want)
		}
		after(2 * time.Second)
		if got := f.take(); got != "[]" {
			t.Errorf("hints %v of what is known, want none", got)
		}
	})
}

// TestWhenGroupsAreNudged counts nudges about a follower.
func TestWhenGroupsAreNudged(t *testing.T) {
	tests := []struct {
		name   string
		commit uint64
		then   func(p *pair, ga *transport.Group, f *follower)
		want   int // in ten seconds, at 0, 1, 3 and 7
	}{
		{"all is well", 5, nil, 0},
		{"refuses hints", 5, func(_ *pair, _ *transport.Group, f *follower) { f.refuse() }, 4},
		{"raft leaves it behind", 6, nil, 4},
		{"a request has failed", 5, func(p *pair, ga *transport.Group, _ *follower) {
			p.net.Freeze("bbb", "aaa")
			pipe, _ := ga.AppendEntriesPipeline("bbb", "bbb")
			go pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 5, Entries: entries(6, 1, 10)}, &raft.AppendEntriesResponse{})
			after(time.Second)
			p.net.Break("aaa", "bbb")
			p.net.Heal("aaa", "bbb")
		}, 4},
		{"not led here", 0, func(_ *pair, _ *transport.Group, f *follower) { f.refuse() }, 0},
		{"not reached", 6, func(p *pair, _ *transport.Group, _ *follower) { p.net.Cut("aaa", "bbb"); after(2 * time.Second) }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				var mu sync.Mutex
				nudges := 0
				ga := p.a.Group(1, transport.GroupOptions{
					Commit: func() uint64 { return tt.commit },
					Nudge: func(node string) {
						mu.Lock()
						defer mu.Unlock()
						if nudges++; node != "bbb" {
							t.Errorf("nudged about %q", node)
						}
					},
				})
				f := &follower{}
				p.serve(p.b.Group(1, transport.GroupOptions{}), f.answer)
				if err := appendTo(ga, entries(1, 5, 10)); err != nil {
					t.Fatal(err)
				}
				if tt.then != nil {
					tt.then(p, ga, f)
				}
				mu.Lock()
				nudges = 0
				mu.Unlock()
				after(10 * time.Second)
				mu.Lock()
				defer mu.Unlock()
				if nudges != tt.want {
					t.Errorf("%d nudges in 10 s, want %d", nudges, tt.want)
				}
			})
		})
	}
}
