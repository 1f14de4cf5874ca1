package group_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeaderSyncsLast has the leader's disk be the slowest: the others have the entry, so raft takes it as committed, but nobody may
// apply or ack it.
func TestLeaderSyncsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.check.disks = c.voters(3)
		c.fill(3)
		l := c.leader()
		l.disk.take(5 * time.Second)
		before := len(l.machine.list())
		answer := c.propose1(l, 0)
		time.Sleep(4 * time.Second)
		if got := l.group().Status().Commit; got < l.group().Status().Last {
			t.Errorf("commit index %d: the test wants all %d committed", got, l.group().Status().Last)
		}
		select {
		case err := <-answer:
			t.Errorf("answered with %v before it is safe on the leader", err)
		default:
		}
		for _, n := range c.nodes {
			if got := len(n.machine.list()); got != before {
				t.Errorf("%s has applied %d, want %d", n.name, got, before)
			}
		}
		time.Sleep(2 * time.Second)
		if err := <-answer; err != nil {
			t.Errorf("the answer is %v", err)
		}
		l.disk.take(0)
		c.settle()
	})
}

// TestLeaderDiesBeforeItsSync has the leader lose an entry that the others have.
func TestLeaderDiesBeforeItsSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.check.disks = c.voters(3)
		c.fill(3)
		l := c.leader()
		l.disk.take(5 * time.Second)
		answer := c.propose1(l, 0)
		time.Sleep(time.Second)
		last := l.group().Status().Last
		l.crash()
		if err := <-answer; err == nil {
			t.Error("acked, and the leader has lost it")
		}
		if got := l.disk.open().Last(); got >= last {
			t.Errorf("the leader's log ends at %d after the crash, want it to have lost entry %d", got, last)
		}
		l.disk.take(0)
		l.start()
		c.settle()
	})
}

// TestFollowersSyncLast has nothing acked that only the leader has.
func TestFollowersSyncLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.check.disks = c.voters(3)
		c.fill(3)
		l := c.leader()
		for _, n := range c.others(l) {
			n.disk.take(3 * time.Second)
		}
		answer := c.propose1(l, 0)
		time.Sleep(2 * time.Second)
		select {
		case err := <-answer:
			t.Errorf("answered with %v, and only the leader has it", err)
		default:
		}
		if err := <-answer; err != nil {
			t.Errorf("the answer is %v", err)
		}
		for _, n := range c.nodes {
			n.disk.take(0)
		}
		c.settle()
	})
}

// TestAllCrash has all power go at once, again and again: what was acked is there.
func TestAllCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 5)
		defer c.close()
		c.check.disks = c.voters(3)
		for round := range 5 {
			c.fill(10)
			l := c.leader()
			for range 10 {
				c.propose1(l, 0)
			}
			time.Sleep(time.Millisecond)
			if round%2 == 0 {
				l.machine.flush()
			}
			for _, n := range c.nodes {
				n.crash()
			}
			for _, n := range c.nodes {
				n.start()
			}
		}
		c.settle()
	})
}

// TestLeadAfterAllIsApplied has a new leader told only when it has everything that was committed before.
func TestLeadAfterAllIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(20)
		want := c.leader().machine.list()
		for range 3 {
			for _, n := range c.nodes {
				n.crash()
			}
			for _, n := range c.nodes {
				n.start()
			}
			if got := c.leader().machine.list(); !slices.Equal(got, want) {
				t.Errorf("the leader has %d ids when it leads, want %d", len(got), len(want))
			}
		}
		c.settle()
	})
}
