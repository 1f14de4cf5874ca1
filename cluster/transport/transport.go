package transport

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/mesh"
)

// Config says who this server is and how much it lets wait.
type Config struct {
	// Node is the id of this server: raft's ServerID and ServerAddress in every group.
	Node string
	// Authorized says whether a peer is one of this cluster. It is asked whenever a link comes; nil lets in every peer
	// that has a node id. It must not call the transport.
	Authorized func(peer mesh.Member) bool
	// Rate bounds the bytes a second that all streams of files from here have together; 0 for no bound. See SetRate.
	Rate int64
	// OutstandingBytes bounds what all these streams together have on their way, sent and not read yet; 0 for no bound. Each of them
	// may have half a MiB and one frame in any case.
	OutstandingBytes int64
	// OutboundBytes is how much of entries and calls may wait for one peer before groups wait too; 16 MiB if zero.
	OutboundBytes int
	// InboundBytes is how much of entries may wait for the groups of this server before more is refused; 256 MiB if
	// zero.
	InboundBytes int
	// Calls and Streams are how many of each are served to one peer at a time; 64 and 32 if zero.
	Calls, Streams int
	// Logger gets diagnostics; nil discards them.
	Logger *slog.Logger
}

// Link is what the transport needs of a link to a peer; *mesh.Link is one. One goroutine reads it and another one writes.
type Link interface {
	io.ReadWriter
	// CloseWith closes the link, which makes Read and Write fail. It may be called more than once.
	CloseWith(reason error)
}

// Transport carries what the groups of this server and other services have to tell other servers. Its methods may be called by
// any goroutine.
type Transport struct {
	cfg     Config
	log     *slog.Logger
	start   time.Time
	done    chan struct{} // closed by Close
	wg      sync.WaitGroup
	frames  sync.Pool // of *frame
	chunks  sync.Pool // of *chunk
	rate    rate
	flight  outstanding
	beats   *beats
	hinter  *hinter
	events  *events
	waiting atomic.Int64 // bytes in the inboxes of all groups

	// spawning is held while a goroutine is started, so that Close waits for all of them. Any other mutex may be held by
	// who takes it.
	spawning sync.Mutex
	stopped  bool // guarded by spawning

	mu       sync.RWMutex // guards what follows; nobody is called while it is held
	closed   bool
	groups   map[uint64]*Group
	early    early
	peers    map[string]*peer
	services map[string]Service
	fetch    FetchHandler
}

// New makes a transport, without links yet. It must be closed.
func New(cfg Config) *Transport {
	cfg.OutboundBytes = cmp.Or(cfg.OutboundBytes, 16<<20)
	cfg.InboundBytes = cmp.Or(cfg.InboundBytes, 256<<20)
	cfg.Calls, cfg.Streams = cmp.Or(cfg.Calls, 64), cmp.Or(cfg.Streams, 32)
	if cfg.Authorized == nil {
		cfg.Authorized = func(mesh.Member) bool { return true }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Transport{
		cfg: cfg, log: cfg.Logger, start: time.Now(), done: make(chan struct{}),
		groups: map[uint64]*Group{}, peers: map[string]*peer{}, services: map[string]Service{},
	}
	t.SetRate(cfg.Rate)
	t.flight.most = cfg.OutstandingBytes
	t.beats = &beats{t: t}
	t.events = &events{t: t, up: map[string]bool{}, watchers: map[*watcher]bool{}}
	t.hinter = &hinter{t: t, wake: make(chan struct{}, 1)}
	t.spawn(t.detect)
	t.spawn(t.hinter.run)
	return t
}

// spawn runs f in a goroutine that Close waits for. It is false after Close.
func (t *Transport) spawn(f func()) bool {
	t.spawning.Lock()
	defer t.spawning.Unlock()
	if t.stopped {
		return false
	}
	t.wg.Go(f)
	return true
}

// Close closes all groups, ends all links and returns when all goroutines have gone, also those that run handlers of calls
// and of Watch.
func (t *Transport) Close() error {
	if t.stop() {
		for _, g := range t.allGroups() {
			g.Close()
		}
		for _, l := range t.lanes() {
			l.end(ErrClosed)
		}
	}
	t.wg.Wait()
	return nil
}

// stop has no groups and no goroutines come any more, and links end at once. It is false the second time.
func (t *Transport) stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.closed = true
	close(t.done)
	t.spawning.Lock()
	defer t.spawning.Unlock()
	t.stopped = true
	return true
}

