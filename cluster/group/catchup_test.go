package group_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
)

func TestLaggingFollowerGetsEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		n := c.others(c.leader())[0]
		n.crash()
		c.fill(30)
		n.start()
		c.settle()
		if n.machine.installs != 0 {
			t.Error("it got a checkpoint, and the log was there")
		}
	})
}

func TestLaggingFollowerGetsCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(5)
		n := c.others(c.leader())[0]
		n.crash()
		c.fill(30)
		for _, o := range c.others(n) {
			o.machine.flush()
		}
		n.start()
		c.settle()
		if n.machine.installs != 1 {
			t.Errorf("%d checkpoints were installed, want 1", n.machine.installs)
		}
		// What came afterwards is on its disk, and it can lead.
		c.fill(5)
		for _, o := range c.others(n) {
			o.crash()
			o.start()
		}
		n.crash()
		n.start()
		c.settle()
	})
}

// TestCheckpointIsSentAgain has the answer to a checkpoint get lost: who has it goes on from there, without another one.
func TestCheckpointIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.window = 0
		for _, o := range c.nodes {
			o.machine.mu.Lock()
			o.machine.window = 0
			o.machine.mu.Unlock()
		}
		c.fill(5)
		n := c.others(c.leader())[0]
		n.crash()
		c.fill(30)
		for _, o := range c.others(n) {
			o.machine.flush()
		}
		var lost atomic.Int64
		c.net.mu.Lock()
		c.net.mute = func(request any) bool {
			_, ok := request.(*raft.InstallSnapshotRequest)
			return ok && lost.Add(1) == 1
		}
		c.net.mu.Unlock()
		n.start()
		c.until("the checkpoint", func() bool { return lost.Load() > 0 })
		// The third one ends: without the one that has the checkpoint nothing can be confirmed.
		for _, o := range c.others(n) {
			if o != c.leader() {
				o.crash()
				defer o.start()
			}
		}
		begin := time.Now()
		c.fill(1)
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("it goes on after %v", took)
		}
		if n.machine.installs != 1 {
			t.Errorf("%d checkpoints were installed, want 1", n.machine.installs)
		}
	})
}

// TestCheckpointReplacesLongerLog has a replica install a checkpoint though its log goes further than that, in another way.
func TestCheckpointReplacesLongerLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.window = 0
		c.fill(5)
		old := c.leader()
		c.net.isolate(old.name, c.names()...)
		for range 16 {
			c.propose1(old, 256<<10) // entries that only it has
		}
		c.until("another leader", func() bool { return !old.group().Status().Leads })
		c.until("a leader", func() bool {
			l := c.leader()
			_, err := c.propose(l, 0)
			return err == nil
		})
		l := c.leader()
		if old.last() <= l.last() {
			t.Fatalf("its log ends at %d, the new one at %d: the test wants it longer", old.last(), l.last())
		}
		for _, o := range c.others(old) {
			o.machine.mu.Lock()
			o.machine.window = 0
			o.machine.mu.Unlock()
			o.machine.flush()
		}
		c.net.heal()
		c.settle()
		if old.machine.installs == 0 {
			t.Error("it got no checkpoint: the test wants one")
		}
		old.crash()
		old.start()
		c.settle()
	})
}

// TestCrashAfterCheckpoint has the power go between the installation and the end of the old log.
func TestCrashAfterCheckpoint(t *testing.T) {
	tests := []struct {
		name  string
		place group.Place
		want  uint64 // where the log ends after Open
	}{
		{"the log ends before it", group.Place{Index: 40, Term: 3}, 0},
		{"the log has other entries there", group.Place{Index: 8, Term: 3}, 0},
		{"the log has the same entry there", group.Place{Index: 8, Term: 1}, 12},
		{"the log begins behind it", group.Place{Index: 2, Term: 1}, 12},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, 1)
				defer c.close()
				n := c.nodes[0]
				n.stop()
				n.disk = newDisk(1)
				l := n.disk.open()
				var entries []group.Entry
				for i := uint64(3); i <= 12; i++ {
					entries = append(entries, group.Entry{Index: i, Term: 1, Type: uint8(raft.LogNoop)})
				}
				_ = l.Append(context.Background(), entries)
				time.Sleep(time.Second)
				test.place.Configuration = group.Birth([]string{"n1", "x", "y"}).Configuration
				n.disk.flushed = &snapshot{place: test.place}
				c.net.isolate(n.name, c.names()...)
				n.start()
				if got := n.machine.log.Last(); got != test.want {
					t.Errorf("the log ends at %d, want %d", got, test.want)
				}
			})
		})
	}
}

