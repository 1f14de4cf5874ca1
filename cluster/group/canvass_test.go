package group_test

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestCanvass: a replica learns whether it would be elected, and nobody is disturbed by the question.
func TestCanvass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		behind, other := c.others(l)[0], c.others(l)[1]
		canvass := func(n *node, want bool, when string) {
			t.Helper()
			if got := n.group().Canvass(context.Background()); got != want {
				t.Errorf("%s, %s would be elected: %v, want %v", when, n.name, got, want)
			}
		}
		canvass(behind, false, "while somebody leads")
		if !l.group().Status().Leads {
			t.Error("the leader was disturbed")
		}

		c.net.isolate(behind.name, c.names()...)
		canvass(behind, false, "while it is cut off")
		c.fill(3)
		for _, n := range c.nodes {
			n.stop()
		}
		c.net.heal()
		for _, n := range c.nodes {
			n.start()
		}
		term := other.group().Term()
		canvass(behind, false, "while it lacks entries")
		canvass(other, true, "while nobody leads")
		if now := other.group().Term(); now != term {
			t.Errorf("the term went from %d to %d by questions", term, now)
		}
		if err := other.group().Campaign(); err != nil {
			t.Fatal(err)
		}
		c.until("it leads", func() bool { return other.group().Status().Leads })
		c.settle()
	})
}
