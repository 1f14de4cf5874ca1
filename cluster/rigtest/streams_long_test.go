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

// TestStreamFarBehind: a follower that lacks more than the others keep in their logs gets the whole state, while they go on.
func TestStreamFarBehind(t *testing.T) {
	w := newWorld(t, func(_ *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node { return []*rigtest.Node{leader} })
	leader := w.Leader(w.nc, stream)
	w.Isolate(w.Others(leader)[0])
	large := rigtest.StartWriters(t, leader.Connect(), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "large", Count: 8, Bytes: 256 << 10})
	large.Progress(400)
	w.Heal()
	w.writers.Progress(10)
	large.Stop()
	w.verify()
}

// TestStreamWipedLarge: so does one whose disk is new.
func TestStreamWipedLarge(t *testing.T) {
	w := newWorld(t, nil)
	large := rigtest.StartWriters(t, w.Connect(), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "large", Count: 8, Bytes: 256 << 10})
	large.Progress(400)
	large.Stop()
	n := w.Random()
	n.Kill()
	n.Wipe()
	w.writers.Progress(10)
	n.Start()
	w.WaitReady()
	w.verify()
}

// TestStreamStorm: faults of all kinds come one after the other, now and then two at a time, and each goes away again. The
// next one comes as soon as the servers say that its victim is not needed.
func TestStreamStorm(t *testing.T) {
	newWorld(t, nil).storm(storms)
}

// TestStreamStormFive: the same with five servers, where the faults of two servers come together.
func TestStreamStormFive(t *testing.T) {
	newWorldOf(t, rigtest.Config{Servers: 5}, nil).storm(storms / 2)
}

// fault is something that happens to a server, and maybe to what is between it and another one. What end does not undo goes away
// when the network heals.
type fault struct {
	name  string
	begin func(n, other *rigtest.Node)
	end   func(n *rigtest.Node)
}

// faults are all that can happen.
func (w *world) faults() []fault {
	return []fault{
		{"kill", func(n, _ *rigtest.Node) { n.Kill() }, (*rigtest.Node).Start},
		{"stop", func(n, _ *rigtest.Node) { n.Stop() }, (*rigtest.Node).Start},
		{"wipe", func(n, _ *rigtest.Node) { n.Kill(); n.Wipe() }, (*rigtest.Node).Start},
		{"pause", func(n, _ *rigtest.Node) { n.Pause() }, (*rigtest.Node).Resume},
		{"isolate", func(n, _ *rigtest.Node) { w.Isolate(n) }, nil},
		{"cut", func(n, other *rigtest.Node) { w.Cut(n, other) }, nil},
		{"cut one way", func(n, other *rigtest.Node) { w.CutFrom(n, other) }, nil},
		{"slow", func(n, other *rigtest.Node) { w.Delay(n, other, 30*time.Millisecond) }, nil},
		{"reset", func(n, _ *rigtest.Node) { w.ResetAll(n) }, nil},
		{"restart and reset", func(n, other *rigtest.Node) { n.Kill(); w.ResetAll(other) }, (*rigtest.Node).Start},
		{"kill while slow", func(n, other *rigtest.Node) { w.Delay(n, other, 30*time.Millisecond); n.Kill() }, (*rigtest.Node).Start},
	}
}

// storm has faults come and go, at as many servers at a time as a minority is.
func (w *world) storm(rounds int) {
	w.t.Helper()
	faults := w.faults()
	for range rounds {
		var ends []func()
		for _, n := range w.RandomSome((len(w.Nodes) - 1) / 2) {
			f := faults[w.Choose(len(faults))]
			if len(ends) == 0 {
				w.WaitSafe(n)
			}
			w.t.Logf("%s: %s", n.Name, f.name)
			others := w.Others(n)
			f.begin(n, others[w.Choose(len(others))])
			ends = append(ends, func() {
				if f.end != nil {
					f.end(n)
				}
			})
		}
		// Clients of a server that is cut off wait until it is back, the others go on; so no progress is asked for here.
		w.Pass(time.Duration(w.Choose(4000)) * time.Millisecond)
		for _, end := range ends {
			end()
		}
		w.Heal()
		w.whole()
		w.writers.Progress(20)
	}
	w.verify()
}
