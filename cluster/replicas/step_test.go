package replicas_test

import (
	"strings"
	"testing"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/cluster/replicas"
)

// TestStep checks what is said of moves.
func TestStep(t *testing.T) {
	for _, tt := range []struct {
		name       string
		on, to     string
		others     string // see members
		text, kind string
	}{
		{"one is added", "A B C", "A B C", "B", "C becomes a member", "membership"},
		{"one is filled", "A B C", "A B C", "B c-", "C is being filled, it lacks 7 entries", "catchup"},
		{"one cannot be reached", "A B C", "A B C", "B c!", "C cannot be reached", "unavailable"},
		{"one has caught up", "A B C", "A B C", "B c", "C has caught up and gets a vote", "membership"},
		{"one leaves", "A B C D", "A B D", "B C D", "C leaves", "membership"},
		{"nobody can leave", "A B C D", "A B D", "B! C D-", "the replicas that stay are not up to date", "blocked"},
		{"the leader leaves", "A B C D", "B C D", "B C D", "B takes over to lead", "membership"},
		{"the leader leaves to somebody", "A B C", "B C", "B- C-", "another server takes over to lead", "membership"},
		{"done", "A B C", "A B C", "B C", "the replicas are where they should be, and the meta group is told", "meta"},
	} {
		s := &group.Status{Peers: members(tt.others)}
		for i := range s.Peers {
			s.Peers[i].Lag = 7
		}
		a := &state.Assignment{Peers: strings.Fields(tt.on), Desired: &state.Desired{Peers: strings.Fields(tt.to)}}
		if text, kind := replicas.Step(a, "A", s); text != tt.text || kind != tt.kind {
			t.Errorf("%s: %q, %s; want %q, %s", tt.name, text, kind, tt.text, tt.kind)
		}
	}
}

// TestLag has a replica with nothing lack what its group has had, not what its indexes begin with.
func TestLag(t *testing.T) {
	for _, tt := range []struct{ commit, applied, want uint64 }{
		{9, 9, 0}, {9, 4, 5}, {9, 12, 0}, {4<<40 + 9, 0, 9}, {4<<40 + 9, 4<<40 + 7, 2}, {5, 0, 5},
	} {
		if got := replicas.Lag(&group.Status{Commit: tt.commit, Applied: tt.applied}); got != tt.want {
			t.Errorf("%d of %d: lacks %d, want %d", tt.applied, tt.commit, got, tt.want)
		}
	}
}

// TestStepOfMove moves a stream to a server that cannot be reached: its leader says whom it waits for, and how much that one lacks.
func TestStepOfMove(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.create("S", "a")
		w.publish(a.ID, 10)
		w.node("c").stop()
		w.scale(a, "a", "b", "c")
		w.until("word of who is waited for", func() bool {
			text, kind := w.node("a").replicas.Step(a.ID)
			return text == "c cannot be reached" && kind == "unavailable"
		})
		s, _ := w.node("a").replicas.Status(a.ID)
		for _, p := range s.Peers {
			if p.Lag > 100 {
				t.Errorf("%s lacks %d entries, want about as many as there were", p.Node, p.Lag)
			}
		}
		if text, kind := w.node("b").replicas.Step(a.ID); text != "" || kind != "" {
			t.Errorf("a follower says %q, %q", text, kind)
		}
		w.node("c").start()
		w.settle(a.ID, 10, "a", "b", "c")
		if text, kind := w.leader(a.ID).replicas.Step(a.ID); text != "" || kind != "" {
			t.Errorf("a stream that stays: %q, %q", text, kind)
		}
	})
}
