package meta_test

import (
	"strings"
	"testing"

	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
)

// TestUnsettled checks which servers wait for a vote. A server is well without one only where enough others have one.
func TestUnsettled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		voters string // of the nodes a, b, c and so on, V for one that votes; of those behind a blank, which are no members any more, too
		waits  bool   // the first does
	}{
		{"one alone", "V", false},
		{"three", "VVV", false},
		{"two", "VV", false},
		{"the second of two", ".V", true},
		{"a wiped one of three", ".VV", true},
		{"a fourth", ".VVV", false},
		{"a fifth", ".VVVV", true},
		{"one of five, others wait", "VVV..", false},
		{"a sixth", ".VVVVV", false},
		{"the one that it replaces still votes", "VVV V", true},
	} {
		var peers []meta.Peer
		members, _, _ := strings.Cut(tt.voters, " ")
		for i, v := range members {
			peers = append(peers, meta.Peer{Member: &state.Member{Node: string(rune('a' + i))}, Voter: v == 'V'})
		}
		if err := meta.Unsettled(peers, strings.Count(tt.voters, "V"), "a"); (err != nil) != tt.waits {
			t.Errorf("%s: %v, waits: %v", tt.name, err, tt.waits)
		}
	}
}
