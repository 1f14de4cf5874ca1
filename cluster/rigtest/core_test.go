//go:build unix

package rigtest_test

import (
	"testing"
	"time"

	"runnel/cluster/rigtest"
)

// quick is the pause between the messages of a load that is to leave the machine some room.
const quick = 2 * time.Millisecond

// TestCoreKill: a server that is gone without a word takes nothing with it.
func TestCoreKill(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{})
	requests, chatter := c.StartRequests(4, quick), c.StartChatter(quick)
	for range kills {
		n := c.Random()
		n.Kill()
		requests.Progress(50)
		n.Start()
		c.WaitReady()
	}
	requests.Stop()
	chatter.Stop()
}

// TestCoreNetwork: whatever the network between the servers does, clients of each of them are served, and when it is
// whole again, so is the cluster.
func TestCoreNetwork(t *testing.T) {
	tests := []struct {
		name  string
		times int
		fault func(c *rigtest.Cluster, n, other *rigtest.Node)
	}{
		{"slow", 1, func(c *rigtest.Cluster, n, other *rigtest.Node) { c.Delay(n, other, 20*time.Millisecond) }},
		{"cut", 1, (*rigtest.Cluster).Cut},
		{"cut in one direction", 1, (*rigtest.Cluster).CutFrom},
		{"one server alone", 1, func(c *rigtest.Cluster, n, _ *rigtest.Node) { c.Isolate(n) }},
		{"resets", resets, func(c *rigtest.Cluster, n, _ *rigtest.Node) { c.ResetAll(n) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := rigtest.Start(t, rigtest.Config{})
			requests, chatter := c.StartRequests(4, quick), c.StartChatter(quick)
			for range tt.times {
				tt.fault(c, c.Nodes[0], c.Nodes[1])
				requests.Progress(10)
			}
			c.Heal()
			c.WaitReady()
			requests.Stop()
			chatter.Stop()
		})
	}
}

// TestCoreParted: a cut that lasts is noticed, and the servers find each other again after it.
func TestCoreParted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		cut  func(c *rigtest.Cluster, a, b *rigtest.Node)
	}{
		{"both directions", (*rigtest.Cluster).Cut},
		{"one direction", (*rigtest.Cluster).CutFrom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := rigtest.Start(t, rigtest.Config{PingInterval: time.Second})
			requests, chatter := c.StartRequests(2, quick), c.StartChatter(quick)
			a, b := c.Nodes[0], c.Nodes[1]
			tt.cut(c, a, b)
			c.WaitParted(a, b)
			requests.Progress(50)
			c.Heal()
			c.WaitReady()
			requests.Stop()
			chatter.Stop()
		})
	}
}

// TestCoreSeed: servers that know one of them only find each other, and go on without it.
func TestCoreSeed(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{Direct: true})
	requests, chatter := c.StartRequests(2, quick), c.StartChatter(quick)
	seed := c.Nodes[0]
	seed.Kill()
	c.WaitReady()
	requests.Progress(50)
	seed.Start()
	c.WaitReady()
	requests.Stop()
	chatter.Stop()
}
