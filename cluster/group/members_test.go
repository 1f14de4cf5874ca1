package group_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
)

// grow has nodes join: without a vote first, with one once they have caught up.
func (c *cluster) grow(names ...string) {
	c.t.Helper()
	for _, name := range names {
		n := c.addNode(name)
		n.start()
		c.until(name+" is added", func() bool { return c.leader().group().Add(context.Background(), name) == nil })
		c.until(name+" is promoted", func() bool { return c.leader().group().Promote(context.Background(), name) == nil })
	}
}

func TestGrowAndShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 1)
		defer c.close()
		c.fill(10)
		c.nodes[0].machine.flush()
		c.grow("n2", "n3", "n4", "n5")
		c.fill(5)
		c.settle()
		for _, n := range c.nodes {
			if s := n.group().Status(); !s.Voter || len(s.Peers) != 4 {
				t.Errorf("%s: %+v", n.name, s)
			}
		}
		for len(c.nodes) > 1 {
			// The leader removes itself when it is its turn.
			n := c.nodes[0]
			c.until(n.name+" is removed", func() bool { return c.leader().group().Remove(context.Background(), n.name) == nil })
			c.until("it does not lead", func() bool { return !n.group().Status().Leads })
			n.stop()
			c.nodes = c.nodes[1:]
			c.fill(3)
		}
		c.settle()
		if s := c.nodes[0].group().Status(); !s.Leads || len(s.Peers) != 0 {
			t.Errorf("the last one: %+v", s)
		}
	})
}

// TestReplaceWhileClientsPropose moves a group from three nodes to three others, with crashes in between.
func TestReplaceWhileClientsPropose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 3)
		defer c.close()
		done, stopped := make(chan struct{}), make(chan struct{})
		old := c.nodes[:3:3]
		go func() {
			defer close(stopped)
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
				for _, n := range old {
					if g := n.group(); g != nil && g.Status().Leads {
						c.propose1(n, 0)
					}
				}
			}
		}()
		for _, name := range []string{"m1", "m2", "m3"} {
			c.leader().machine.flush()
			c.grow(name)
			n := c.nodes[len(c.nodes)-1]
			n.crash()
			n.start()
		}
		close(done)
		<-stopped
		for _, n := range old {
			c.until(n.name+" is removed", func() bool { return c.leader().group().Remove(context.Background(), n.name) == nil })
			n.stop()
		}
		c.settle()
	})
}

func TestPromoteNeedsToCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		ctx := context.Background()
		g := c.leader().group()
		if err := g.Promote(ctx, "n4"); !errors.Is(err, group.ErrNotMember) {
			t.Errorf("one that is no member: %v, want %v", err, group.ErrNotMember)
		}
		if err := g.Add(ctx, "n4"); err != nil {
			t.Fatal(err)
		}
		if err := g.Promote(ctx, "n4"); !errors.Is(err, group.ErrBehind) {
			t.Errorf("one that does not answer: %v, want %v", err, group.ErrBehind)
		}
		if err := g.Add(ctx, "n4"); err != nil {
			t.Errorf("once more: %v", err)
		}
		if err := g.Promote(ctx, g.Status().Peers[0].Node); err != nil {
			t.Errorf("one that has a vote: %v", err)
		}
		if err := g.Remove(ctx, "n4"); err != nil {
			t.Errorf("remove: %v", err)
		}
		if err := g.Remove(ctx, "n4"); err != nil {
			t.Errorf("once more: %v", err)
		}
		if err := c.others(c.leader())[0].group().Add(ctx, "n5"); !errors.Is(err, group.ErrNotLeader) {
			t.Errorf("where nobody leads: %v, want %v", err, group.ErrNotLeader)
		}
		c.settle()
	})
}

func TestChangesOfMembersDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		for _, n := range c.others(l) {
			n.disk.take(2 * time.Second)
		}
		first := make(chan error, 1)
		go func() { first <- l.group().Add(context.Background(), "n4") }()
		time.Sleep(100 * time.Millisecond)
		if err := l.group().Add(context.Background(), "n5"); !errors.Is(err, group.ErrConflict) {
			t.Errorf("the second change: %v, want %v", err, group.ErrConflict)
		}
		if err := <-first; err != nil {
			t.Errorf("the first change: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := l.group().Remove(ctx, "n4"); err != nil {
			t.Errorf("once it is over: %v", err)
		}
	})
}

func TestStepDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		ctx := context.Background()
		l := c.leader()
		others := c.others(l)
		if err := l.group().StepDown(ctx, "x"); !errors.Is(err, group.ErrNotMember) {
			t.Errorf("to one that is no member: %v, want %v", err, group.ErrNotMember)
		}
		if err := others[0].group().StepDown(ctx, ""); !errors.Is(err, group.ErrNotLeader) {
			t.Errorf("where nobody leads: %v, want %v", err, group.ErrNotLeader)
		}
		c.fill(1)
		time.Sleep(time.Second)
		if err := l.group().StepDown(ctx, others[1].name); err != nil {
			t.Fatalf("step down: %v", err)
		}
		if got := c.leader(); got != others[1] {
			t.Errorf("%s leads, want %s", got.name, others[1].name)
		}
		c.fill(1)
		time.Sleep(time.Second)
		if err := c.leader().group().StepDown(ctx, ""); err != nil {
			t.Errorf("step down for anybody: %v", err)
		}
		if got := c.leader(); got == others[1] {
			t.Errorf("%s leads still", got.name)
		}
		c.settle()
	})
}

func TestStepDownNeedsASuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		others := c.others(l)
		others[0].crash()
		c.fill(1)
		time.Sleep(10 * time.Second)
		if err := l.group().StepDown(context.Background(), others[0].name); !errors.Is(err, group.ErrBehind) {
			t.Errorf("to one that is down: %v, want %v", err, group.ErrBehind)
		}
		if !l.group().Status().Leads {
			t.Error("it does not lead any more")
		}
		others[0].start()
		c.settle()
	})
}

// TestStepDownIsNotHeard has the successor hear of nothing, the first time or ever: who asks is answered in time, and what
// waits goes on.
func TestStepDownIsNotHeard(t *testing.T) {
	tests := []struct {
		name string
		lost int64 // so many requests
		want error
	}{
		{"the first time", 1, nil},
		{"ever", 1 << 30, context.DeadlineExceeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, 1)
				defer c.close()
				c.fill(3)
				time.Sleep(time.Second)
				var seen atomic.Int64
				c.net.mu.Lock()
				c.net.lose = func(request any) bool {
					_, ok := request.(*raft.TimeoutNowRequest)
					return ok && seen.Add(1) <= test.lost
				}
				c.net.mu.Unlock()
				l := c.leader()
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				defer cancel()
				begin := time.Now()
				handed := make(chan error, 1)
				go func() { handed <- l.group().StepDown(ctx, c.others(l)[0].name) }()
				time.Sleep(100 * time.Millisecond)
				waiting := c.propose1(l, 0)
				if err := <-handed; !errors.Is(err, test.want) {
					t.Errorf("step down: %v, want %v", err, test.want)
				}
				if took := time.Since(begin); took > 3*time.Second {
					t.Errorf("it took %v", took)
				}
				if err := <-waiting; err != nil && test.want != nil {
					t.Errorf("what waited was answered with %v", err)
				}
				if took := time.Since(begin); took > 4*time.Second {
					t.Errorf("what waited was answered after %v", took)
				}
				c.settle()
			})
		})
	}
}

// TestStepDownLosesNothing hands leadership over and over while proposals come: those that wait go on, or are refused.
func TestStepDownLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 2)
		defer c.close()
		for range 20 {
			l := c.leader()
			c.fill(1)
			time.Sleep(500 * time.Millisecond)
			handed := make(chan error, 1)
			go func() { handed <- l.group().StepDown(context.Background(), "") }()
			for range 20 {
				c.propose1(l, 0)
				time.Sleep(time.Millisecond)
			}
			if err := <-handed; err != nil {
				t.Errorf("step down: %v", err)
			}
		}
		c.settle()
		if n := len(c.check.unknown); n != 0 {
			t.Errorf("of %d proposals nobody knows what became, want none", n)
		}
	})
}

func TestCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(1)
		n := c.others(c.leader())[0]
		time.Sleep(time.Second)
		begin := time.Now()
		if err := n.group().Campaign(); err != nil {
			t.Fatal(err)
		}
		c.until("it leads", func() bool { return n.group().Status().Leads })
		if took := time.Since(begin); took > 500*time.Millisecond {
			t.Errorf("it leads after %v", took)
		}
		c.settle()
	})
}

// TestRivalLeader: a leader of an idle group that another one has replaced learns that from any follower of both, with the next heartbeat, and not
// only when it has something to send.
func TestRivalLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 5, 1)
		defer c.close()
		c.timing.Commit = time.Hour
		for _, n := range c.nodes {
			n.stop()
		}
		for _, n := range c.nodes {
			n.start()
		}
		old := c.leader()
		c.fill(1)
		time.Sleep(time.Second)
		others := c.others(old)
		near, both, far := others[0], others[1], others[2:]
		for _, n := range far { // both reaches all, and so has old a majority as before
			c.net.isolate(n.name, old.name, near.name)
		}
		if err := far[0].group().Campaign(); err != nil {
			t.Fatal(err)
		}
		c.until("another one leads", func() bool { return far[0].group().Status().Leads })
		time.Sleep(quick.Heartbeat / 2) // every tenth there is one
		if old.group().Status().Leads {
			t.Errorf("%s still leads, though %s knows of another leader: %s", old.name, both.name, c.describe())
		}
	})
}

// load has proposals always be under way at the leader, until the function that it returns is called.
func (c *cluster) load() (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
			}
			for _, n := range c.nodes[:3:3] {
				if g := n.group(); g != nil && g.Status().Leads {
					c.propose1(n, 100<<10)
				}
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// TestChangesUnderLoad has members promoted and leadership handed over though nobody ever has all that is committed.
func TestChangesUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		l := c.leader()
		l.machine.flush()
		n := c.addNode("n4")
		n.start()
		stop := c.load()
		defer c.settle()
		defer stop()
		if err := l.group().Add(t.Context(), n.name); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		c.until("it is promoted", func() bool { return l.group().Promote(t.Context(), n.name) == nil })
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it is promoted after %v", took)
		}
		if err := l.group().StepDown(t.Context(), ""); err != nil {
			t.Errorf("step down: %v", err)
		}
	})
}
