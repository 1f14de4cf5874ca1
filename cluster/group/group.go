package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Why a proposal or a change of the group did not happen.
var (
	// ErrNotLeader says that this replica does not lead; nothing was done.
	ErrNotLeader = errors.New("this replica does not lead its group")
	// ErrHandedOver is an ErrNotLeader: nothing was done, and another replica has taken over that was asked to.
	ErrHandedOver = fmt.Errorf("%w any more: its leadership was handed over", ErrNotLeader)
	// ErrLeadershipLost says that the proposal may or may not be applied by the next leader.
	ErrLeadershipLost = errors.New("leadership was lost before the outcome was known")
	// ErrBehind says that a replica has not caught up.
	ErrBehind = errors.New("the replica has not caught up")
	// ErrNotMember says that a node has no part in the group, or not the one that is needed.
	ErrNotMember = errors.New("the node is not such a member of the group")
	// ErrClosed says that the group was closed.
	ErrClosed = errors.New("the group is closed")
)

// Config is what a group is made of. ID, Self, Machine, Log and Transport are needed.
type Config struct {
	// ID is the group's, the same on all replicas; entries of other groups are refused.
	ID uint64
	// Self is the node that this replica is on: raft's ServerID and ServerAddress.
	Self    string
	Machine Machine
	Log     Log
	// Transport must offer raft.WithPreVote. The group closes it.
	Transport raft.Transport
	// Lead is called when this replica leads and all that was committed before is applied: it may propose then. Follow is
	// called when that is over, before what was under way is failed. One goroutine calls both, in order; a term that
	// ended before its Lead is not told. They may not call Close.
	Lead   func(term uint64)
	Follow func()
	// Failed is called once, by a goroutine of its own, when the replica cannot go on: its log or its machine failed. It
	// takes no further part. The host closes it and decides. Nil to do without.
	Failed func(err error)
	// Compare is called on each replica when all before the entry at index is applied and nothing behind it, after a leader's
	// Group.Compare. It must be quick. Nil for nothing.
	Compare func(index uint64)
	// Campaign has the transport tell this replica to campaign at once. Nil: through Transport.TimeoutNow to itself.
	Campaign func() error
	// Progress is how far a peer is known to be and when it was heard of last, if the transport knows; then Group.Has has to be called,
	// too. With nil, the group finds out itself, and then sends a peer one request at a time.
	Progress func(node string) (index uint64, contact time.Time)
	Timing   Timing
	// QueueBytes bounds the records that wait to be packed; 4 MiB if zero.
	QueueBytes int
	// Logger gets diagnostics; nil discards them.
	Logger *slog.Logger
}

// Group is one replica of a group. Its methods may be called by any goroutine.
type Group struct {
	cfg      Config
	logger   *slog.Logger
	instance uint64        // of this opening; tells our entries from those of others and of earlier times
	begun    uint64        // the end of the log when it was opened
	applied  atomic.Uint64 // index of the last entry that was carried out since, also of those that the machine does not see

	raft    *raft.Raft
	started chan struct{} // closed once raft is set: what raft calls waits for it
	ctx     context.Context
	end     context.CancelFunc
	closing sync.Once
	closed  chan struct{}
	wg      sync.WaitGroup // goroutines of our own

	log     *entryLog
	votes   *stable
	places  *snapshots
	courier *courier

	mu   sync.Mutex // guards what follows; nothing is called while it is held
	role role
	dawn dawn
	line line
	info info
	err  error // why the replica failed
}

// info is what Status tells and what raft does not keep for us.
type info struct {
	leaderSince   time.Time
	configuration uint64 // index of the last configuration that was applied
}

// Open starts a replica. It takes part at once.
func Open(cfg Config) (*Group, error) {
	g := &Group{cfg: cfg, logger: cfg.Logger, instance: rand.Uint64(), started: make(chan struct{}), closed: make(chan struct{})}
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	if g.cfg.QueueBytes == 0 {
		g.cfg.QueueBytes = 4 << 20
	}
	place := cfg.Machine.Place()
	if place.Index != 0 {
		index, _, err := decodeConfiguration(place.Configuration)
		if err != nil {
			return nil, fmt.Errorf("open group %d: %w", cfg.ID, err)
		}
		g.info.configuration = index
	}
	if place.Index == 1 {
		return nil, fmt.Errorf("open group %d: its place is 1, which cannot be told from no place: use Birth", cfg.ID)
	}
	g.ctx, g.end = context.WithCancel(context.Background())
	g.log, g.votes, g.places, g.courier = newEntryLog(g), &stable{g: g}, &snapshots{g: g}, newCourier(g)
	if err := g.log.reconcile(place); err != nil {
		g.end()
		return nil, fmt.Errorf("open group %d: %w", cfg.ID, err)
	}
	if err := g.votes.begin(place); err != nil {
		g.end()
		return nil, fmt.Errorf("open group %d: %w", cfg.ID, err)
	}
	r, err := raft.NewRaft(g.raftConfig(), &fsm{g: g}, g.log, g.votes, g.places, g.courier)
	if err != nil {
		g.end()
		return nil, fmt.Errorf("open group %d: %w", cfg.ID, err)
	}
	g.raft, g.begun = r, r.LastIndex()
	// The filter is the observer: raft calls it at each change, in its own goroutine, and nothing needs to be received.
	r.RegisterObserver(raft.NewObserver(nil, false, g.observe))
	close(g.started)
	return g, nil
}

// Close ends the replica: Follow is called if it leads, what waits is failed. It returns when all goroutines have gone.
func (g *Group) Close() error {
	g.closing.Do(func() {
		g.finish()
		_ = g.courier.Close() // ends what raft waits for
		_ = g.raft.Shutdown().Error()
		g.lost()
		g.wg.Wait()
		g.abandon(ErrClosed)
		close(g.closed)
	})
	<-g.closed
	return nil
}

// finish ends the context, from when on no goroutine of our own is started but by raft.
func (g *Group) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

// fail takes the replica out: it applies and stores nothing any more, and the host is told once.
func (g *Group) fail(err error) {
	g.mu.Lock()
	first := g.err == nil && g.ctx.Err() == nil
	if first {
		g.err = err
		g.line.term = 0
	}
	g.mu.Unlock()
	if !first {
		return
	}
	g.logger.Error("a replica of a group has failed and takes no further part", "group", g.cfg.ID, "error", err)
	g.lost()
	if g.cfg.Failed != nil {
		go g.cfg.Failed(err)
	}
}

// failed is why the replica takes no part any more.
func (g *Group) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}
