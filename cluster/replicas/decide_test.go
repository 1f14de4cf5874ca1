package replicas_test

import (
	"strings"
	"testing"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/cluster/replicas"
)

// members reads members: a name has a vote, one in lower case has none; then ! for offline and - for behind.
func members(text string) (peers []group.Peer) {
	for name := range strings.FieldsSeq(text) {
		p := group.Peer{Current: !strings.ContainsAny(name, "!-"), Offline: strings.Contains(name, "!")}
		name = strings.Trim(name, "!-")
		p.Voter = name == strings.ToUpper(name)
		p.Node = strings.ToUpper(name)
		peers = append(peers, p)
	}
	return peers
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name   string
		on     string // nodes of the assignment; the first is preferred
		to     string // where it is going, empty for nowhere
		others string // members beside the leader, which is A
		want   string
	}{
		{"all is well", "A B C", "", "B C", "nothing"},
		{"one is down", "A B C", "", "B C!", "nothing"},
		{"a change that is done", "A B C", "A B C", "B C", "settle"},
		{"one is not a member", "A B C", "", "B", "add C"},
		{"one has not caught up", "A B C", "", "B c-", "nothing"},
		{"one has caught up", "A B C", "", "B c", "promote C"},
		{"from one to three", "A B C", "A B C", "", "add B"},
		{"from one to three, all added", "A B C", "A B C", "b- c-", "nothing"},
		{"from one to three, one is faster", "A B C", "A B C", "b- c", "promote C"},
		{"from three to one", "A B C", "A", "B C", "remove B"},
		{"from three to one, one is left", "A B C", "A", "C", "remove C"},
		{"from three to one, done", "A B C", "A", "", "settle"},
		{"from three to one, not the leader", "A B C", "B", "B C", "remove C"},
		{"from three to one, the leader is the last to go", "A B C", "B", "B", "hand over to B"},
		{"one moves: added", "A B C D", "A B D", "B C", "add D"},
		{"one moves: catches up", "A B C D", "A B D", "B C d-", "nothing"},
		{"one moves: promoted before the other leaves", "A B C D", "A B D", "B C d", "promote D"},
		{"one moves: the other leaves", "A B C D", "A B D", "B C D", "remove C"},
		{"one moves: done", "A B C D", "A B D", "B D", "settle"},
		{"one moves: nobody leaves while the rest is no majority", "A B C D", "A B D", "B! C D-", "nothing"},
		{"the leader moves", "A B C D", "B C D", "B C D", "hand over to B"},
		{"the leader moves, the preferred one cannot lead", "A B C D", "B C D", "B- C D", "hand over to C"},
		{"one was dropped", "A B D", "A B D", "B C", "add D"},
		{"one was dropped and is dead", "A B D", "A B D", "B C! d-", "remove C"},
		{"one was dropped and is dead, the rest is no majority", "A B D", "A B D", "B! C! d-", "nothing"},
		{"one without a vote is not wanted", "A B C", "", "B C d", "remove D"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &state.Assignment{Peers: strings.Fields(test.on)}
			a.Preferred = a.Peers[0]
			if test.to != "" {
				a.Desired = &state.Desired{Peers: strings.Fields(test.to)}
				a.Preferred = a.Desired.Peers[0]
			}
			if got := replicas.Decide(a, "A", &group.Status{Peers: members(test.others)}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestTurn checks when voters campaign, one after the other: soon where the ones before have tried, and late where nothing is heard of them.
func TestTurn(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name       string
		rank       int
		leaderless bool
		rises      []time.Duration // of the term
		want       time.Duration
	}{
		{"the first", 0, false, nil, 0},
		{"the first, who asks the others before", 0, true, nil, 0},
		{"the second, who asks the others before", 1, true, nil, 500 * ms},
		{"the second", 1, false, nil, 1500 * ms},
		{"the second, the first has tried", 1, false, []time.Duration{250 * ms}, 500 * ms},
		{"the third", 2, false, nil, 3000 * ms},
		{"the third, the first has tried", 2, false, []time.Duration{250 * ms}, 2000 * ms},
		{"the third, both have tried", 2, false, []time.Duration{250 * ms, 500 * ms}, 750 * ms},
	} {
		if got := replicas.Turn(test.rank, test.leaderless, test.rises...); got != test.want {
			t.Errorf("%s: after %v, want %v", test.name, got, test.want)
		}
	}
}
