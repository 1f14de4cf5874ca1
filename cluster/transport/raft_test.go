package transport_test

import (
	"testing"
	"time"
)

func TestGroupsElectAndCommit(t *testing.T) {
	inCluster(t, 20, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		for id := range uint64(20) {
			for v := range uint64(5) {
				c.propose(id, v)
			}
		}
		c.wait("everything applied everywhere", time.Second, func() bool {
			for id := range uint64(20) {
				if !c.has(id, []uint64{0, 1, 2, 3, 4}, c.names...) {
					return false
				}
			}
			return true
		})
	})
}
