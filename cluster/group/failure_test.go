package group_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
)

var errTest = errors.New("a fault of the test")

func TestMachineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		l.machine.mu.Lock()
		l.machine.refuse = errTest
		l.machine.mu.Unlock()
		if err := <-c.propose1(l, 0); !errors.Is(err, group.ErrLeadershipLost) {
			t.Errorf("the answer is %v, want %v", err, group.ErrLeadershipLost)
		}
		if err := <-l.failed; !errors.Is(err, errTest) {
			t.Errorf("Failed(%v), want %v", err, errTest)
		}
		if s := l.group().Status(); s.Leads || !errors.Is(s.Failed, errTest) {
			t.Errorf("its status is %+v", s)
		}
		l.stop()
		l.start()
		c.settle()
	})
}

func TestLogFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		l.disk.fail(errTest)
		if err := <-c.propose1(l, 0); !errors.Is(err, group.ErrLeadershipLost) {
			t.Errorf("the answer is %v, want %v", err, group.ErrLeadershipLost)
		}
		if err := <-l.failed; !errors.Is(err, errTest) {
			t.Errorf("Failed(%v), want %v", err, errTest)
		}
		l.stop()
		l.disk.fail(nil)
		l.start()
		c.settle()
	})
}

// TestVoteIsNotKept has the disk fail when a vote is to be kept: it is not given, and nothing panics.
func TestVoteIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		n := c.others(l)[0]
		n.disk.fail(errTest)
		l.crash()
		if err := <-n.failed; !errors.Is(err, errTest) {
			t.Errorf("Failed(%v), want %v", err, errTest)
		}
		time.Sleep(time.Minute)
		for _, n := range c.others(l) {
			if n.group().Status().Leads {
				t.Errorf("%s leads, with a vote that was not kept", n.name)
			}
		}
		n.stop()
		n.disk.fail(nil)
		n.start()
		l.start()
		c.settle()
	})
}

// TestLogIsNotRead has a follower's log be unreadable when an entry is to be applied: that replica fails, and neither the process nor
// the others.
func TestLogIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, 1)
		defer c.close()
		c.fill(3)
		l := c.leader()
		n := c.others(l)[0]
		n.disk.spoil(errTest)
		if err := <-c.propose1(l, 0); err != nil {
			t.Errorf("the answer is %v", err)
		}
		if err := <-n.failed; !errors.Is(err, errTest) {
			t.Errorf("Failed(%v), want %v", err, errTest)
		}
		n.stop()
		n.disk.spoil(nil)
		n.start()
		c.settle()
	})
}

func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 1)
		defer c.close()
		g := c.leader().group()
		_ = g.Close()
		if err := g.Close(); err != nil {
			t.Errorf("once more: %v", err)
		}
		if s := g.Status(); s.Leads {
			t.Errorf("its status is %+v", s)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name  string
		place group.Place
	}{
		{"a place of index 1", group.Place{Index: 1, Term: 1, Configuration: group.Birth([]string{"a"}).Configuration}},
		{"a damaged configuration", group.Place{Index: 2, Term: 1, Configuration: []byte("nothing of the kind")}},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk(1)
			d.flushed = &snapshot{place: test.place}
			l := d.open()
			g, err := group.Open(group.Config{ID: 1, Self: "a", Machine: newMachine("a", d, l, newChecker(t)), Log: l, Transport: newNetwork(1).join("a")})
			if err == nil {
				_ = g.Close()
				t.Errorf("%s is taken", test.name)
			}
		})
	}
}
