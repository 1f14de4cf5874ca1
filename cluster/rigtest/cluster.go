package rigtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/process"
)

// Config says what a cluster is like.
type Config struct {
	Servers   int  // how many; 3 when zero
	JetStream bool // with streams

	// Program is what the servers run; the one of this run of the tests when nil.
	Program *process.Program

	// SyncAlways has the incumbent write to the disk before it acknowledges. Runnel does so anyway.
	SyncAlways bool

	// Direct has the servers dial one another without proxies. The first knows nobody and is the only one that the others
	// know: they hear of each other.
	Direct bool

	// PingInterval is the pause between pings of servers to servers; the default of the server when zero. Three of them
	// after the last sign of life a server counts as gone.
	PingInterval time.Duration

	// Extra is further text for the config file of every server.
	Extra string
}

// A Cluster is a number of servers and the network between them. Its methods are for one goroutine.
type Cluster struct {
	Program process.Program
	Nodes   []*Node

	t       testing.TB
	servers *process.Cluster
}

// Start starts the servers and waits until they are ready. When the test ends they are killed; when it has failed then, it
// shows the ends of their logs.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c := New(t, cfg)
	for _, n := range c.Nodes {
		n.Start()
	}
	c.WaitReady()
	return c
}

// New makes a cluster whose servers are down.
func New(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	program := cfg.program(t)
	seed := rand.Uint64()
	t.Logf("random choices from seed %d", seed)
	servers, err := process.NewCluster(t.TempDir(), process.Options{
		Servers: cfg.Servers, Program: program, SyncAlways: cfg.SyncAlways, WithoutStreams: !cfg.JetStream, Direct: cfg.Direct,
		PingInterval: cfg.PingInterval, Seed: seed, Extra: cfg.Extra,
		Ended: func(e *process.End) { t.Errorf("%s has ended by itself: %s", e.Server, e.How) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Program: program, t: t, servers: servers}
	for _, s := range servers.Servers() {
		s.ExpectLog(anyError)
		c.Nodes = append(c.Nodes, &Node{Name: s.Name(), t: t, server: s})
	}
	t.Cleanup(c.end)
	return c
}

// program is what the servers run.
func (cfg Config) program(t testing.TB) process.Program {
	t.Helper()
	if cfg.Program != nil {
		return *cfg.Program
	}
	return This(t)
}

// end kills what runs, and looks at the logs.
func (c *Cluster) end() {
	if err := c.servers.Close(); err != nil {
		c.t.Error(err)
	}
	for _, n := range c.Nodes {
		faults, err := n.server.LogFaults()
		if err != nil {
			c.t.Error(err)
		}
		for _, fault := range faults {
			c.t.Errorf("log of %s:\n%s", n.Name, fault)
		}
	}
	if !c.t.Failed() {
		return
	}
	for _, n := range c.Nodes {
		c.t.Logf("end of the log of %s:\n%s", n.Name, n.server.LogEnd(60))
		name := filepath.Join(c.t.ArtifactDir(), n.Name+".log")
		if err := os.WriteFile(name, []byte(n.Log()), 0o600); err != nil {
			c.t.Log(err)
		}
	}
}

// WaitReady waits until the servers that run say that they are healthy and have all of them as members.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	if err := c.servers.WaitReady(ctx); err != nil {
		c.t.Fatal(err)
	}
}

// WaitSafe waits until all servers that run say that n can be stopped, and everything goes on without it. The incumbent says
// no such thing.
func (c *Cluster) WaitSafe(n *Node) {
	c.t.Helper()
	if c.Program.Dialect == process.Incumbent {
		return
	}
	Eventually(c.t, n.Name+" to be safe to stop", func() error {
		for _, who := range c.Nodes {
			if err := who.safe(n); who.Running() && err != nil {
				return err
			}
		}
		return nil
	})
}

// status is what /clusterz says.
type status struct {
	FeatureLevel int `json:"feature_level"`
	Servers      []struct {
		Name       string `json:"name"`
		Led        int    `json:"led"`
		SafeToStop bool   `json:"safe_to_stop"`
		WhyNot     string `json:"why_not"`
	} `json:"servers"`
}

// status asks n how it sees the cluster.
func (n *Node) status() (status, error) {
	var page status
	text, err := n.Get("/clusterz")
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return page, fmt.Errorf("clusterz of %s: %w", n.Name, err)
	}
	return page, nil
}

// safe asks n whether another server can be stopped.
func (n *Node) safe(other *Node) error {
	page, err := n.status()
	if err != nil {
		return err
	}
	for _, s := range page.Servers {
		if s.Name == other.Name {
			if s.SafeToStop {
				return nil
			}
			return fmt.Errorf("%s says of %s: %s", n.Name, other.Name, s.WhyNot)
		}
	}
	return fmt.Errorf("%s does not know %s", n.Name, other.Name)
}

// Led is how many streams each server leads, as this one sees it.
func (n *Node) Led() (map[string]int, error) {
	page, err := n.status()
	led := make(map[string]int)
	for _, s := range page.Servers {
		led[s.Name] = s.Led
	}
	return led, err
}

// FeatureLevel is what servers may use, as this one sees it.
func (n *Node) FeatureLevel() (int, error) {
	page, err := n.status()
	return page.FeatureLevel, err
}

// WaitParted waits until neither of two servers counts the other as there.
func (c *Cluster) WaitParted(a, b *Node) {
	c.t.Helper()
	for _, pair := range [][2]*Node{{a, b}, {b, a}} {
		Eventually(c.t, pair[0].Name+" to miss "+pair[1].Name, func() error {
			peers, err := pair[0].peers()
			if err == nil && slices.Contains(peers, pair[1].Name) {
				err = errors.New("it has a route")
			}
			return err
		})
	}
}

// peers are the names of the servers that n has routes to.
func (n *Node) peers() ([]string, error) { return n.server.Linked(context.Background()) }

// Node returns the server with a name.
func (c *Cluster) Node(name string) *Node {
	c.t.Helper()
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	c.t.Fatalf("there is no server %q", name)
	return nil
}

// Random returns one of the servers.
func (c *Cluster) Random() *Node { return c.RandomSome(1)[0] }

// RandomSome returns n different servers, fewer than there are.
func (c *Cluster) RandomSome(n int) []*Node {
	var chosen []*Node
	for _, s := range c.servers.Random(n) {
		chosen = append(chosen, c.Node(s.Name()))
	}
	return chosen
}

// Choose returns a random number below n.
func (c *Cluster) Choose(n int) int { return c.servers.Choose(n) }

// Pass lets some time pass, so that what was begun has effects.
func (c *Cluster) Pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// Others are all servers but one.
func (c *Cluster) Others(n *Node) []*Node {
	var others []*Node
	for _, other := range c.Nodes {
		if other != n {
			others = append(others, other)
		}
	}
	return others
}

// Connect opens a connection to any server.
func (c *Cluster) Connect(opts ...nats.Option) *nats.Conn {
	c.t.Helper()
	return Connect(c.t, c.Nodes, opts...)
}

// Connect opens a connection to one of some servers, which moves to another one of them when that goes away. It is closed
// when the test ends.
func Connect(t testing.TB, nodes []*Node, opts ...nats.Option) *nats.Conn {
	t.Helper()
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.ClientURL())
	}
	return connect(t, strings.Join(urls, ","), opts...)
}
