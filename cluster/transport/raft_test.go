package transport_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// TestGroupsElectAndCommit also waits no longer for idle followers than for the next ping: raft alone would tell them
// after CommitTimeout.
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

// TestIdleClusterStaysIdle lets ten minutes pass in which nobody has anything to say.
func TestIdleClusterStaysIdle(t *testing.T) {
	inCluster(t, 3, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		terms := map[uint64]uint64{}
		for id := range uint64(3) {
			terms[id] = c.leader(id).groups[id].raft.CurrentTerm()
		}
		after(10 * time.Minute)
		for id := range uint64(3) {
			if got := c.leader(id).groups[id].raft.CurrentTerm(); got != terms[id] {
				t.Errorf("group %d is in term %d, was in term %d", id, got, terms[id])
			}
			if got := c.leader(id).groups[id].raft.AppliedIndex(); got > 10 {
				t.Errorf("group %d has %d entries: it was nudged for nothing", id, got)
			}
		}
	})
}

// TestLeaderIsCutOff cuts off the server that leads, and heals the network again.
func TestLeaderIsCutOff(t *testing.T) {
	inCluster(t, 20, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		c.propose(0, 1)
		old := c.leader(0).name
		c.net.Isolate(old)
		c.wait("another leader", 20*time.Second, func() bool {
			for id := range uint64(20) {
				if l := c.leader(id); l == nil || l.name == old {
					return false
				}
			}
			return true
		})
		for id := range uint64(20) {
			c.propose(id, 2)
		}
		if got, _ := c.servers[old].groups[0].fsm.state(); fmt.Sprint(got) != "[1]" {
			t.Errorf("who is cut off has applied %v, want [1]", got)
		}
		c.net.HealAll()
		c.wait("the old leader has caught up", 3*time.Second, func() bool {
			for id := uint64(1); id < 20; id++ {
				if !c.has(id, []uint64{2}, c.names...) {
					return false
				}
			}
			return c.has(0, []uint64{1, 2}, c.names...)
		})
	})
}

// TestFollowerMissesEntries breaks the links of a follower in many ways while entries flow. Although nothing is proposed
// afterwards it must have them soon, which raft alone would not see to before its CommitTimeout.
func TestFollowerMissesEntries(t *testing.T) {
	tests := []struct {
		name   string
		away   time.Duration
		harm   func(c *cluster, leader, follower string)
		within time.Duration
	}{
		{"cut", 5 * time.Second, func(c *cluster, l, f string) { c.net.Cut(l, f) }, 3 * time.Second},
		{"cut for long", 10 * time.Minute, func(c *cluster, l, f string) { c.net.Cut(l, f); c.net.Isolate(f) }, 6 * time.Second},
		{"reset", 0, func(c *cluster, l, f string) { c.net.Break(l, f) }, 3 * time.Second},
		{"reset on the way", 5 * time.Millisecond, func(c *cluster, l, f string) { c.net.Break(l, f) }, 3 * time.Second},
		{"frozen", 3 * time.Second, func(c *cluster, l, f string) { c.net.Freeze(l, f) }, 3 * time.Second},
		{"frozen for long", time.Minute, func(c *cluster, l, f string) { c.net.Freeze(l, f); c.net.Freeze(f, l) }, 6 * time.Second},
		{"answers frozen", 20 * time.Second, func(c *cluster, l, f string) { c.net.Freeze(f, l) }, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inCluster(t, 2, func(c *raft.Config) { c.MaxAppendEntries = 8 }, func(t *testing.T, c *cluster) {
				c.elected(10 * time.Second)
				leader := c.leader(0).name
				follower := c.others(leader)[0]
				c.net.Delay(leader, follower, 3*time.Millisecond)
				var want []uint64
				for v := range uint64(100) {
					c.propose(0, v)
					want = append(want, v)
					if v == 20 {
						tt.harm(c, leader, follower)
						after(tt.away)
					}
				}
				c.net.HealAll()
				c.wait("the follower has everything", tt.within, func() bool {
					return c.has(0, want, c.names...)
				})
			})
		})
	}
}

// TestFollowerStartsAgain stops a follower and starts it with what it has stored.
func TestFollowerStartsAgain(t *testing.T) {
	inCluster(t, 3, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		c.propose(0, 1)
		follower := c.servers[c.others(c.leader(0).name)[0]]
		c.net.Leave(follower.name)
		follower.stop()
		c.elected(20 * time.Second) // of the groups that it led
		c.propose(0, 2)
		c.start(follower.name, transport.Config{}).stop() // with nothing stored: only to have it come and go
		c.net.Leave(follower.name)
		again := &server{name: follower.name, trans: transport.New(transport.Config{Node: follower.name}), groups: map[uint64]*replica{}}
		c.servers[again.name] = again
		for id := range uint64(3) {
			c.open(again, id, follower.groups[id])
		}
		c.net.Join(again.name, again.trans)
		c.wait("it knows what was committed", 4*time.Second, func() bool { return c.has(0, []uint64{1, 2}, c.names...) })
	})
}

