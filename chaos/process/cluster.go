package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"runnel/chaos/network"
)

// clusterName is what all clusters are called.
const clusterName = "chaos"

// Options say what a cluster is like.
type Options struct {
	Servers        int // how many; 3 when zero
	Program        Program
	SyncAlways     bool // servers write to the disk before they acknowledge; what the program does by itself when false
	WithoutStreams bool

	// Direct has the servers dial one another without proxies, and clients too. The first knows nobody and is the only one that
	// the others know: they hear of each other.
	Direct bool

	// PingInterval is the pause between pings of servers to servers; the default of the program when zero. Three of them after the
	// last sign of life a server counts as gone.
	PingInterval time.Duration

	// FirstPort is the first of the ports of the servers, of which each has three; free ones are found when it is zero. Proxies
	// have whatever ports are free.
	FirstPort int

	// Seed is where random choices come from.
	Seed uint64

	// Extra is further text for the config file of every server.
	Extra string

	// Ended, if it is not nil, is called for each end of a server that nobody has asked for, by a goroutine of its own; it must
	// not wait for anything to happen to that server.
	Ended func(*End)
}

// A Cluster is some servers and the network between them. Each server has the tag "server:" with its name, so that streams can be
// placed. What changes which servers there are, and what starts and ends them, is for one goroutine at a time. All else may be
// called by any, at any time.
type Cluster struct {
	dir     string
	options Options
	mesh    *network.Mesh // nil: without proxies

	mu      sync.Mutex // guards what follows
	members []member
	former  []*Server // that were removed
	random  *rand.Rand
	named   int   // servers that had a name so far
	ports   Ports // of its servers, unless the first is given
	given   int   // how many of those from the given one on are taken
}

// member is a server and its number in the mesh.
type member struct {
	*Server
	number int
}

// NewCluster makes a cluster in a folder, whose servers are down. It must be closed.
func NewCluster(dir string, o Options) (*Cluster, error) {
	if o.Servers == 0 {
		o.Servers = 3
	}
	c := &Cluster{dir: dir, options: o, random: rand.New(rand.NewPCG(o.Seed, 0))}
	var places []Config
	var targets []network.Target
	for range o.Servers {
		cfg, err := c.place()
		if err != nil {
			return nil, err
		}
		places, targets = append(places, cfg), append(targets, target(cfg))
	}
	if !o.Direct {
		mesh, err := network.NewMesh(targets...)
		if err != nil {
			return nil, err
		}
		c.mesh = mesh
	}
	for i, cfg := range places {
		for j, other := range places {
			switch {
			case !o.Direct && i != j:
				cfg.Routes = append(cfg.Routes, c.mesh.Addr(i, j))
			case o.Direct && i > 0 && j == 0:
				cfg.Routes = append(cfg.Routes, other.Peer)
			}
		}
		if _, err := c.join(cfg, i); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// place is the configuration of a server with a new name and ports, which knows nobody yet.
func (c *Cluster) place() (Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ports, err := c.takePorts(3)
	if err != nil {
		return Config{}, err
	}
	c.named++
	name := fmt.Sprintf("n%d", c.named)
	cfg := Config{
		Name: name, Client: Loopback(ports[0]), Monitor: Loopback(ports[1]),
		Cluster: clusterName, Peer: Loopback(ports[2]), Hidden: !c.options.Direct, PingInterval: c.options.PingInterval,
		Tags: []string{"server:" + name}, Extra: c.options.Extra,
	}
	if !c.options.WithoutStreams {
		cfg.StoreDir = filepath.Join(c.dir, name, "streams")
		cfg.SyncAlways = c.options.SyncAlways
	}
	return cfg, nil
}

// takePorts returns some ports that no server of the cluster has had. c.mu is held.
func (c *Cluster) takePorts(n int) (ports []int, err error) {
	if c.options.FirstPort == 0 {
		return c.ports.Take(n)
	}
	for range n {
		ports = append(ports, c.options.FirstPort+c.given)
		c.given++
	}
	return ports, nil
}

// target is where a server really listens.
func target(cfg Config) network.Target { return network.Target{Cluster: cfg.Peer, Client: cfg.Client} }

// join makes a server of a configuration, which has a number in the mesh.
func (c *Cluster) join(cfg Config, number int) (*Server, error) {
	if c.mesh != nil {
		cfg.ClientAdvertise = c.mesh.ClientAddr(number)
	}
	s, err := New(filepath.Join(c.dir, cfg.Name), cfg, c.options.Program, c.options.Ended)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, member{s, number})
	return s, nil
}

// Mesh is the network between the servers; nil when they have no proxies. See [Cluster.Number].
func (c *Cluster) Mesh() *network.Mesh { return c.mesh }

// Servers are those of the cluster, in the order in which they came.
func (c *Cluster) Servers() []*Server {
	var all []*Server
	for _, m := range c.list() {
		all = append(all, m.Server)
	}
	return all
}

// Former are the servers that were removed.
func (c *Cluster) Former() []*Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.former)
}

