// Package clustering makes a server a member of its cluster: from the cluster block of the options to a mesh, and from what
// the mesh says to what clients and monitoring are told. Links go to whoever uses them; here nobody reads them.
package clustering

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/mesh"
	"runnel/conf"
	"runnel/server/membership"
)

// DefaultTimeout is how long another server may take to show who it is, where no option says.
const DefaultTimeout = 5 * time.Second

// defaultPool is the size of a pool for pool_size 0.
const defaultPool = 3

// Receiver takes links over: it reads, writes and closes them. Both methods are called in the order in which things
// happen, and must not take long.
type Receiver interface {
	// Linked hands a link over.
	Linked(l *mesh.Link)
	// Unlinked says that it has ended, and why.
	Unlinked(l *mesh.Link, reason error)
}

// Config is what a Cluster is made of.
type Config struct {
	Options Options
	// Self is this server, but for its URLs. An empty Cluster takes a name that yields to those of others.
	Self mesh.Member
	// SystemAccount has a route of its own; empty for none.
	SystemAccount string
	// Listener is where other servers connect; nil if this one only dials. It is closed with the cluster, or if Open fails.
	Listener net.Listener
	// PingMax is how many pings another server may leave unanswered, where the options do not say.
	PingMax int
	// Routes gets the links for messages, Raft those of replication; without Raft there are none of those.
	Routes, Raft Receiver
	// Changed is called by a goroutine of its own after the View has changed, as often as that is needed.
	Changed func()
	// Logger must not be nil.
	Logger *slog.Logger
}

// Options are what a reload may replace: the block, with its files read.
type Options struct {
	*conf.Cluster
	TLS, DialTLS *tls.Config // nil without encryption
}

// Cluster is this server as a member. Its methods may be called by any goroutine; those of a nil Cluster say and do what
// fits a server alone.
type Cluster struct {
	cfg     Config
	mesh    *mesh.Mesh
	view    atomic.Pointer[View]
	news    chan struct{} // the view has changed
	stop    context.CancelFunc
	running sync.WaitGroup

	mu                  sync.Mutex // guards what follows: what others are told
	options             Options
	clients, websockets []string
	lameDuck            bool
}

// View is what this server knows of its cluster. It does not change.
type View struct {
	// Name is that of the cluster, empty for a server alone.
	Name string
	// ConnectURLs and WebsocketURLs are what clients are told; nothing with no_advertise.
	ConnectURLs, WebsocketURLs []string
	// Self and Others are the members, the others by name.
	Self   mesh.Member
	Others []mesh.Member
}

// Open joins the cluster. Other servers are looked for from here on.
func Open(cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg, news: make(chan struct{}, 1), options: cfg.Options}
	err := Check(cfg.Options.Cluster)
	if err != nil {
		closeListener(cfg.Listener)
		return nil, err
	}
	self := c.cfg.Self
	self.Cluster = cfg.Options.Name
	if self.Cluster == "" {
		self.Cluster, self.Dynamic = rand.Text(), true
	}
	self.RouteURL = c.routeURL()
	c.cfg.Self = self
	c.view.Store(&View{Name: self.Cluster, Self: self})
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	o := cfg.Options.Cluster
	c.mesh, err = mesh.Open(mesh.Config{
		Self:             self,
		Listener:         cfg.Listener,
		Seeds:            o.Routes,
		Security:         c.security(&cfg.Options),
		PoolSize:         poolSize(o),
		Accounts:         dedicated(o, cfg.SystemAccount),
		Raft:             cfg.Raft != nil,
		Compression:      mesh.Compression(o.Compression.Mode),
		RTTThresholds:    o.Compression.RTTThresholds,
		PingInterval:     o.PingInterval,
		PingMax:          cmp.Or(o.PingMax, cfg.PingMax),
		HandshakeTimeout: Timeout(o),
		ConnectRetries:   o.ConnectRetries,
		Backoff:          o.ConnectBackoff,
		Logger:           cfg.Logger,
	}, handler{c})
	if err != nil {
		stop()
		closeListener(cfg.Listener)
		return nil, err
	}
	if open(&cfg) {
		cfg.Logger.Warn("Whoever reaches the cluster port can join, and see and send all messages: set cluster.authorization or cluster.tls",
			"address", cfg.Listener.Addr().String())
	}
	c.running.Go(func() { c.tell(ctx) })
	return c, nil
}

// open tells whether strangers on other machines could join.
func open(cfg *Config) bool {
	if cfg.Listener == nil || cfg.Options.Authorization.Username != "" || cfg.Options.TLS != nil {
		return false
	}
	a, ok := cfg.Listener.Addr().(*net.TCPAddr)
	return !ok || !a.IP.IsLoopback()
}

func closeListener(ln net.Listener) {
	if ln != nil {
		_ = ln.Close() // there is an error already
	}
}

// Timeout is how long another server may take to show who it is.
func Timeout(o *conf.Cluster) time.Duration { return cmp.Or(o.Authorization.Timeout, DefaultTimeout) }