// Linked takes over a link of kind RaftData or RaftHeartbeat; others are ignored. It is for mesh.Handler.
func (t *Transport) Linked(l *mesh.Link) { t.Attach(l.Peer, l.Kind, l) }

// Unlinked is told that a link has ended. It is for mesh.Handler.
func (t *Transport) Unlinked(l *mesh.Link, reason error) { t.Detach(l.Peer, l, reason) }

// Why a link is closed at once.
var (
	errNoNode     = errors.New("the server has no node id: it does not store streams")
	errOther      = errors.New("the server is not one of this cluster's")
	errSelf       = errors.New("the server has the node id of this one: one has a copy of the other's store")
	errReplaced   = errors.New("replaced by another link")
	errNameLength = errors.New("the node id of the server is too long")
)

// Attach takes over a link to a peer, in place of one of the same kind. A peer that is not authorized or has no node id has
// its link closed with the reason.
func (t *Transport) Attach(from mesh.Member, k mesh.Kind, link Link) {
	if k != mesh.RaftData && k != mesh.RaftHeartbeat {
		return
	}
	if err := t.vet(from); err != nil {
		t.log.Warn("a raft link with another server of the cluster is refused", "server", from.Name, "node", from.Node, "reason", err)
		link.CloseWith(err)
		return
	}
	l := t.newLane(t.peer(from.Node), k, link)
	if old := l.peer.enter(l); old != nil {
		old.end(errReplaced)
	}
	for _, g := range t.allGroups() {
		g.relinked(from.Node)
	}
	if !l.run() {
		l.end(ErrClosed)
		return
	}
	t.log.Debug("a raft link was made", "peer", from.Node, "kind", k.String())
	if k == mesh.RaftHeartbeat {
		t.ping(l.peer, time.Now(), t.up())
	}
}

// vet says why a server is not spoken with.
func (t *Transport) vet(from mesh.Member) error {
	switch {
	case from.Node == "":
		return errNoNode
	case len(from.Node) > nameBytes:
		return errNameLength
	case from.Node == t.cfg.Node:
		return errSelf
	case !t.cfg.Authorized(from):
		return errOther
	}
	return nil
}

// Detach is told that a link to a peer has ended.
func (t *Transport) Detach(from mesh.Member, link Link, reason error) {
	for _, k := range []mesh.Kind{mesh.RaftData, mesh.RaftHeartbeat} {
		if l := t.lane(from.Node, k); l != nil && l.link == link {
			l.end(reason)
		}
	}
}

// lane is the link of a kind to a peer, nil if there is none.
func (t *Transport) lane(node string, k mesh.Kind) *lane {
	t.mu.RLock()
	p := t.peers[node]
	t.mu.RUnlock()
	if p == nil {
		return nil
	}
	l, _ := p.lane(k)
	return l
}

// peer is the one of the node, from now on.
func (t *Transport) peer(node string) *peer {
	t.mu.RLock()
	p := t.peers[node]
	t.mu.RUnlock()
	if p != nil {
		return p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p = t.peers[node]; p == nil {
		p = newPeer(node, time.Now())
		t.peers[node] = p
	}
	return p
}

func (t *Transport) allPeers() []*peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*peer, 0, len(t.peers))
	for _, p := range t.peers {
		list = append(list, p)
	}
	return list
}

// lanes are all links.
func (t *Transport) lanes() []*lane {
	var list []*lane
	for _, p := range t.allPeers() {
		list = append(list, p.current()...)
	}
	return list
}

// group is the one of the id, nil if there is none.
func (t *Transport) group(id uint64) *Group {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.groups[id]
}

func (t *Transport) allGroups() []*Group {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]*Group, 0, len(t.groups))
	for _, g := range t.groups {
		list = append(list, g)
	}
	return list
}
