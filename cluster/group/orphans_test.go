package group_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
)

// leaderBeside returns who leads beside a node that is cut off.
func (c *cluster) leaderBeside(old *node) *node {
	var leader *node
	c.until("another one leads", func() bool {
		for _, n := range c.others(old) {
			if n.group().Status().Leads {
				leader = n
			}
		}
		return leader != nil
	})
	return leader
}

// TestOrphans: what a leader had under way when it lost its leadership is answered with what became of it, as soon as somebody leads
// whom it hears.
func TestOrphans(t *testing.T) {
	for _, tt := range []struct {
		name string
		cut  func(c *cluster, l *node) // after which nothing is committed
		want error
	}{
		{"nobody else has it", func(c *cluster, l *node) { c.net.isolate(l.name, c.names()...) }, group.ErrNotLeader},
		{"the next leader has it", func(c *cluster, l *node) {
			for _, n := range c.others(l) {
				c.net.cut(n.name, l.name) // it is heard, and hears nothing
			}
		}, nil},
		{"it hears nobody", func(c *cluster, l *node) { c.net.isolate(l.name, c.names()...) }, group.ErrLeadershipLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, 1)
				defer c.close()
				c.fill(3)
				l := c.leader()
				tt.cut(c, l)
				answer := c.propose1(l, 0)
				if tt.want != group.ErrLeadershipLost {
					time.Sleep(100 * time.Millisecond) // who hears it has it
					if err := c.others(l)[0].group().Campaign(); err != nil {
						t.Fatal(err)
					}
					c.leaderBeside(l)
					c.net.heal()
				}
				c.until("it does not lead any more", func() bool { return !l.group().Status().Leads })
				if tt.want != group.ErrLeadershipLost {
					for range 2 { // the second says that the first is committed
						if _, err := c.propose(c.leader(), 0); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := <-answer; !errors.Is(err, tt.want) {
					t.Errorf("the answer is %v, want %v", err, tt.want)
				}
				c.net.heal()
				c.settle()
			})
		})
	}
}

// TestHandedOver: what is proposed while leadership is handed over is refused as such, and everything is answered for sure.
func TestHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		l.disk.take(50 * time.Millisecond)
		sent := c.propose1(l, 0)
		down := make(chan error, 1)
		go func() { down <- l.group().StepDown(context.Background(), "") }()
		synctest.Wait() // it waits for what was sent
		waiting := c.propose1(l, 0)
		if err := <-down; err != nil {
			t.Fatal(err)
		}
		if err := <-sent; err != nil {
			t.Errorf("what was sent before is answered with %v", err)
		}
		if err := <-waiting; !errors.Is(err, group.ErrHandedOver) || !errors.Is(err, group.ErrNotLeader) {
			t.Errorf("what waited is answered with %v, want %v", err, group.ErrHandedOver)
		}
		l.disk.take(0)
		c.settle()
	})
}
