package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
	"runnel/cluster/mesh"
	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/cluster/transport"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/clustered"
	"runnel/server/replication/leaders"
)

// Names of the calls between servers.
const (
	serviceCall = "jetstream" // a question of the service of streams
	leaderCall  = "leaders"   // who leads what
)

// metaFolder is the folder of the meta group.
const metaFolder = "meta"

// Config is what replication on a server is made of.
type Config struct {
	// Disk has Dir, a folder of its own, which exists. The node id is kept there, and the meta group.
	Disk vfs.FS
	Dir  string
	// MetaLog is [meta.Config.Store]; nil only on the real disk.
	MetaLog func(dir string) (meta.Store, error)
	// Self says what this server is: its name and cluster, tags, limits, feature level. The node is filled in.
	Self state.Member
	// ClusterName returns the name of the cluster as it is now.
	ClusterName func() string
	// Size is how many servers a new cluster has, 0 where that is not known yet.
	Size func() int
	// Secured says that other servers have to show who they are. If not, only those on this machine are let in.
	Secured bool
	// UniqueTag is the beginning of tags that no two servers of one stream may share.
	UniqueTag string
	// Usage tells what this server has, but for the streams that it leads.
	Usage func() meta.Usage
	// Rate bounds in bytes a second what other servers fetch of files; 0 is no bound. See SetRate.
	Rate int64
	// OutstandingBytes bounds what of these files is on its way at once; 0 is no bound.
	OutstandingBytes int64
	// Logger must not be nil.
	Logger *slog.Logger
}

// Groups are the groups of the streams that this server has: cluster/replicas.
type Groups interface {
	// Status returns the state of a stream's group as this server sees it; false if it has no part in it.
	Status(id uint64) (group.Status, bool)
	// Step says what a stream waits for that is led here and goes to other servers: in words, and as the API names the kind; empty
	// for others.
	Step(id uint64) (text, kind string)
	// StepDown lets a node take over a stream that is led here, or any if the node is empty.
	StepDown(ctx context.Context, id uint64, node string) error
	// Resign hands over what is led here, and leads nothing more; it returns when that is done or the context ends.
	Resign(ctx context.Context)
	// Close ends all groups.
	Close() error
}

// Service is who serves the streams: server/jetstream.
type Service interface {
	Opened(log *store.Stream)
	Lead(id, term uint64)
	Follow(id uint64)
	Closed(id uint64)
	Answer(ctx context.Context, question []byte) ([]byte, error)
	// QuorumLost is told that too few servers of a stream can be reached, MetaElected that this server leads the meta group.
	QuorumLost(id uint64)
	MetaElected()
	// Reached is told that a server can be reached, or cannot any more, Lost that a link to one has ended. They do not wait.
	Reached(node string, is bool)
	Lost(node string)
}

// Replication is a server's part in the keeping of streams. Its methods are safe for concurrent use.
type Replication struct {
	cfg       Config
	node      string
	transport *transport.Transport
	leaders   *leaders.Table
	shown     shown
	refused   sync.Map // names of servers that were told that they are not let in
	news      chan struct{}
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
	ending    sync.Once
	ended     error // of the close

	life    sync.Mutex // guards what follows; held while all starts, and while all ends
	closed  bool
	unwatch []func()

	// These are nil until Start has got so far: requests of other servers come before.
	meta    atomic.Pointer[meta.Meta]
	groups  atomic.Pointer[Groups]
	service atomic.Pointer[Service]
}

