package transport_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// TestEntriesBeginAtTheBase sends entries 6 to 9 behind the fifth to a follower whose state has some of them.
func TestEntriesBeginAtTheBase(t *testing.T) {
	tests := []struct {
		base, commit uint64
		want         string
	}{
		{0, 20, "behind 5/3: 6 7 8 9, commit 20"},
		{4, 20, "behind 5/3: 6 7 8 9, commit 20"},
		{5, 20, "behind 5/3: 6 7 8 9, commit 20"},
		{7, 6, "behind 7/4: 8 9, commit 6"},
		{7, 20, "behind 7/4: 8 9, commit 9"},
		{9, 20, "behind 9/4:, commit 9"},
		{12, 20, "behind 12/4:, commit 12"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.base, " ", tt.commit), func(t *testing.T) {
			inPair(t, transport.Config{}, transport.Config{}, func(t *testing.T, p *pair) {
				ga := p.a.Group(3, transport.GroupOptions{})
				gb := p.b.Group(3, transport.GroupOptions{Base: func() (index, term uint64) { return tt.base, 4 }})
				var got string
				p.serve(gb, func(rpc raft.RPC) {
					r := rpc.Command.(*raft.AppendEntriesRequest)
					got = fmt.Sprintf("behind %d/%d:", r.PrevLogEntry, r.PrevLogTerm)
					for _, e := range r.Entries {
						got += fmt.Sprint(" ", e.Index)
					}
					got += fmt.Sprintf(", commit %d", r.LeaderCommitIndex)
					succeed(rpc)
				})
				request := &raft.AppendEntriesRequest{Term: 7, PrevLogEntry: 5, PrevLogTerm: 3, Entries: entries(6, 4, 10), LeaderCommitIndex: tt.commit}
				if err := ga.AppendEntries("bbb", "bbb", request, &raft.AppendEntriesResponse{}); err != nil {
					t.Fatal(err)
				}
				if got != tt.want {
					t.Errorf("it gets %q, want %q", got, tt.want)
				}
				// Heartbeats say nothing about entries.
				if err := ga.AppendEntries("bbb", "bbb", &raft.AppendEntriesRequest{Term: 7}, &raft.AppendEntriesResponse{}); err != nil {
					t.Fatal(err)
				}
				if want := "behind 0/0:, commit 0"; got != want {
					t.Errorf("a heartbeat arrives as %q, want %q", got, want)
				}
			})
		})
	}
}
