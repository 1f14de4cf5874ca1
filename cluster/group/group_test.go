package group_test

import (
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
)

func TestOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 1)
		defer c.close()
		c.check.disks = c.voters(1)
		c.fill(10)
		c.settle()
	})
}

func TestThreeNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.check.disks = c.voters(3)
		c.fill(50)
		c.settle()
		if got := len(c.leader().machine.list()); got < 51 {
			t.Errorf("%d ids, want 51 or more", got)
		}
	})
}

// TestReplicaWithoutPlaceDoesNotVote has a replica that has lost its state leave the others without a majority.
func TestReplicaWithoutPlaceDoesNotVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(5)
		l := c.leader()
		others := c.others(l)
		l.crash()
		others[0].wipe()
		others[0].start()
		time.Sleep(time.Minute)
		if s := others[1].group().Status(); s.Leads {
			t.Errorf("it leads, by the vote of one that has lost its state: %+v", s)
		}
		l.start()
		c.settle()
	})
}

// TestLaterTermOfPlace has a group begin again at a place that is later than all that was before.
func TestLaterTermOfPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 1)
		defer c.close()
		n := c.nodes[0]
		n.stop()
		n.disk = newDisk(9)
		place := group.Birth([]string{n.name})
		place.Index, place.Term = 5<<40, 5<<32
		n.disk.flushed = &snapshot{place: place}
		n.start()
		c.fill(2)
		if s := n.group().Status(); s.Term <= place.Term || s.Last <= place.Index {
			t.Errorf("it leads in term %d and has entry %d, want more than %d and %d", s.Term, s.Last, place.Term, place.Index)
		}
		c.settle()
	})
}

// TestCompare has every replica look at its state at the same entry.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(5)
		l := c.leader()
		for _, n := range c.nodes {
			n.group().Compare() // only the leader's counts
		}
		for range 5 {
			c.propose1(l, 0)
		}
		c.settle()
		for _, n := range c.nodes {
			n.mu.Lock()
			got := n.compared
			n.mu.Unlock()
			if len(got) != 1 || got[0] != l.compared[0] {
				t.Errorf("%s has looked at %v, want %v", n.name, got, l.compared)
			}
		}
	})
}