// New makes the transport, so that links can come. The node id is drawn at the first start.
func New(cfg Config) (*Replication, error) {
	node, err := meta.NodeID(cfg.Disk, cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("replication: %w", err)
	}
	cfg.Self.Node = node
	r := &Replication{cfg: cfg, node: node, leaders: leaders.New(), news: make(chan struct{}, 1)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.transport = transport.New(transport.Config{
		Node: node, Rate: cfg.Rate, OutstandingBytes: cfg.OutstandingBytes, Logger: cfg.Logger,
		Authorized: func(peer mesh.Member) bool { return peer.JetStream && peer.Node != "" },
	})
	r.transport.Serve(serviceCall, transport.Service{Handle: r.answer, MaxBytes: answerMax})
	r.transport.Serve(surveyCall, transport.Service{Handle: r.answerSurvey, MaxBytes: answerMax})
	r.transport.Serve(leaderCall, transport.Service{Handle: r.hear, MaxBytes: answerMax})
	return r, nil
}

// answerMax bounds what servers say in one call: infos of many streams.
const answerMax = 16 << 20

// Node returns the node id of this server.
func (r *Replication) Node() string { return r.node }

// SetRate changes Config.Rate, at once.
func (r *Replication) SetRate(bytes int64) { r.transport.SetRate(bytes) }

// Linked implements clustering.Receiver.
func (r *Replication) Linked(l *mesh.Link) {
	if !r.cfg.Secured && !loopback(l.RemoteAddr()) {
		if _, told := r.refused.LoadOrStore(l.Peer.Name, true); !told {
			r.cfg.Logger.Error("streams are not replicated with a server on another machine, since anybody could pretend to be one: "+
				"set cluster.authorization or cluster.tls on all servers", "server", l.Peer.Name, "addr", l.RemoteAddr())
		}
		l.CloseWith(errors.New("replication with another machine needs cluster.authorization or cluster.tls"))
		return
	}
	r.transport.Attach(l.Peer, l.Kind, l)
}

// Unlinked implements clustering.Receiver.
func (r *Replication) Unlinked(l *mesh.Link, reason error) {
	r.transport.Detach(l.Peer, l, reason)
	if s := r.service.Load(); s != nil && l.Kind == mesh.RaftHeartbeat {
		(*s).Lost(l.Peer.Node)
	}
}

// loopback tells whether an address is on this machine.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// Start joins the meta group, and lets the groups of this server's streams work. open makes them.
func (r *Replication) Start(service Service, open func(*transport.Transport, *meta.Meta, Service) (Groups, error)) error {
	r.life.Lock()
	defer r.life.Unlock()
	if r.closed {
		return errors.New("replication was closed before it began")
	}
	m, err := meta.Open(meta.Config{
		Self: r.cfg.Self, FS: r.cfg.Disk, Dir: filepath.Join(r.cfg.Dir, metaFolder), Store: r.cfg.MetaLog,
		Raft: func() raft.Transport {
			return r.transport.Group(0, transport.GroupOptions{Commit: r.decided, Prompt: true})
		},
		Campaign: func() error { return r.transport.TimeoutNow(0) },
		Reached:  func(voters []string, node string) bool { return r.transport.Reach().Majority(voters, node) },
		Calls:    calls{r.transport}, Connected: r.reached, Expected: r.cfg.Size, UniqueTag: r.cfg.UniqueTag,
		Usage: r.usage, Halted: r.halted, Logger: r.cfg.Logger,
	})
	if err != nil {
		return fmt.Errorf("replication: %w", err)
	}
	r.meta.Store(m)
	r.service.Store(&service)
	groups, err := open(r.transport, m, told{service, r})
	if err != nil {
		return fmt.Errorf("replication: %w", err) // Close closes the rest
	}
	r.groups.Store(&groups)
	r.unwatch = append(r.unwatch, m.Watch(r.changed), r.transport.Watch(r.peerChanged))
	r.running.Go(r.spread)
	r.running.Go(func() { r.watchMeta(m, service) })
	return nil
}

// decided is how far the meta group has decided, while this server leads it: so others hear at once of what was decided last.
func (r *Replication) decided() uint64 {
	if m := r.meta.Load(); m != nil {
		return m.LeaderCommit()
	}
	return 0
}

// Resign hands over what this server leads, the meta group too; it leads nothing more then. It returns when that is done, or the
// context ends.
func (r *Replication) Resign(ctx context.Context) {
	if g := r.groups.Load(); g != nil {
		(*g).Resign(ctx)
	}
	if m := r.meta.Load(); m != nil && m.Leads() {
		if err := m.StepDown(ctx, nil); err != nil {
			r.cfg.Logger.Info("nobody takes over the meta group", "error", err)
		}
	}
}

// Close ends everything. The store and the service stay open: they are closed after it. Calling it again waits for the first call.
func (r *Replication) Close() error {
	r.ending.Do(func() { r.ended = r.close() })
	return r.ended
}

// close is Close for the first time.
func (r *Replication) close() error {
	r.life.Lock()
	defer r.life.Unlock()
	r.closed = true
	var errs []error
	for _, stop := range r.unwatch {
		stop()
	}
	if g := r.groups.Load(); g != nil {
		errs = append(errs, (*g).Close())
	}
	if m := r.meta.Load(); m != nil {
		errs = append(errs, m.Close())
	}
	r.stop()
	r.running.Wait()
	errs = append(errs, r.transport.Close())
	return errors.Join(errs...)
}

// halted is told that this server does not take part in the meta group any more.
func (r *Replication) halted(err error) {
	r.cfg.Logger.Error("this server does not belong to the cluster's meta group any more: streams are not made or moved here", "error", err)
}

// calls are those of the meta group.
type calls struct{ *transport.Transport }

// Handle implements meta.Calls.
func (c calls) Handle(service string, handler func(ctx context.Context, from string, payload []byte) ([]byte, error)) {
	c.Transport.Handle(service, handler)
}

// told is the service as the groups tell it: what it leads is noted for others.
type told struct {
	Service
	r *Replication
}

// Lead implements Service.
func (t told) Lead(id, term uint64) {
	t.Service.Lead(id, term)
	t.r.leaders.Lead(id, term)
	t.r.wake()
}

// Follow implements Service.
func (t told) Follow(id uint64) {
	t.r.leaders.End(id)
	t.r.wake()
	t.Service.Follow(id)
}

// Closed implements Service.
func (t told) Closed(id uint64) {
	t.r.leaders.End(id)
	t.r.wake()
	t.Service.Closed(id)
}

// wake lets the others be told.
func (r *Replication) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// spread tells others what has changed about who leads what.
func (r *Replication) spread() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.news:
		}
		if news := r.leaders.News(); news != nil {
			for _, node := range r.reached() {
				r.tell(node, news)
			}
		}
	}
}

