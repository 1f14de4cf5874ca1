package group_test

import (
	"testing"
	"testing/synctest"
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
