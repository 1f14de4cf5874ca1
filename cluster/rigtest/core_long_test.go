//go:build unix && long

package rigtest_test

import (
	"testing"

	"runnel/cluster/rigtest"
)

// TestCoreRollingRestart: servers that are restarted one after the other, with a good-bye to their clients, are missed by
// no request.
func TestCoreRollingRestart(t *testing.T) {
	c := rigtest.Start(t, rigtest.Config{})
	requests, chatter := c.StartRequests(4, quick), c.StartChatter(quick)
	for range restarts {
		for _, n := range c.Nodes {
			n.LameDuck()
			requests.Progress(50)
			n.Start()
			c.WaitReady()
		}
	}
	requests.Stop()
	chatter.Stop()
}