// poolSize is the number of routes to each other server that accounts without one of their own share.
func poolSize(o *conf.Cluster) int {
	switch {
	case o.PoolSize < 0:
		return 1
	case o.PoolSize == 0:
		return defaultPool
	}
	return o.PoolSize
}

// dedicated are the accounts with routes of their own: those of the options, and that of the system.
func dedicated(o *conf.Cluster, system string) []string {
	accounts := slices.Clone(o.Accounts)
	if system != "" && !slices.Contains(accounts, system) {
		accounts = append(accounts, system)
	}
	return accounts
}

// routeURL is where this server tells others to connect. c.mu is held, or nobody has c yet.
func (c *Cluster) routeURL() string {
	if c.cfg.Listener == nil {
		return ""
	}
	port := 0
	if a, ok := c.cfg.Listener.Addr().(*net.TCPAddr); ok {
		port = a.Port
	}
	if c.options.Advertise != "" {
		return membership.Advertised(c.options.Advertise, port)
	}
	return net.JoinHostPort(c.options.Host, strconv.Itoa(port))
}

// View returns what is known now; an empty one for a server alone.
func (c *Cluster) View() *View {
	if c == nil {
		return &View{}
	}
	return c.view.Load()
}

// Advertise tells others where clients connect to this server, as [membership.Listener.URLs] says it. It may
// be called again when that has changed.
func (c *Cluster) Advertise(clients, websockets []string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients, c.websockets = clients, websockets
	return c.present()
}

// LameDuck tells others that this server is about to stop: they send no more clients here. The View says so at once.
func (c *Cluster) LameDuck() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lameDuck = true
	return c.present()
}

// present tells others how this server is now. c.mu is held.
func (c *Cluster) present() error {
	v := c.view.Load()
	c.see(v.Self, v.Others) // the mesh says the same later
	return c.mesh.SetSelf(c.told(c.cfg.Self))
}

// told is self with what others are told. c.mu is held.
func (c *Cluster) told(self mesh.Member) mesh.Member {
	self.RouteURL, self.LameDuck = c.routeURL(), c.lameDuck
	self.ClientURLs, self.WebsocketURLs = nil, nil
	if !c.options.NoAdvertise {
		self.ClientURLs, self.WebsocketURLs = c.clients, c.websockets
	}
	return self
}

// see makes the view of what the mesh says. c.mu is held.
func (c *Cluster) see(self mesh.Member, others []mesh.Member) {
	self = c.told(self) // the mesh may not have heard yet
	next := &View{Name: self.Cluster, Self: self, Others: others}
	if !c.options.NoAdvertise {
		next.ConnectURLs = membership.ClientURLs(self, others)
		next.WebsocketURLs = membership.WebsocketURLs(self, others)
	}
	if old := c.view.Load(); old.Name != next.Name {
		c.cfg.Logger.Info("Cluster name updated to "+next.Name, "before", old.Name)
	}
	c.view.Store(next)
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// Reload applies what of the options can change while the cluster runs: routes, advertise, no_advertise, authorization and
// tls. Connections that there are stay. After an error nothing has changed.
func (c *Cluster) Reload(o Options) error {
	if c == nil {
		return nil
	}
	if err := Check(o.Cluster); err != nil {
		return err
	}
	if err := c.mesh.SetSeeds(o.Routes); err != nil {
		return err
	}
	c.mesh.SetSecurity(c.security(&o))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.options = o
	return c.present()
}

// Links are the links with other servers, oldest first.
func (c *Cluster) Links() []*mesh.Link {
	if c == nil {
		return nil
	}
	return c.mesh.Links()
}

// Complete reports whether this server is connected with that many others, by all links that it should have.
func (c *Cluster) Complete(others int) bool {
	if c == nil {
		return others == 0
	}
	return c.mesh.Complete(others)
}

// Close leaves the cluster, and returns when the receivers have been told that all links are gone. When ctx ends it
// does not wait for other servers any longer.
func (c *Cluster) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	err := c.mesh.Close(ctx)
	c.stop()
	c.running.Wait()
	return err
}

// tell calls Changed whenever there is a reason to.
func (c *Cluster) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.news:
			c.cfg.Changed()
		}
	}
}

// handler is what the mesh tells.
type handler struct{ c *Cluster }

// Linked implements mesh.Handler.
func (h handler) Linked(l *mesh.Link) { h.receiver(l).Linked(l) }

// Unlinked implements mesh.Handler.
func (h handler) Unlinked(l *mesh.Link, reason error) { h.receiver(l).Unlinked(l, reason) }

// receiver is who uses a link. The mesh makes no links of raft unless it was told that there is somebody.
func (h handler) receiver(l *mesh.Link) Receiver {
	if l.Kind == mesh.Route {
		return h.c.cfg.Routes
	}
	return h.c.cfg.Raft
}

// MembersChanged implements mesh.Handler.
func (h handler) MembersChanged(self mesh.Member, others []mesh.Member) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.see(self, others)
}