// list is a copy of the members.
func (c *Cluster) list() []member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members)
}

// Server returns the one with a name; nil when there is none.
func (c *Cluster) Server(name string) *Server {
	for _, s := range c.Servers() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// Number is the number of a server in the mesh; -1 when it is not of the cluster.
func (c *Cluster) Number(s *Server) int {
	for _, m := range c.list() {
		if m.Server == s {
			return m.number
		}
	}
	return -1
}

// Others are all servers but some.
func (c *Cluster) Others(but ...*Server) []*Server {
	return slices.DeleteFunc(c.Servers(), func(s *Server) bool { return slices.Contains(but, s) })
}

// Random chooses some of the servers, in any order; all when there are not as many.
func (c *Cluster) Random(n int) []*Server {
	all := c.Servers()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// Choose returns a random number from 0 to n-1.
func (c *Cluster) Choose(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// Each does something to some servers at the same time, and returns all that went wrong.
func Each(servers []*Server, do func(*Server) error) error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// StartAll starts all servers that are down, and waits until they listen for clients.
func (c *Cluster) StartAll(ctx context.Context) error {
	return Each(c.Servers(), func(s *Server) error {
		if _, up := s.PID(); up {
			return nil
		}
		return s.Start(ctx)
	})
}

// StopAll ends all servers at the same time, as [Server.Stop] does.
func (c *Cluster) StopAll(ctx context.Context) error {
	return Each(c.Servers(), func(s *Server) error { return s.Stop(ctx) })
}

// KillAll ends all servers at the same time, without a chance to do anything.
func (c *Cluster) KillAll() error { return Each(c.Servers(), (*Server).Kill) }

// Heal undoes what was done to the network and to the servers: those that are paused go on, and those that are down are started, so
// that all listen for clients. See [Cluster.WaitReady].
func (c *Cluster) Heal(ctx context.Context) error {
	if c.mesh != nil {
		c.mesh.Heal()
	}
	resumed := Each(c.Servers(), func(s *Server) error {
		if s.Paused() {
			return s.Resume()
		}
		return nil
	})
	return errors.Join(resumed, c.StartAll(ctx))
}

// WaitReady waits until all servers that run are healthy and linked with one another, and know who leads, all at the same time. See
// [Server.Ready].
func (c *Cluster) WaitReady(ctx context.Context) error {
	running := slices.DeleteFunc(c.Servers(), func(s *Server) bool { return !s.Running() })
	linked := func(s *Server) (others []string) {
		for _, other := range running {
			if other != s {
				others = append(others, other.Name())
			}
		}
		return others
	}
	for {
		if err := Each(running, func(s *Server) error { return s.Ready(ctx, linked(s)...) }); err != nil {
			return err
		}
		// Some may have waited for a long time, and others been disturbed meanwhile.
		if Each(running, func(s *Server) error { return s.unready(ctx, linked(s)) }) == nil {
			return nil
		}
	}
}

// Err holds an [*End] for each end of a server that nobody has asked for, removed ones included.
func (c *Cluster) Err() error {
	var all []error
	for _, s := range append(c.Servers(), c.Former()...) {
		all = append(all, s.Err())
	}
	return errors.Join(all...)
}

// Close kills the servers that run and ends the network. It may be called twice. What is in the folder stays.
func (c *Cluster) Close() error {
	err := c.KillAll()
	if c.mesh != nil {
		c.mesh.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(err, c.ports.Close())
}