// TestLateCheckpointIsRefused sends checkpoints that the replica is past: what it has confirmed since must stay.
func TestLateCheckpointIsRefused(t *testing.T) {
	tests := []struct {
		name  string
		index func(n *node) uint64
		want  string
	}{
		{"it is applied", func(n *node) uint64 { return n.machine.Applied() }, "is applied here"},
		{"it is in the log", (*node).last, "goes on from there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, 1)
				defer c.close()
				c.fill(10)
				l := c.leader()
				n := c.others(l)[0]
				l.disk.take(5 * time.Second) // so that the others have what they may not apply
				c.propose1(l, 0)
				time.Sleep(time.Second)
				if n.last() <= n.machine.Applied() {
					t.Fatal("the log does not go further than the state: the test wants it to")
				}
				last := n.last()
				if err := c.sendCheckpoint(l, n, test.index(n)); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want one that says %q", err, test.want)
				}
				if got := n.last(); got != last {
					t.Errorf("the log ends at %d, and did at %d", got, last)
				}
				l.disk.take(0)
				c.settle()
			})
		})
	}
}

// sendCheckpoint sends a checkpoint that is no good to a node.
func (c *cluster) sendCheckpoint(l, n *node, index uint64) error {
	term := l.group().Status().Term
	request := &raft.InstallSnapshotRequest{
		RPCHeader:       raft.RPCHeader{ProtocolVersion: 3, ID: []byte(l.name), Addr: []byte(l.name)},
		SnapshotVersion: 1, Term: term, LastLogIndex: index, LastLogTerm: term, Size: 3,
		Configuration: raft.EncodeConfiguration(raft.Configuration{}), ConfigurationIndex: 2,
	}
	e, _ := c.net.open(l.name, l.name)
	return e.InstallSnapshot("", raft.ServerAddress(n.name), request, &raft.InstallSnapshotResponse{}, bytes.NewReader([]byte("old")))
}

// TestReplicaWithoutPlaceWaits has a new replica wait for its checkpoint.
func TestReplicaWithoutPlaceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		n := c.addNode("n4")
		n.start()
		time.Sleep(time.Minute)
		if s := n.group().Status(); s.Leader != "" || s.Term != 0 || s.Voter {
			t.Errorf("its status is %+v", s)
		}
		n.stop()
		c.settle()
	})
}

func TestPeerBackIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		n := c.others(l)[0]
		c.net.isolate(n.name, c.names()...)
		c.fill(3)
		time.Sleep(time.Minute)
		c.net.heal()
		if l := c.leader(); l == n {
			t.Fatal("the one that was cut off leads")
		}
		for _, o := range c.nodes {
			o.group().Reached()
		}
		begin := time.Now()
		c.until("it catches up", func() bool { return len(n.machine.list()) == len(c.leader().machine.list()) })
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it has caught up after %v", took)
		}
		c.settle()
	})
}

// TestNudge has something go to the others though nothing is proposed.
func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		before := l.last()
		l.group().Nudge()
		c.others(l)[0].group().Nudge() // which does not lead
		c.until("an entry", func() bool { return l.last() > before })
		if got := l.last(); got != before+1 {
			t.Errorf("%d entries, want 1", got-before)
		}
		c.settle()
	})
}

// TestEntriesAfterLosses loses all entries for a while. When that ends, they are on their way again soon: the pauses between
// attempts have not become long meanwhile.
func TestEntriesAfterLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		var losing atomic.Bool
		losing.Store(true)
		c.net.mu.Lock()
		c.net.lose = func(request any) bool {
			r, ok := request.(*raft.AppendEntriesRequest)
			return ok && len(r.Entries) > 0 && losing.Load()
		}
		c.net.mu.Unlock()
		answer := c.propose1(l, 0)
		time.Sleep(15 * time.Second)
		losing.Store(false)
		begin := time.Now()
		if err := <-answer; err != nil {
			t.Fatalf("the proposal: %v", err)
		}
		// An attempt that was lost has a second to be answered.
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("committed after %v", took)
		}
		c.settle()
	})
}
