package group_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/cluster/group"
)

// quick is the timing of simulations; time is virtual, but what happens in it is not free.
var quick = group.Timing{Heartbeat: time.Second, Election: time.Second, Lease: 500 * time.Millisecond, Commit: 100 * time.Millisecond}

// node is one server with a replica of the group, which may be down.
type node struct {
	name string
	disk *disk
	c    *cluster

	mu      sync.Mutex
	g       *group.Group
	machine *machine
	leads   uint64 // the term of Lead without Follow
	failed  chan error

	compared [][2]uint64 // index and hash at Compare
}

// cluster is a group on some nodes.
type cluster struct {
	t      *testing.T
	seed   uint64
	net    *network
	check  *checker
	nodes  []*node
	window uint64
	logger *slog.Logger
	ids    atomic.Uint64
	timing group.Timing
}

// newCluster starts a group on n nodes. Everything about it must happen in a bubble.
func newCluster(t *testing.T, n int, seed uint64) *cluster {
	c := &cluster{t: t, seed: seed, net: newNetwork(seed), check: newChecker(t), window: 3, timing: quick}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i+1))
	}
	for _, name := range names {
		d := c.addNode(name).disk
		d.flushed = &snapshot{place: group.Birth(names)}
	}
	for _, n := range c.nodes {
		n.start()
	}
	return c
}

// addNode makes a node that has no replica yet.
func (c *cluster) addNode(name string) *node {
	n := &node{name: name, c: c, disk: newDisk(c.seed + uint64(len(c.nodes))), failed: make(chan error, 1)}
	c.nodes = append(c.nodes, n)
	return n
}

// close stops what runs, and has the checker report.
func (c *cluster) close() {
	c.t.Helper()
	for _, n := range c.nodes {
		n.stop()
	}
	c.check.mu.Lock()
	defer c.check.mu.Unlock()
	c.check.report()
}

// voters are the disks of the first n nodes.
func (c *cluster) voters(n int) func() map[string]*disk {
	m := map[string]*disk{}
	for _, node := range c.nodes[:n] {
		m[node.name] = node.disk
	}
	return func() map[string]*disk { return m }
}

// start opens the replica of a node.
func (n *node) start() {
	n.c.t.Helper()
	l := n.disk.open()
	m := newMachine(n.name, n.disk, l, n.c.check)
	m.window = n.c.window
	g, err := group.Open(group.Config{
		ID: 7, Self: n.name, Machine: m, Log: l, Transport: n.c.net.join(n.name), Timing: n.c.timing, Logger: n.c.logger,
		Lead: func(term uint64) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.leads != 0 {
				n.c.check.errorf("%s: Lead(%d) in term %d, without Follow", n.name, term, n.leads)
			}
			n.leads = term
			n.c.check.lead(term, n.name)
		},
		Follow: func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.leads == 0 {
				n.c.check.errorf("%s: Follow without Lead", n.name)
			}
			n.leads = 0
		},
		Failed: func(err error) { n.failed <- err },
		Compare: func(index uint64) {
			m.mu.Lock()
			defer m.mu.Unlock()
			n.mu.Lock()
			defer n.mu.Unlock()
			n.compared = append(n.compared, [2]uint64{index, m.hash})
		},
	})
	if err != nil {
		n.c.t.Fatalf("open %s: %v", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.g, n.machine = g, m
}

// group is the replica; nil if it is down.
func (n *node) group() *group.Group {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.g
}

// stop closes the replica, if there is one.
func (n *node) stop() {
	n.mu.Lock()
	g := n.g
	n.g = nil
	n.mu.Unlock()
	if g != nil {
		_ = g.Close()
	}
	select {
	case <-n.failed:
	default:
	}
}

// crash cuts the power.
func (n *node) crash() {
	n.disk.cut()
	n.stop()
}

// wipe loses the disk.
func (n *node) wipe() {
	n.crash()
	n.disk = newDisk(rand.Uint64())
}

// leader waits for a leader that takes proposals.
func (c *cluster) leader() *node {
	c.t.Helper()
	for range 3000 {
		for _, n := range c.nodes {
			if g := n.group(); g != nil && g.Status().Leads {
				return n
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	c.t.Fatalf("no leader after a minute: %s", c.describe())
	return nil
}

func (c *cluster) describe() (s string) {
	for _, n := range c.nodes {
		if g := n.group(); g != nil {
			s += fmt.Sprintf("\n%s: %+v", n.name, g.Status())
		}
	}
	return s
}

// until waits for a condition.
func (c *cluster) until(what string, ok func() bool) {
	c.t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	c.t.Fatalf("%s: not after a minute: %s", what, c.describe())
}

// propose proposes one id and waits for the answer.
func (c *cluster) propose(n *node, size int) (sequence int, err error) {
	type answer struct {
		sequence int
		err      error
	}
	answers := make(chan answer, 1)
	p := &proposal{id: c.ids.Add(1), size: size, check: c.check, done: func(s int, err error) { answers <- answer{s, err} }}
	g := n.group()
	if g == nil {
		return 0, group.ErrClosed
	}
	if err := g.Propose(context.Background(), p); err != nil {
		return 0, err
	}
	a := <-answers
	return a.sequence, a.err
}

// fill has n proposals acked, whoever leads.
func (c *cluster) fill(n int) {
	c.t.Helper()
	for range n {
		c.until("a proposal", func() bool {
			_, err := c.propose(c.leader(), 0)
			if err != nil && !errors.Is(err, group.ErrNotLeader) && !errors.Is(err, group.ErrLeadershipLost) {
				c.t.Fatalf("propose: %v", err)
			}
			return err == nil
		})
	}
}

// propose1 proposes one id and gives the answer later.
func (c *cluster) propose1(n *node, size int) <-chan error {
	answers := make(chan error, 1)
	p := &proposal{id: c.ids.Add(1), size: size, check: c.check, done: func(_ int, err error) { answers <- err }}
	if err := n.group().Propose(context.Background(), p); err != nil {
		c.check.answered(p.id, 0, err)
		answers <- err
	}
	return answers
}

// others are the nodes beside n.
func (c *cluster) others(n *node) []*node {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(o *node) bool { return o == n })
}

// names are those of all nodes.
func (c *cluster) names() (names []string) {
	for _, n := range c.nodes {
		names = append(names, n.name)
	}
	return names
}

// settle waits until all replicas that run have the same state, and checks it.
func (c *cluster) settle() {
	c.t.Helper()
	c.fill(1)
	c.until("equal replicas", func() bool {
		want := c.leader().machine.list()
		for _, n := range c.nodes {
			if n.group() != nil && !slices.Equal(n.machine.list(), want) {
				return false
			}
		}
		return true
	})
	c.check.verify(c.leader().machine.list())
}