// TestSnapshotTakesLong installs a snapshot on a follower that needs a minute to restore it.
func TestSnapshotTakesLong(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		t.Run(fmt.Sprintf("link breaks %v", breaks), func(t *testing.T) {
			inCluster(t, 2, nil, func(t *testing.T, c *cluster) {
				c.elected(10 * time.Second)
				leader := c.leader(0)
				follower := c.servers[c.others(leader.name)[0]]
				c.net.Isolate(follower.name)
				synctest.Wait()
				var want []uint64
				for v := range uint64(200) { // more than fit into a request that waits for the link
					c.propose(0, v)
					want = append(want, v)
				}
				if err := leader.groups[0].raft.Snapshot().Error(); err != nil {
					t.Fatal(err)
				}
				follower.groups[0].fsm.slow = time.Minute
				c.net.HealAll()
				if breaks {
					after(20 * time.Second)
					c.net.Break(leader.name, follower.name)
				}
				c.wait("the snapshot is installed", 4*time.Minute, func() bool { return c.has(0, want, follower.name) })
				if got := c.leader(0); got == nil || got.name != leader.name {
					t.Errorf("the leader has changed while the snapshot was installed")
				}
				_, restored := follower.groups[0].fsm.state()
				if !breaks && restored != 1 || restored > 2 {
					t.Errorf("the snapshot was restored %d times", restored)
				}
				c.propose(0, 99)
				c.wait("what comes after it, and after a second installation", 4*time.Minute, func() bool { return c.has(0, append(want, 99), c.names...) })
			})
		})
	}
}

// TestTimeoutNowIsInjected lets a follower take over from a leader that a majority does not reach, long before raft
// would have missed it.
func TestTimeoutNowIsInjected(t *testing.T) {
	slow := func(c *raft.Config) {
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = 10*time.Second, 10*time.Second, 4*time.Second
	}
	inCluster(t, 5, slow, func(t *testing.T, c *cluster) {
		c.wait("links", time.Second, func() bool { return c.servers["aaa"].trans.Reach().Majority(c.names, "bbb") })
		for id := range uint64(5) {
			if err := c.servers["aaa"].trans.TimeoutNow(id); err != nil {
				t.Fatal(err)
			}
		}
		c.elected(time.Second)
		c.net.Leave("aaa")
		survivor := c.servers["bbb"].trans
		took := within(func() {
			c.wait("a verdict", 2*time.Second, func() bool { return !survivor.Reach().Majority(c.names, "aaa") })
			for id := range uint64(5) {
				if err := survivor.TimeoutNow(id); err != nil {
					t.Fatal(err)
				}
			}
			c.wait("the survivor leads", time.Second, func() bool {
				for id := range uint64(5) {
					if c.leader(id) != c.servers["bbb"] {
						return false
					}
				}
				return true
			})
		})
		if took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLeadershipIsTransferred uses raft's own TimeoutNow, over the network.
func TestLeadershipIsTransferred(t *testing.T) {
	inCluster(t, 1, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		leader := c.leader(0)
		to := c.others(leader.name)[1]
		c.propose(0, 1)
		if err := leader.groups[0].raft.LeadershipTransferToServer(raft.ServerID(to), raft.ServerAddress(to)).Error(); err != nil {
			t.Fatalf("transfer: %v", err)
		}
		c.wait("the other one leads", time.Second, func() bool { return c.leader(0) == c.servers[to] })
		c.propose(0, 2)
	})
}

// TestGroupClosesWhileCutOff closes a leader whose requests wait for peers that are not there.
func TestGroupClosesWhileCutOff(t *testing.T) {
	inCluster(t, 2, nil, func(t *testing.T, c *cluster) {
		c.elected(10 * time.Second)
		leader := c.leader(0)
		c.net.Isolate(leader.name)
		go leader.groups[0].propose(1)
		after(500 * time.Millisecond)
		if took := within(leader.groups[0].close); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if got := leader.groups[0].group.Progress(); len(got) != 2 || got[0].Pending+got[1].Pending != 0 {
			t.Errorf("progress after the end: %+v", got)
		}
	})
}
