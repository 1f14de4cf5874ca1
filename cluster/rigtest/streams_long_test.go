//go:build unix && long

package rigtest_test

import (
	"testing"
	"time"

	"runnel/cluster/rigtest"
)

// TestStreamLeaderMute: a leader whom nobody hears, though it hears the others, is replaced.
func TestStreamLeaderMute(t *testing.T) {
	leaderAway(t, func(c *rigtest.Cluster, leader *rigtest.Node) {
		for _, n := range c.Others(leader) {
			c.CutFrom(leader, n)
		}
	}, nil)
}

// TestStreamLeaderDeaf: so is one that hears nobody, though the others hear it. The incumbent fails here: ids of messages
// that the leader could not replicate stay in process there.
func TestStreamLeaderDeaf(t *testing.T) {
	leaderAway(t, func(c *rigtest.Cluster, leader *rigtest.Node) {
		for _, n := range c.Others(leader) {
			c.CutFrom(n, leader)
		}
	}, nil)
}

// TestStreamKillAll: all servers may end at the same time.
func TestStreamKillAll(t *testing.T) {
	w := newWorld(t, nil)
	for _, n := range w.Nodes {
		n.Kill()
	}
	for _, n := range w.Nodes {
		n.Start()
	}
	w.verify()
}

// TestStreamFollowerAway: what a follower cannot be told meanwhile, it is told later; nobody waits for it.
func TestStreamFollowerAway(t *testing.T) {
	w := newWorld(t, func(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node { return []*rigtest.Node{leader} })
	follower := w.Others(w.Leader(w.nc, stream))[0]
	w.Isolate(follower)
	w.writers.Progress(200)
	w.verify()
}

// TestStreamSlow: nor does a slow network.
func TestStreamSlow(t *testing.T) {
	w := newWorld(t, nil)
	for _, n := range w.Nodes {
		for _, other := range w.Others(n) {
			w.Delay(n, other, 20*time.Millisecond)
		}
	}
	w.writers.Progress(100)
	w.verify()
}
