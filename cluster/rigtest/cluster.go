package rigtest

import (
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
)

// Config says what a cluster is like.
type Config struct {
	Servers   int  // how many; 3 when zero
	JetStream bool // with streams

	// Program is what the servers run; the one of this run of the tests when nil.
	Program *Program

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
	Program Program
	Nodes   []*Node

	t       testing.TB
	proxies [][]*Proxy // [i][j]: where server i dials server j; nil for itself
	random  *rand.Rand
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
	if cfg.Servers == 0 {
		cfg.Servers = 3
	}
	seed := rand.Uint64()
	t.Logf("random choices from seed %d", seed)
	c := &Cluster{Program: program, t: t, random: rand.New(rand.NewPCG(seed, 0))}
	ports, err := freePorts(3 * cfg.Servers)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range cfg.Servers {
		n := &Node{Name: fmt.Sprintf("n%d", i+1), t: t, program: program}
		n.dir = filepath.Join(dir, n.Name)
		if err := os.Mkdir(n.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		n.settings = settings{
			name: n.Name, client: address(ports[3*i]), cluster: address(ports[3*i+1]), http: address(ports[3*i+2]),
			advertised: cfg.Direct, pingInterval: cfg.PingInterval, extra: cfg.Extra,
		}
		if cfg.JetStream {
			n.storeDir = filepath.Join(n.dir, "streams")
			n.syncAlways = cfg.SyncAlways && program.Dialect == Incumbent
		}
		c.Nodes = append(c.Nodes, n)
	}
	t.Cleanup(c.end)
	c.join(cfg.Direct)
	return c
}

// program is what the servers run.
func (cfg Config) program(t testing.TB) Program {
	t.Helper()
	if cfg.Program != nil {
		return *cfg.Program
	}
	return This(t)
}

// join tells the servers where they reach one another.
func (c *Cluster) join(direct bool) {
	c.t.Helper()
	for i, n := range c.Nodes {
		c.proxies = append(c.proxies, make([]*Proxy, len(c.Nodes)))
		for j, other := range c.Nodes {
			switch {
			case direct && i > 0 && j == 0:
				n.routes = append(n.routes, other.cluster)
			case direct || i == j:
			default:
				p, err := NewProxy(other.cluster)
				if err != nil {
					c.t.Fatal(err)
				}
				c.proxies[i][j] = p
				n.routes = append(n.routes, p.Addr())
			}
		}
	}
}

// end kills what runs, and looks at the logs.
func (c *Cluster) end() {
	for _, n := range c.Nodes {
		n.Kill()
		for _, fault := range faults(n.Log()) {
			c.t.Errorf("log of %s:\n%s", n.Name, fault)
		}
	}
	for p := range c.between() {
		p.Close()
	}
	if !c.t.Failed() {
		return
	}
	for _, n := range c.Nodes {
		c.t.Logf("end of the log of %s:\n%s", n.Name, tail(n.Log(), 60))
		name := filepath.Join(c.t.ArtifactDir(), n.Name+".log")
		if err := os.WriteFile(name, []byte(n.Log()), 0o600); err != nil {
			c.t.Log(err)
		}
	}
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := slices.Collect(strings.Lines(text))
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// WaitReady waits until the servers that run say that they are healthy and have all of them as members.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	Eventually(c.t, "the cluster to be ready", c.unready)
}

// unready is what is missing from a cluster in which all that runs is connected and healthy.
func (c *Cluster) unready() error {
	running := 0
	for _, n := range c.Nodes {
		if n.Running() {
			running++
		}
	}
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		if _, err := n.Get("/healthz"); err != nil {
			return err
		}
		peers, err := n.peers()
		if err != nil {
			return err
		}
		if len(peers) != running-1 {
			return fmt.Errorf("%s has routes to %v, want %d others", n.Name, peers, running-1)
		}
	}
	return nil
}

// WaitSafe waits until all servers that run say that n can be stopped, and everything goes on without it. The incumbent says
// no such thing.
func (c *Cluster) WaitSafe(n *Node) {
	c.t.Helper()
	if c.Program.Dialect == Incumbent {
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
			if err == nil && peers[pair[1].Name] {
				err = errors.New("it has a route")
			}
			return err
		})
	}
}

// peers are the names of the servers that n has routes to.
func (n *Node) peers() (map[string]bool, error) {
	text, err := n.Get("/routez")
	if err != nil {
		return nil, err
	}
	var page struct {
		Routes []struct {
			RemoteName string `json:"remote_name"`
		} `json:"routes"`
	}
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("routez of %s: %w", n.Name, err)
	}
	peers := make(map[string]bool)
	for _, r := range page.Routes {
		peers[r.RemoteName] = true
	}
	return peers, nil
}

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
func (c *Cluster) Random() *Node { return c.Nodes[c.random.IntN(len(c.Nodes))] }

// RandomSome returns n different servers, fewer than there are.
func (c *Cluster) RandomSome(n int) []*Node {
	var some []*Node
	for _, i := range c.random.Perm(len(c.Nodes))[:n] {
		some = append(some, c.Nodes[i])
	}
	return some
}

// Choose returns a random number below n.
func (c *Cluster) Choose(n int) int { return c.random.IntN(n) }

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
