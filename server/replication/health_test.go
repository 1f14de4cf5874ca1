package replication_test

import (
	"strings"
	"testing"

	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/server/replication"
)

// TestVoteless checks which servers wait for a vote. A server is well without one only where enough others have one.
func TestVoteless(t *testing.T) {
	for _, tt := range []struct {
		name   string
		voters string // of the nodes a, b, c and so on, V for one that votes; of those behind a blank, which are no members any more, too
		waits  bool   // the first does
	}{
		{"one alone", "V", false},
		{"three", "VVV", false},
		{"a wiped one of three", ".VV", true},
		{"a fourth", ".VVV", false},
		{"a fifth", ".VVVV", true},
		{"one of five, others wait", "VVV..", false},
		{"a sixth", ".VVVVV", false},
		{"the one that it replaces still votes", "VVV V", true},
	} {
		s := &meta.Status{}
		members, _, _ := strings.Cut(tt.voters, " ")
		s.Voters = strings.Count(tt.voters, "V")
		for i, v := range members {
			s.Peers = append(s.Peers, meta.Peer{Member: &state.Member{Node: string(rune('a' + i))}, Voter: v == 'V'})
		}
		if err := replication.Voteless(s, "a"); (err != nil) != tt.waits {
			t.Errorf("%s: %v, waits: %v", tt.name, err, tt.waits)
		}
	}
}

// TestLacking checks what is shown of replicas that have nothing yet.
func TestLacking(t *testing.T) {
	for lag, want := range map[uint64]uint64{0: 0, 7: 7, 4<<40 + 9: 9} {
		if got := replication.Lacking(lag); got != want {
			t.Errorf("%d: %d, want %d", lag, got, want)
		}
	}
}
