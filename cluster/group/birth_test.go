package group_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
)

// campaign has a node stand for election.
func campaign(t *testing.T, n *node) {
	t.Helper()
	if err := n.group().Campaign(); err != nil {
		t.Fatalf("%s: campaign: %v", n.name, err)
	}
}

// inBirth is a group of three whose first member, and the others, are given to test; nothing has happened yet.
func inBirth(t *testing.T, test func(t *testing.T, c *cluster, first *node, others []*node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.check.disks = c.voters(3)
		test(t, c, c.nodes[0], c.nodes[1:])
	})
}

// TestBirthAlone has the first member be alone: it leads once another one has its first entry.
func TestBirthAlone(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, others []*node) {
		c.net.isolate(first.name, others[0].name, others[1].name)
		campaign(t, first)
		<-time.After(200 * time.Millisecond)
		if s := first.group().Status(); s.Leads || s.Leader != first.name || s.Last != 3 {
			t.Errorf("alone: %+v, want it to take itself for the leader, with an entry that nobody else has, and not to lead yet", s)
		}
		c.net.heal()
		c.leader()
		c.settle()
	})
}

// TestBirthWithoutElection has the first member lead in the first term: nobody is asked for a vote, and there is nothing but its first entry.
func TestBirthWithoutElection(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, _ []*node) {
		var votes atomic.Int32
		c.net.mu.Lock()
		c.net.spy = func(_, _ string, request any) {
			switch request.(type) {
			case *raft.RequestVoteRequest, *raft.RequestPreVoteRequest:
				votes.Add(1)
			}
		}
		c.net.mu.Unlock()
		campaign(t, first)
		if l := c.leader(); l != first {
			t.Errorf("%s leads, want %s", l.name, first.name)
		}
		if s := first.group().Status(); s.Term != 1 || s.Last != 3 {
			t.Errorf("it leads in term %d with entries up to %d, want term 1 and entry 3 alone", s.Term, s.Last)
		}
		if got := votes.Load(); got != 0 {
			t.Errorf("%d votes were asked for", got)
		}
		c.settle()
		for _, n := range c.nodes {
			n.crash()
			for _, key := range []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"} {
				if v := n.disk.open().Value(key); v != nil {
					t.Errorf("%s has kept %s = %x, which goes without saying", n.name, key, v)
				}
			}
			n.start()
		}
		c.settle()
	})
}

// TestBirthIsRepeated has the power go before the first entry is on the disk: nobody has heard of one, so the first term begins again.
func TestBirthIsRepeated(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, _ []*node) {
		first.disk.take(5 * time.Second)
		campaign(t, first)
		<-time.After(100 * time.Millisecond)
		first.crash()
		first.disk.take(0)
		first.start()
		campaign(t, first)
		if l := c.leader(); l != first || l.group().Status().Term != 1 {
			t.Errorf("%s leads in term %d, want %s in term 1", l.name, l.group().Status().Term, first.name)
		}
		c.settle()
	})
}

// TestBirthIsOnce has the first member come back after it has led: it leads in the first term never again, and asks for votes.
func TestBirthIsOnce(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		inBirth(t, func(t *testing.T, c *cluster, first *node, others []*node) {
			campaign(t, first)
			c.leader()
			c.fill(3)
			if flushed {
				first.machine.flush()
			}
			first.crash()
			c.net.isolate(first.name, others[0].name, others[1].name)
			first.start()
			campaign(t, first)
			<-time.After(time.Second)
			if s := first.group().Status(); s.Leader == first.name || s.Term < 2 {
				t.Errorf("alone: %+v, want it to stand for election in a later term", s)
			}
			c.net.heal()
			c.settle()
		})
	}
}

// TestBirthTooLate has the others go on without the first member before it begins.
func TestBirthTooLate(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, others []*node) {
		first.stop()
		campaign(t, others[0])
		c.fill(3)
		if s := others[0].group().Status(); !s.Leads || s.Term != 2 {
			t.Errorf("%+v, want it to lead in term 2", s)
		}
		first.start()
		campaign(t, first)
		<-time.After(300 * time.Millisecond)
		if s := first.group().Status(); s.Leads || s.Leader == first.name {
			t.Errorf("the first member comes late: %+v, want it to follow", s)
		}
		c.settle()
	})
}

// TestVoteAfterBirth has a member vote for the first one in a later term: that is another vote than that of birth, and is kept.
func TestVoteAfterBirth(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, others []*node) {
		campaign(t, first)
		c.fill(1)
		for i, n := range []*node{others[0], first} {
			c.until("equal logs", func() bool { return n.group().Status().Last == c.leader().group().Status().Last })
			campaign(t, n)
			c.until("another leader", func() bool { return n.group().Status().Leads && n.group().Status().Term == uint64(i+2) })
		}
		c.fill(1)
		voted := 0
		for _, n := range others {
			n.crash()
			l := n.disk.open()
			if v := l.Value("LastVoteTerm"); len(v) == 8 && binary.LittleEndian.Uint64(v) == 3 && string(l.Value("LastVoteCand")) == first.name {
				voted++
			}
			n.start()
		}
		if voted == 0 {
			t.Error("nobody knows after a power cut that it has voted for the first member in term 3")
		}
		c.settle()
	})
}

// TestFirstVoteAfterBirth has members give the first vote that they keep to whom they have been born with: it is kept as a whole, since what
// birth says is gone with the place.
func TestFirstVoteAfterBirth(t *testing.T) {
	inBirth(t, func(t *testing.T, c *cluster, first *node, others []*node) {
		campaign(t, first)
		c.fill(1)
		first.crash()
		first.start()
		campaign(t, first)
		c.until("the first member leads again", func() bool { return first.group().Status().Leads && first.group().Status().Term == 2 })
		voted := 0
		for _, n := range others {
			n.crash()
			l := n.disk.open()
			if v := l.Value("LastVoteTerm"); len(v) == 8 && binary.LittleEndian.Uint64(v) == 2 {
				voted++
				if got := string(l.Value("LastVoteCand")); got != first.name {
					t.Errorf("%s has kept that it has voted in term 2 for %q, want %q", n.name, got, first.name)
				}
			}
			n.start()
		}
		if voted == 0 {
			t.Error("nobody knows after a power cut that it has voted in term 2")
		}
		c.settle()
	})
}

// TestFirst tells births from other places.
func TestFirst(t *testing.T) {
	later := group.Birth([]string{"b", "a"})
	later.Index++
	damaged := group.Birth([]string{"b", "a"})
	damaged.Configuration = damaged.Configuration[:9]
	for name, test := range map[string]struct {
		place group.Place
		want  string
	}{
		"birth":       {group.Birth([]string{"b", "a", "c"}), "b"},
		"none":        {group.Place{}, ""},
		"a later one": {later, ""},
		"damaged":     {damaged, ""},
	} {
		if got := group.First(test.place); got != test.want {
			t.Errorf("%s: %q leads first, want %q", name, got, test.want)
		}
	}
}
