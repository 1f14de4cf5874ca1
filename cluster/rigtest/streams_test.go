//go:build unix

package rigtest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/cluster/rigtest"
)

// stream is the name of the stream that the scenarios break.
const stream = "LOAD"

// slack is the pause between the messages of a load that runs beside others.
const slack = 10 * time.Millisecond

// world is a cluster with a replicated stream that is written, followed and consumed.
type world struct {
	*rigtest.Cluster
	t       *testing.T
	nc      *nats.Conn // of who looks
	ledger  *rigtest.Ledger
	writers *rigtest.Writers
	reader  *rigtest.Reader
	workers *rigtest.Workers
}

// newWorld starts all of it. Clients are connected to the servers that the function names, given the stream's leader, and
// otherwise to any.
func newWorld(t *testing.T, clients func(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node) *world {
	t.Helper()
	return newWorldOf(t, rigtest.Config{Servers: 3}, clients)
}

// newWorldOf starts a world of other servers, all of which have a replica.
func newWorldOf(t *testing.T, cfg rigtest.Config, clients func(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node) *world {
	t.Helper()
	t.Parallel() // mostly it waits
	cfg.JetStream, cfg.SyncAlways = true, true
	return inhabit(t, rigtest.Start(t, cfg), clients)
}

// inhabit makes a world of a cluster.
func inhabit(t *testing.T, c *rigtest.Cluster, clients func(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node) *world {
	t.Helper()
	w := &world{t: t, Cluster: c, ledger: rigtest.NewLedger()}
	w.CreateStream(w.Connect(), stream, len(c.Nodes))
	nodes := w.Nodes
	if clients != nil {
		nodes = clients(w.Cluster, w.Cluster.Leader(w.Connect(), stream))
	}
	w.nc = rigtest.Connect(t, nodes)
	w.WaitReplicas(w.nc, stream)
	w.writers = rigtest.StartWriters(t, rigtest.Connect(t, nodes), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "w", Count: 4, Pause: slack})
	w.reader = rigtest.StartReader(t, rigtest.Connect(t, nodes), stream)
	w.workers = rigtest.StartWorkers(t, rigtest.Connect(t, nodes), stream, "WORK", 2)
	w.writers.Progress(50)
	return w
}

// verify heals what is broken and holds what clients were told against what is there.
func (w *world) verify() {
	w.t.Helper()
	w.Heal()
	w.WaitReady()
	w.writers.Progress(50)
	w.writers.Stop()
	w.reader.Stop(w.nc, w.ledger)
	w.workers.Stop(w.ledger)
	w.VerifyStream(stream, w.ledger)
}

// whole waits until all servers are there and have what the leader of the stream has.
func (w *world) whole() {
	w.t.Helper()
	w.WaitReady()
	w.WaitReplicas(w.nc, stream)
}

// others connects clients to the servers that do not lead.
func others(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node { return c.Others(leader) }

// TestStreamRollingRestart: servers that are restarted one after the other lose nothing that was acknowledged, and no
// publisher waits longer than its retries.
func TestStreamRollingRestart(t *testing.T) {
	w := newWorld(t, nil)
	requests, chatter := w.StartRequests(2, slack), w.StartChatter(slack)
	for range restarts {
		for _, n := range w.Nodes {
			n.LameDuck()
			w.writers.Progress(20)
			n.Start()
			w.whole()
		}
	}
	requests.Stop()
	w.verify()
	chatter.Stop()
}

// TestStreamKill: one server of three may end at any time without a word.
func TestStreamKill(t *testing.T) {
	w := newWorld(t, nil)
	for range kills {
		n := w.Random()
		n.Kill()
		w.writers.Progress(50)
		n.Start()
		w.whole()
	}
	w.verify()
}

// TestStreamLeaderCut: when nobody can reach the leader, the others go on with another one, and the old one has what they
// have once it is back.
func TestStreamLeaderCut(t *testing.T) {
	leaderAway(t, func(c *rigtest.Cluster, leader *rigtest.Node) { c.Isolate(leader) }, nil)
}

// TestStreamLeaderPaused: the same for a leader that does nothing, and does not know.
func TestStreamLeaderPaused(t *testing.T) {
	leaderAway(t, func(_ *rigtest.Cluster, leader *rigtest.Node) { leader.Pause() }, (*rigtest.Node).Resume)
}

// leaderAway takes the leader of the stream away, and gives it back when the others have gone on without it.
func leaderAway(t *testing.T, fault func(c *rigtest.Cluster, leader *rigtest.Node), heal func(leader *rigtest.Node)) {
	t.Helper()
	w := newWorld(t, others)
	leader := w.Leader(w.nc, stream)
	// Clients of the leader itself may have to wait until it is back, and lose nothing either.
	left := rigtest.StartWriters(t, rigtest.Connect(t, []*rigtest.Node{leader}), w.ledger, rigtest.WriterConfig{Stream: stream, Prefix: "left", Count: 2, Pause: slack})
	left.Progress(10)
	fault(w.Cluster, leader)
	w.writers.Progress(100)
	if heal != nil {
		heal(leader)
	}
	w.Heal()
	left.Progress(10)
	left.Stop()
	w.verify()
}

// TestStreamOtherMajority: a follower that was away is one of the two that go on when one of the others ends. They have
// what was acknowledged without it.
func TestStreamOtherMajority(t *testing.T) {
	var follower *rigtest.Node
	w := newWorld(t, func(c *rigtest.Cluster, leader *rigtest.Node) []*rigtest.Node {
		others := c.Others(leader)
		follower = others[0]
		return []*rigtest.Node{leader, others[1]}
	})
	leader := w.Leader(w.nc, stream)
	w.Isolate(follower)
	w.writers.Progress(100)
	leader.Kill()
	w.Heal()
	w.writers.Progress(100)
	leader.Start()
	w.verify()
}

// TestStreamNoQuorum: a server that is left alone says so to whoever asks, and takes nothing that it could not keep. When
// the others are back, all is as before.
func TestStreamNoQuorum(t *testing.T) {
	w := newWorld(t, nil)
	last := w.Random()
	for _, n := range w.Others(last) {
		n.Kill()
	}
	nc := last.Connect()
	rigtest.Eventually(t, "word that the stream has no leader", func() error {
		_, err := rigtest.StreamInfo(nc, stream)
		answer := new(jetstream.APIError)
		if errors.Is(err, rigtest.ErrNoLeader) || errors.As(err, &answer) && answer.Code == 503 {
			return nil
		}
		return fmt.Errorf("got %v", err)
	})
	for _, n := range w.Others(last) {
		n.Start()
	}
	w.verify()
}

// TestStreamsComeAndGo: streams that are made and deleted while servers end are there, or not, as their makers were told.
// Three replicas can be placed all the time.
func TestStreamsComeAndGo(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{JetStream: true, Servers: 4})
	makers := c.StartMakers(c.Connect(), 4, slack)
	for range kills {
		makers.Progress(10)
		n := c.Random()
		n.Kill()
		makers.Progress(10)
		n.Start()
	}
	makers.Stop()
	c.WaitReady()
}

// TestStreamsMany: the streams that a server leads have other leaders when it ends, however many they are.
func TestStreamsMany(t *testing.T) {
	t.Parallel()
	c := rigtest.Start(t, rigtest.Config{JetStream: true})
	nc := c.Connect()
	var writers []*rigtest.Writers
	ledgers := make(map[string]*rigtest.Ledger)
	for i := range streams {
		name := fmt.Sprintf("S%d", i+1)
		c.CreateStream(nc, name, 3)
		ledgers[name] = rigtest.NewLedger()
		writers = append(writers, rigtest.StartWriters(t, nc, ledgers[name], rigtest.WriterConfig{Stream: name, Prefix: "w", Count: 1, Pause: time.Second}))
	}
	progress := func(what string) {
		t.Helper()
		begin := time.Now()
		rigtest.ProgressAll(t, writers, 1)
		t.Logf("%s: %d streams have taken a message after %v", what, streams, time.Since(begin))
	}
	progress("at the beginning")
	n := c.Leader(nc, "S1")
	n.Kill()
	progress("with a server killed")
	n.Start()
	c.WaitReady()
	progress("with the server back")
	for _, w := range writers {
		w.Stop()
	}
	for name, l := range ledgers {
		c.WaitReplicas(nc, name)
		c.VerifyLeader(nc, name, l)
	}
}

// TestStreamWiped: a server that has lost its disk comes back as a new one, and gets everything from the others.
func TestStreamWiped(t *testing.T) {
	w := newWorld(t, nil)
	n := w.Random()
	n.Kill()
	n.Wipe()
	w.writers.Progress(50)
	n.Start()
	w.WaitReady()
	w.verify()
}

// TestStreamResets: connections between servers that break again and again do not matter.
func TestStreamResets(t *testing.T) {
	w := newWorld(t, nil)
	for range resets {
		w.ResetAll(w.Random())
		w.writers.Progress(10)
	}
	w.verify()
}
