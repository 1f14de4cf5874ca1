package group_test

import (
	"testing"
	"testing/synctest"

	"runnel/cluster/group"
)

// TestCurrent goes through what is known of a replica.
func TestCurrent(t *testing.T) {
	for name, c := range map[string]struct {
		status group.Status
		want   bool
	}{
		"leads":                             {group.Status{Leads: true, Leader: "a", Voter: true, Commit: 5, Applied: 4, Begun: 5, Last: 6}, true},
		"has all":                           {group.Status{Leader: "b", Voter: true, Commit: 5, Applied: 5, Begun: 3, Last: 6}, true},
		"nobody leads":                      {group.Status{Voter: true, Commit: 5, Applied: 5, Begun: 3, Last: 6}, false},
		"has not carried out what it knows": {group.Status{Leader: "b", Voter: true, Commit: 5, Applied: 4, Begun: 3, Last: 6}, false},
		"has begun, and does not know what holds": {group.Status{Leader: "b", Voter: true, Applied: 4, Begun: 6, Last: 6}, false},
		"has nothing yet":                         {group.Status{Leader: "b"}, false},
	} {
		if got := c.status.Current(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestCurrentAfterStart starts a replica again that has applied what it does not remember: it is not current before it has carried that out again. When
// all is quiet all are, also behind entries that only raft knows.
func TestCurrentAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(10)
		c.settle()
		n := c.others(c.leader())[0]
		n.stop()
		n.start()
		before, last := n.machine.Applied(), n.group().Status().Last
		if before >= last {
			t.Fatalf("it begins with %d of %d: the test wants it to have forgotten something", before, last)
		}
		c.until("it knows the leader", func() bool {
			s := n.group().Status()
			if s.Current() && n.machine.Applied() < 10 {
				t.Fatalf("it is current with %d of %d: %+v", n.machine.Applied(), last, s)
			}
			return s.Leader != ""
		})
		c.leader().crash()
		c.until("another leader", func() bool { return c.leader() != nil })
		c.until("the others are current", func() bool {
			for _, o := range c.nodes {
				if g := o.group(); g != nil {
					if s := g.Status(); !s.Current() {
						return false
					}
				}
			}
			return true
		})
	})
}
