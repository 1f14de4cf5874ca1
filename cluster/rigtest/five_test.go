//go:build unix

package rigtest_test

import (
	"testing"

	"runnel/cluster/rigtest"
)

// TestStreamFive: with five servers and replicas on all of them any two may be away, whether they end or are cut off, and
// even if the leader is one of them.
func TestStreamFive(t *testing.T) {
	w := newWorldOf(t, rigtest.Config{Servers: 5}, func(c *rigtest.Cluster, _ *rigtest.Node) []*rigtest.Node { return c.Nodes[:3] })
	for range fives {
		two := w.RandomSome(2)
		for _, n := range two {
			n.Kill()
		}
		w.writers.Progress(50)
		for _, n := range two {
			n.Start()
		}
		w.whole()

		w.Lead(w.nc, stream, w.Nodes[4])
		w.Part(w.Nodes[3:]...) // clients are at the others
		w.writers.Progress(50)
		w.Heal()
		w.whole()

		for _, n := range w.Nodes {
			n.LameDuck()
			w.writers.Progress(20)
			n.Start()
			w.whole()
		}
	}
	w.verify()
}
