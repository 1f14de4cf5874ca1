package powercut

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"runnel/chaos/network"
	"runnel/conf"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server"
)

// nowhere is an address at which nobody listens.
const nowhere = "127.0.0.1:1"

// Options are what a cluster is made of.
type Options struct {
	// Servers is how many there are.
	Servers int
	// Dir is a folder on the real disk for what need not survive anything, as what clients upload.
	Dir string
	// Extra is added to the configuration of each server.
	Extra string
	// Log gets the log of all servers, each line with the server's name; nil discards it.
	Log io.Writer
}

// Cluster is some servers in this process. Its methods are for one goroutine at a time.
type Cluster struct {
	options Options
	network *network.Mesh
	nodes   []*node
	parted  []int // that are cut off from the others
	leaving sync.WaitGroup
}

// node is one server, or the place of one without power.
type node struct {
	supply *Supply
	clock  atomic.Int64   // how far it is set ahead of the real one, in nanoseconds
	server *server.Server // nil: down
	gone   chan struct{}  // closed when the one before has ended; nil if there was none
}

// Start runs a cluster.
func Start(o Options) (*Cluster, error) {
	c := &Cluster{options: o}
	targets := make([]network.Target, o.Servers)
	for i := range targets {
		targets[i] = network.Target{Cluster: nowhere, Client: nowhere}
		c.nodes = append(c.nodes, &node{supply: NewSupply()})
	}
	var err error
	if c.network, err = network.NewMesh(targets...); err != nil {
		return nil, fmt.Errorf("make a network: %w", err)
	}
	for i := range c.nodes {
		if err := c.PowerOn(i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Name is the name of a server.
func (c *Cluster) Name(i int) string { return fmt.Sprintf("n%d", i+1) }

// ClientURL is where clients connect to a server, whichever runs in its place.
func (c *Cluster) ClientURL(i int) string { return "nats://" + c.network.ClientAddr(i) }

// URLs are those of all servers, as clients take them.
func (c *Cluster) URLs() string {
	var all []string
	for i := range c.nodes {
		all = append(all, c.ClientURL(i))
	}
	return strings.Join(all, ",")
}

// Running reports whether a server has power.
func (c *Cluster) Running(i int) bool { return c.nodes[i].server != nil }

// configuration is that of one server.
func (c *Cluster) configuration(i int) string {
	var routes []string
	for j := range c.nodes {
		if j != i {
			routes = append(routes, fmt.Sprintf("%q", "nats-route://"+c.network.Addr(i, j)))
		}
	}
	return fmt.Sprintf(`
server_name: %s
listen: "127.0.0.1:-1"
jetstream { store_dir: %q, max_file: 4GB, max_mem: 256MB }
cluster {
  name: powercut
  listen: "127.0.0.1:-1"
  advertise: %q
  no_advertise: true
  routes: [ %s ]
}
%s`, c.Name(i), filepath.Join(c.options.Dir, c.Name(i)), nowhere, strings.Join(routes, ", "), c.options.Extra)
}

// PowerOn starts a server on what its disk has.
func (c *Cluster) PowerOn(i int) error {
	n := c.nodes[i]
	if n.gone != nil {
		<-n.gone
	}
	o, err := conf.Parse(c.Name(i), []byte(c.configuration(i)))
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", c.Name(i), err)
	}
	out := c.options.Log
	if out == nil {
		out = io.Discard
	}
	logger := slog.New(slog.NewTextHandler(out, nil)).With("node", c.Name(i))
	s, err := server.OpenOn(server.Host{Disk: n.supply.FS(), MetaLog: n.supply.MetaLog, Tune: small, Clock: n.now}, o, logger)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name(i), err)
	}
	n.server = s
	c.network.Retarget(i, network.Target{Cluster: strings.TrimPrefix(s.ClusterURL(), "nats-route://"), Client: s.Addr().String()})
	c.connect()
	return nil
}

// now is what the clock of a server shows. As it is set it tells nothing of how much time has passed.
func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.clock.Load())).Round(0) }

// SetClock sets the clock of a server ahead of the real one, or back. It stays so through power cuts.
func (c *Cluster) SetClock(i int, ahead time.Duration) { c.nodes[i].clock.Store(int64(ahead)) }

// small makes a store that begins files, and gets rid of them, all the time.
func small(c *store.Config) {
	c.LogBytes, c.LogSegmentBytes = 16<<20, 512<<10
	c.FlushBytes, c.SegmentBytes, c.FlushAge = 512<<10, 1<<20, time.Second
}

// CutPower turns some servers off, all at the same instant. How much of what they had not synced is left, choose decides for each.
func (c *Cluster) CutPower(choose func(i int) vfs.Choice, servers ...int) {
	var supplies []*Supply
	servers = slices.DeleteFunc(slices.Clone(servers), func(i int) bool { return !c.Running(i) })
	for _, i := range servers {
		supplies = append(supplies, c.nodes[i].supply)
	}
	left := Cut(func(k int) vfs.Choice { return choose(servers[k]) }, supplies...)
	for k, i := range servers {
		n := c.nodes[i]
		old, gone := n.server, make(chan struct{})
		n.supply, n.server, n.gone = left[k], nil, gone
		c.network.Retarget(i, network.Target{Cluster: nowhere, Client: nowhere})
		c.leaving.Go(func() {
			defer close(gone)
			_ = old.Close() // it fails: its disk does
		})
	}
	c.connect()
}

// Arm has the power of a server go when it comes to a point, with what is left as choose decides, and closes the channel that
// it returns when that has happened. Nothing else may be done with the cluster until then; to give up, disarm.
func (c *Cluster) Arm(i int, p Point, choose vfs.Choice) (gone <-chan struct{}, disarm func()) {
	supply, done := c.nodes[i].supply, make(chan struct{})
	supply.Arm(p, func() {
		c.CutPower(func(int) vfs.Choice { return choose }, i)
		close(done)
	})
	return done, func() { supply.alarm.Store(nil) }
}

// Part cuts some servers off from the others, and from all clients, until it is called again: with nobody, to have all connected.
func (c *Cluster) Part(servers ...int) {
	c.parted = servers
	c.connect()
}

// connect makes the network as it is to be: who has no power, and who is cut off, reaches nobody.
func (c *Cluster) connect() {
	for i := range c.nodes {
		if clients := c.network.Clients(i); slices.Contains(c.parted, i) {
			c.network.CutClients(i)
			clients.Reset() // they would stay where nobody answers
		} else {
			clients.Heal()
		}
		for j := range i {
			switch {
			case !c.Running(i) || !c.Running(j):
				c.network.Cut(i, j)
				c.network.Reset(i, j) // what a dying server still says does not wait for its successor
			case slices.Contains(c.parted, i) != slices.Contains(c.parted, j):
				c.network.Cut(i, j)
			default:
				c.network.Between(i, j).Heal()
				c.network.Between(j, i).Heal()
			}
		}
	}
}

// Close ends all servers, and returns when nothing runs any more.
func (c *Cluster) Close() error {
	var errs []error
	for i, n := range c.nodes {
		if n.server == nil {
			continue
		}
		if err := n.server.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", c.Name(i), err))
		}
	}
	c.leaving.Wait()
	c.network.Close()
	return errors.Join(errs...)
}
