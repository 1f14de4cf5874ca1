package group_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
)

// last is the end of a node's log.
func (n *node) last() uint64 { return n.group().Status().Last }

func TestProposalsArePacked(t *testing.T) {
	tests := []struct {
		name    string
		sizes   []int
		entries uint64
	}{
		{"one goes at once", []int{8}, 1},
		{"what waits while it is under way goes together", []int{8, 8, 8, 8, 8, 8}, 2},
		{"not more than 256 KiB", []int{8, 100 << 10, 100 << 10, 100 << 10, 100 << 10}, 3},
		{"more than that goes alone", []int{8, 8, 300 << 10, 8}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, 1)
				defer c.close()
				l := c.leader()
				c.fill(1)
				before := l.last()
				l.disk.take(100 * time.Millisecond)
				var answers []<-chan error
				for _, size := range test.sizes {
					answers = append(answers, c.propose1(l, size))
				}
				for i, a := range answers {
					if err := <-a; err != nil {
						t.Errorf("answer %d: %v", i, err)
					}
				}
				if got := l.last() - before; got != test.entries {
					t.Errorf("%d entries, want %d", got, test.entries)
				}
				l.disk.take(0)
				c.settle()
			})
		})
	}
}

func TestFullEntriesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		before := l.last()
		l.disk.take(time.Second)
		for range 5 {
			c.propose1(l, 256<<10)
		}
		time.Sleep(500 * time.Millisecond)
		if got := l.last() - before; got != 5 {
			t.Errorf("%d entries are under way, want 5", got)
		}
		l.disk.take(0)
		c.settle()
	})
}

func TestProposeWhereNobodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		for _, n := range c.others(c.leader()) {
			if _, err := c.propose(n, 0); !errors.Is(err, group.ErrNotLeader) {
				t.Errorf("%s: %v, want %v", n.name, err, group.ErrNotLeader)
			}
		}
		c.settle()
	})
}

func TestProposeWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		l.disk.take(time.Second)
		// 16 entries may be under way, and 4 MiB may wait behind.
		for range 16 + 16 {
			c.propose1(l, 256<<10-100)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		p := &proposal{id: c.ids.Add(1), size: 200 << 10, check: c.check}
		if err := l.group().Propose(ended, p); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v, want %v", err, context.Canceled)
		}
		c.check.answered(p.id, 0, group.ErrNotLeader)
		begin := time.Now()
		answer := c.propose1(l, 200<<10)
		if waited := time.Since(begin); waited < 500*time.Millisecond {
			t.Errorf("waited %v for room, want it to wait for the disk", waited)
		}
		if err := <-answer; err != nil {
			t.Errorf("the answer is %v", err)
		}
		l.disk.take(0)
		c.settle()
	})
}

func TestWaitForRoomEndsWithLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		c.net.isolate(l.name, c.names()...)
		var answers []<-chan error
		for range 16 + 16 {
			answers = append(answers, c.propose1(l, 256<<10-100))
		}
		answers = append(answers, c.propose1(l, 200<<10))
		lost, refused := 0, 0
		for _, a := range answers {
			switch err := <-a; {
			case errors.Is(err, group.ErrLeadershipLost):
				lost++
			case errors.Is(err, group.ErrNotLeader):
				refused++
			default:
				t.Errorf("answer %v", err)
			}
		}
		if lost != 16 || refused != 17 {
			t.Errorf("%d lost and %d refused, want 16 and 17", lost, refused)
		}
		c.net.heal()
		c.settle()
	})
}

// TestFollowComesFirst has the host told before its proposals are.
func TestFollowComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(1)
		l := c.leader()
		c.net.isolate(l.name, c.names()...)
		told := make(chan uint64, 1)
		p := &proposal{id: c.ids.Add(1), check: c.check, done: func(int, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			told <- l.leads
		}}
		if err := l.group().Propose(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		if term := <-told; term != 0 {
			t.Errorf("the proposal fails while the host still leads in term %d", term)
		}
		c.net.heal()
		c.settle()
	})
}

func TestCloseFailsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		l.disk.take(time.Hour)
		sent, waiting := c.propose1(l, 0), c.propose1(l, 0)
		time.Sleep(time.Second)
		l.stop()
		if err := <-sent; !errors.Is(err, group.ErrLeadershipLost) {
			t.Errorf("what was sent: %v, want %v", err, group.ErrLeadershipLost)
		}
		if err := <-waiting; !errors.Is(err, group.ErrNotLeader) {
			t.Errorf("what waited: %v, want %v", err, group.ErrNotLeader)
		}
		l.disk.cut()
		l.disk.take(0)
		l.start()
		c.settle()
	})
}