// metaEvery is how often it is looked whether this server leads the meta group.
const metaEvery = 500 * time.Millisecond

// watchMeta tells the service when this server begins to lead the meta group.
func (r *Replication) watchMeta(m *meta.Meta, service Service) {
	tick := time.NewTicker(metaEvery)
	defer tick.Stop()
	for led := false; ; {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		leads := m.Leads()
		if leads && !led {
			service.MetaElected()
		}
		led = leads
	}
}

// tellTime bounds how long one server is told.
const tellTime = 5 * time.Second

// tell tells one server who leads what. One that does not hear it is told all when its links are back.
func (r *Replication) tell(node string, notice []byte) {
	r.running.Go(func() {
		ctx, cancel := context.WithTimeout(r.ctx, tellTime)
		defer cancel()
		if _, err := r.transport.Call(ctx, node, leaderCall, notice); err != nil && r.ctx.Err() == nil {
			r.cfg.Logger.Debug("a server did not hear who leads which streams", "node", node, "error", err)
		}
	})
}

// hear takes in what another server leads.
func (r *Replication) hear(_ context.Context, from string, notice []byte) ([]byte, error) {
	return nil, r.leaders.Hear(from, notice)
}

// view is what the meta group has decided, as far as it is known here.
func (r *Replication) view() *state.View {
	if m := r.meta.Load(); m != nil {
		return m.View()
	}
	return state.NewMachine().View()
}

// status is how the meta group is doing.
func (r *Replication) status() meta.Status {
	if m := r.meta.Load(); m != nil {
		return m.Status()
	}
	return meta.Status{}
}

// group is how the group of a stream is doing; false if this server has no part in it, or is still starting.
func (r *Replication) group(id uint64) (group.Status, bool) {
	if g := r.groups.Load(); g != nil {
		return (*g).Status(id)
	}
	return group.Status{}, false
}

// step is what a stream waits for that moves, as far as it is led here.
func (r *Replication) step(id uint64) (text, kind string) {
	if g := r.groups.Load(); g != nil {
		return (*g).Step(id)
	}
	return "", ""
}

var errStarting = errors.New("this server is still starting")

// answer has the service answer a question of another server.
func (r *Replication) answer(ctx context.Context, _ string, question []byte) ([]byte, error) {
	s := r.service.Load()
	if s == nil {
		return nil, errStarting
	}
	return (*s).Answer(ctx, question)
}

// peerChanged is told who can be reached.
func (r *Replication) peerChanged(e transport.PeerEvent) {
	if s := r.service.Load(); s != nil {
		(*s).Reached(e.Node, e.Up)
	}
	if e.Up {
		r.tell(e.Node, r.leaders.All())
	}
}

// changed is told what the meta group has decided.
func (r *Replication) changed(c meta.Change) {
	if c.Old != nil && (c.New == nil || c.New.ID != c.Old.ID) {
		r.leaders.Forget(c.Old.ID)
		r.shown.forget(c.Old.ID)
	}
}

// reached are the nodes that can be reached, without this one.
func (r *Replication) reached() []string {
	var nodes []string
	for _, p := range r.transport.Peers() {
		if p.Up {
			nodes = append(nodes, p.Node)
		}
	}
	return nodes
}

// usage is what this server has.
func (r *Replication) usage() meta.Usage {
	u := r.cfg.Usage()
	u.Led = r.leaders.Led()
	return u
}

// shown keeps assignments in the form that the service sees: as long as one does not change, it is the same pointer.
type shown struct {
	mu   sync.Mutex // guards all
	all  map[uint64]*clustered.Assignment
	from map[uint64]*state.Assignment
}

// of returns an assignment as the service sees it.
func (s *shown) of(a *state.Assignment) *clustered.Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from[a.ID] == a {
		return s.all[a.ID]
	}
	if s.all == nil {
		s.all, s.from = make(map[uint64]*clustered.Assignment), make(map[uint64]*state.Assignment)
	}
	s.all[a.ID], s.from[a.ID] = show(a), a
	return s.all[a.ID]
}

// forget lets an assignment go that is no more.
func (s *shown) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	delete(s.from, id)
}

// show makes an assignment of the meta group one that the service sees.
func show(a *state.Assignment) *clustered.Assignment {
	out := &clustered.Assignment{
		ID: a.ID, Account: a.Account, Config: a.Config, Created: time.Unix(0, a.Created).UTC(), Group: a.Group, Peers: a.Peers,
	}
	if d := a.Desired; d != nil {
		out.Moving = &clustered.Moving{
			Since: time.Unix(0, d.Since), Replicas: len(d.Peers), From: d.Origin.Replicas, Placement: d.Origin.Placement,
		}
	}
	return out
}
