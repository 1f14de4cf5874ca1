package mesh

import (
	"cmp"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config says who a server is and how it meets others. It must not change after Open.
type Config struct {
	// Self is this server. ID, Name and Cluster are needed; Start is now if it is zero.
	Self Member
	// Listener accepts other servers; nil if this server only dials. The mesh closes it.
	Listener net.Listener
	// Seeds are where other servers are found: URLs like nats-route://user:password@host:port, or host:port.
	// They are dialled for ever.
	Seeds []string
	Security
	// PoolSize is the number of pooled routes to each other server, 1 if zero. The smaller of two sizes is used.
	PoolSize int
	// Accounts have a route of their own to each other server. A route that one of two servers wants is made.
	Accounts []string
	// Raft adds the two links of raft between servers that both ask for it.
	Raft bool
	// Compression is CompressionAccept if empty. RTTThresholds are those of CompressionAuto, up to three in
	// ascending order; 10, 50 and 100 ms if nil.
	Compression   Compression
	RTTThresholds []time.Duration
	// PingInterval is the pause between pings, 30 s if zero. A server that has left PingMax of them without an answer
	// is given up; 2 if zero.
	PingInterval time.Duration
	PingMax      int
	// HandshakeTimeout bounds dialling and, apart from that, the handshake; 5 s if zero.
	HandshakeTimeout time.Duration
	// ConnectRetries is how often a server that was learned of and that nobody is connected to any more
	// is tried again before it is forgotten.
	ConnectRetries int
	// Backoff lengthens the pauses between attempts to reach a seed from 1 s to 30 s.
	Backoff bool
	// Dial connects to host:port, by TCP if nil.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Lookup finds the addresses of the host of a seed: any of them will do. If it is nil and Dial is too, the resolver
	// of the system is asked; with Dial alone, hosts are dialled by name.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Logger gets diagnostics; nil discards them.
	Logger *slog.Logger
}

// Handler is told what happens. Its methods are called one at a time, in the order in which things happened, with no lock
// held: they may call the mesh, except for Close, and must not take long. Everything is told before Close
// returns.
type Handler interface {
	// Linked hands a link over: to read it, to write it, and to close it. It may have ended already.
	Linked(l *Link)
	// Unlinked says that a link has ended, whoever ended it, and why (nil if its user closed it without a reason). Its
	// connection is closed or about to be.
	Unlinked(l *Link, reason error)
	// MembersChanged tells how this server presents itself and with which others it has sessions, by name. It is
	// called when any of that has changed, and may skip states in between. All links that the handler has at that moment
	// are those of members.
	MembersChanged(self Member, others []Member)
}

// Security is whom a server lets in, and what it shows to others. It must not change once it was given away.
type Security struct {
	// Username and Password are what other servers must show to this one; with both empty, everybody is let in. It is
	// also what this server shows, if the URL of a seed says nothing else. Without TLS it is shown in clear text, to
	// whoever answers at the address.
	Username, Password string
	// Authorize decides in place of Username and Password who is let in, for example by a hash.
	Authorize func(username, password string) bool
	// TLS encrypts what is accepted, DialTLS what is dialled (its ServerName is the dialled host if empty).
	TLS, DialTLS *tls.Config
}

// setDefaults makes Authorize compare, if nobody else decides.
func (c *Security) setDefaults() {
	if c.Authorize == nil {
		wantUser, wantPassword := c.Username, c.Password
		c.Authorize = func(username, password string) bool {
			user := subtle.ConstantTimeCompare([]byte(username), []byte(wantUser))
			pass := subtle.ConstantTimeCompare([]byte(password), []byte(wantPassword))
			return wantUser == "" && wantPassword == "" || user&pass == 1
		}
	}
}

// Mesh is this server's part of the mesh. Its methods may be called by any goroutine.
type Mesh struct {
	cfg     Config
	offer   offer
	log     *slog.Logger
	moans   *complaints
	handler Handler

	security atomic.Pointer[Security]

	ctx    context.Context // ends when everything must
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines but the one that calls the handler
	told   chan struct{}  // closed when that one has gone
	news   chan struct{}  // there are events, or there will be no more

	mu       sync.Mutex // guards what follows and what says so; nobody is called while it is held
	self     Member
	closing  bool
	sessions map[string]*session // by the id of the peer
	past     map[string]uint64   // the last session that was followed, by the id of the decider
	targets  map[string]*target  // whom to dial, by address
	links    map[uint64]*Link    // those that the handler is told of
	lastLink uint64
	lastNum  uint64 // of the sessions that were decided here
	events   []event
	changed  bool // MembersChanged is due
	finished bool // no more events will come
}

// Open checks the configuration, starts to listen and to dial, and returns at once.
func Open(cfg Config, handler Handler) (*Mesh, error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("open the mesh: %w", err)
	}
	seeds, err := parseSeeds(cfg.Seeds)
	if err != nil {
		return nil, fmt.Errorf("open the mesh: %w", err)
	}
	m := &Mesh{
		cfg: cfg, log: cfg.Logger, moans: newComplaints(), handler: handler, self: cfg.Self.clone(),
		offer: offer{Pool: cfg.PoolSize, Accounts: slices.Clone(cfg.Accounts), Raft: cfg.Raft, Compression: cfg.Compression},
		told:  make(chan struct{}), news: make(chan struct{}, 1),
		sessions: map[string]*session{}, past: map[string]uint64{}, targets: map[string]*target{}, links: map[uint64]*Link{},
	}
	m.security.Store(&cfg.Security)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	go m.tell()
	if cfg.Listener != nil {
		m.wg.Go(m.accept)
	}
	m.setSeeds(seeds)
	return m, nil
}

func (c *Config) setDefaults() {
	c.PoolSize = max(1, c.PoolSize)
	c.Compression = cmp.Or(c.Compression, CompressionAccept)
	c.PingInterval = cmp.Or(c.PingInterval, 30*time.Second)
	c.PingMax = cmp.Or(c.PingMax, 2)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 5*time.Second)
	if c.RTTThresholds == nil {
		c.RTTThresholds = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Dial == nil && c.Lookup == nil {
		c.Lookup = net.DefaultResolver.LookupHost
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	c.Security.setDefaults()
	if c.Self.Start.IsZero() {
		c.Self.Start = time.Now()
	}
	c.Self.Start = c.Self.Start.UTC().Round(0) // as others will read it
}

// check finds what cannot work.
func (c *Config) check() error {
	if err := c.Self.check(); err != nil {
		return err
	}
	switch {
	case !c.Compression.known():
		return fmt.Errorf("unknown compression %q", c.Compression)
	case len(c.RTTThresholds) == 0 || len(c.RTTThresholds) > 3 || !slices.IsSorted(c.RTTThresholds):
		return fmt.Errorf("the round trip times of s2_auto must be one to three in ascending order, not %v", c.RTTThresholds)
	case c.PingInterval < 0 || c.HandshakeTimeout < 0 || c.PingMax < 0 || c.ConnectRetries < 0:
		return errors.New("times and counts must not be negative")
	}
	if slices.Contains(c.Accounts, "") {
		return errors.New("an account with a route of its own needs a name")
	}
	return nil
}

// Self is this server as it presents itself: the name of the cluster may have been taken from others.
func (m *Mesh) Self() Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self.clone()
}

// Members are the servers that this one has sessions with, by name.
func (m *Mesh) Members() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.others(nil)
}

// others lists the peers of all established sessions but one, by name. The mutex must be held.
func (m *Mesh) others(but *session) []Member {
	var list []Member
	for _, s := range m.sessions {
		if s.established && s != but {
			list = append(list, s.peer.clone())
		}
	}
	slices.SortFunc(list, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Links are the links that are established, oldest first.
func (m *Mesh) Links() []*Link {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Link, 0, len(m.links))
	for _, l := range m.links {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Link) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Complete reports whether this server has sessions with that many others, and all links that belong to them.
func (m *Mesh) Complete(others int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.established && len(s.links) == len(s.offer.slots()) {
			others--
		}
	}
	return others == 0
}

// SetSelf changes what this server tells about itself: its URLs, Level, JetStream and LameDuck. All else in self is
// ignored.
func (m *Mesh) SetSelf(self Member) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.self.clone()
	next.RouteURL, next.ClientURLs, next.WebsocketURLs = self.RouteURL, slices.Clone(self.ClientURLs), slices.Clone(self.WebsocketURLs)
	next.Level, next.JetStream, next.LameDuck = self.Level, self.JetStream, self.LameDuck
	if err := next.check(); err != nil {
		return fmt.Errorf("change what others are told: %w", err)
	}
	m.self = next
	m.membersChanged()
	return nil
}

// SetSeeds replaces the seeds. Sessions stay; a server that is no seed any more is one that was learned of.
func (m *Mesh) SetSeeds(urls []string) error {
	seeds, err := parseSeeds(urls)
	if err != nil {
		return fmt.Errorf("set the seeds: %w", err)
	}
	m.setSeeds(seeds)
	return nil
}

// SetSecurity replaces whom this server lets in and what it shows to others, from the next handshake on. Sessions stay,
// and so do their links; what of them is dialled again meets the new.
func (m *Mesh) SetSecurity(s Security) {
	s.setDefaults()
	m.security.Store(&s)
}

// byeTimeout bounds the farewell to peers that do not take it.
const byeTimeout = time.Second

// Close tells the other servers that this one leaves, closes everything and returns when all is closed and the handler
// has been told. When ctx ends it does not wait any longer for the others.
func (m *Mesh) Close(ctx context.Context) error {
	m.mu.Lock()
	first := !m.closing
	m.closing = true
	var open []*session
	for _, s := range m.sessions {
		open = append(open, s)
		s.dismiss(&bye{Reason: "it stops", Leaving: true, err: ErrClosed})
	}
	for _, t := range m.targets {
		t.cancel()
	}
	m.mu.Unlock()
	if !first {
		<-m.told
		return nil
	}
	var err error
	if m.cfg.Listener != nil {
		err = m.cfg.Listener.Close()
	}
	ctx, stop := context.WithTimeout(ctx, byeTimeout)
	defer stop()
	for _, s := range open {
		select {
		case <-s.ctx.Done():
		case <-ctx.Done():
		}
	}
	m.endAll()
	m.cancel()
	m.wg.Wait()
	m.finish()
	<-m.told
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the listener of the mesh: %w", err)
	}
	return nil
}

func (m *Mesh) endAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		m.end(s, ErrClosed)
	}
}

// pause waits for d, a quarter more or less. It is false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(jitter(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
