package replicas

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/cluster/transport"
	"runnel/jetlog/store"
)

// ErrUnknown says that this server has no replica of a stream.
var ErrUnknown = errors.New("this server has no such replica")

// Meta is what is needed of the meta group; *meta.Meta has it.
type Meta interface {
	View() *state.View
	Watch(f func(meta.Change)) (stop func())
	Propose(ctx context.Context, c state.Command) (state.Result, error)
	Await(ctx context.Context, index uint64) error
}

// Service is told what becomes of the streams that are here. For one stream the calls come one after the other: Opened, then Lead and
// Follow in turns, then Closed. They may not wait for Replicas.
type Service interface {
	// Opened says that a stream is here. It may be damaged, see its Err.
	Opened(t *store.Stream)
	// Lead says that it is led here from now on, in a term; Follow that it is not any more.
	Lead(id, term uint64)
	Follow(id uint64)
	// Closed says that it is not here any more, or will be opened anew.
	Closed(id uint64)
}

// Config is what replicas are made of. All but Timing, QuorumLost, CompareEvery and Logger is needed.
type Config struct {
	// Self is the node id of this server.
	Self      string
	Meta      Meta
	Store     *store.Store
	Transport *transport.Transport
	Service   Service
	// Timing is that of the groups.
	Timing group.Timing
	// QuorumLost is told, by a goroutine of its own and once each time, that for some seconds too few servers of a stream's
	// group could be reached. Nil for nobody.
	QuorumLost func(id uint64)
	// CompareEvery is how often the replicas of a stream that changes are compared; 10 minutes if zero.
	CompareEvery time.Duration
	// Logger gets what people should know; nil discards it.
	Logger *slog.Logger
}

// Replicas are those of this server. Its methods may be called by any goroutine.
type Replicas struct {
	cfg    Config
	logger *slog.Logger
	ctx    context.Context
	end    context.CancelFunc
	wg     sync.WaitGroup
	slots  chan struct{} // bounds how many streams are opened at a time
	caught atomic.Bool   // this server knows what the meta group has decided
	unwind []func()
	once   sync.Once
	moves  pace // of leaderships
	room   room // on the disk
	lap    lap
	doubts doubts
	births births

	mu     sync.Mutex // guards all and listed; taken before that of a replica
	all    map[uint64]*replica
	listed []*replica // what all has; nil after a change

	life   sync.Mutex // guards closed, and that nothing is spawned then; nothing else is taken while it is held
	closed bool
}

// How many streams are opened, closed or changed at a time, and how often is looked around.
const (
	slots     = 16
	lookEvery = 250 * time.Millisecond // and laps
)

// soloTerm is the term in which a stream without a group is led.
const soloTerm = 1

// Open runs what is assigned to this server, from now on.
func Open(cfg Config) (*Replicas, error) {
	if cfg.Self == "" || cfg.Meta == nil || cfg.Store == nil || cfg.Transport == nil || cfg.Service == nil {
		return nil, errors.New("open replicas: a node id, the meta group, the store, the transport and the service are needed")
	}
	h := &Replicas{cfg: cfg, logger: cfg.Logger, slots: make(chan struct{}, slots), all: map[uint64]*replica{}}
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	if h.cfg.CompareEvery == 0 {
		h.cfg.CompareEvery = 10 * time.Minute
	}
	h.ctx, h.end = context.WithCancel(context.Background())
	cfg.Transport.HandleFetch(h.serveFetch)
	cfg.Transport.Handle(serviceLeave, h.serveLeave)
	cfg.Transport.Handle(serviceHash, h.serveHash)
	cfg.Transport.Handle(serviceVerify, h.serveVerify)
	cfg.Transport.Handle(serviceRoom, h.serveRoom)
	cfg.Transport.Handle(serviceVacant, h.serveVacant)
	h.unwind = append(h.unwind, cfg.Meta.Watch(h.changed), cfg.Transport.Watch(h.peerChanged))
	h.review()
	h.wg.Go(h.catchUp)
	h.wg.Go(h.lookAround)
	return h, nil
}

// Close hands leadership over where that goes quickly, and closes all groups. The streams stay open.
func (h *Replicas) Close() error {
	h.once.Do(func() {
		for _, stop := range h.unwind {
			stop()
		}
		ctx, cancel := context.WithTimeout(context.Background(), resignTime)
		h.Resign(ctx)
		cancel()
		h.finish()
		var closing sync.WaitGroup
		for _, r := range h.list() {
			if g := r.group.Load(); g != nil {
				closing.Go(func() { _ = g.Close() }) // which ends what others wait for
			}
		}
		closing.Wait()
		h.wg.Wait()
		for _, r := range h.list() {
			r.shut()
		}
	})
	return nil
}

// finish has nothing be spawned any more.
func (h *Replicas) finish() {
	h.life.Lock()
	defer h.life.Unlock()
	h.closed = true
	h.end()
}

// catchUp waits until this server knows what the meta group has decided before it was asked, and then has everything looked at again.
func (h *Replicas) catchUp() {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		// It is refused, and comes after all that was decided.
		r, err := h.cfg.Meta.Propose(h.ctx, &state.Settle{})
		if err == nil {
			err = h.cfg.Meta.Await(h.ctx, r.Index)
		}
		if err == nil {
			break
		}
		if !h.sleep(pause) {
			return
		}
	}
	h.caught.Store(true)
	h.review()
}

// sleep waits; it is false when the replicas are closed.
func (h *Replicas) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// changed is told what the meta group has decided.
func (h *Replicas) changed(c meta.Change) {
	switch {
	case c.All:
		h.review()
	case c.New != nil:
		h.assign(c.New.ID)
	case c.Old != nil:
		h.assign(c.Old.ID)
	}
}

// review looks at all streams that are assigned to this server, and at all that are here.
func (h *Replicas) review() {
	v := h.cfg.Meta.View()
	for a := range v.All() {
		h.assign(a.ID)
	}
	for _, r := range h.list() {
		h.assign(r.id)
	}
	if !h.caught.Load() {
		return
	}
	for _, t := range h.cfg.Store.Streams() {
		switch id := t.ID(); {
		case id < state.FirstID || v.StreamByID(id) != nil:
		case id >= v.NextID():
			h.logger.Error("a stream is here that the cluster has never heard of; it is left alone", "account", t.Account(), "stream", t.Name(), "id", id)
		default:
			h.assign(id) // removed while this server was away
		}
	}
}

// assign has a replica become what the meta group wants of it now. Whoever calls it last has seen the newest state.
func (h *Replicas) assign(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.cfg.Meta.View().StreamByID(id)
	if a != nil && !a.On(h.cfg.Self) {
		a = nil
	}
	r := h.all[id]
	if r == nil {
		if a == nil && h.cfg.Store.StreamByID(id) == nil {
			return
		}
		r = newReplica(h, id)
		h.all[id], h.listed = r, nil
	}
	r.assign(a)
}

// replica is that of a stream; nil if there is none.
func (h *Replicas) replica(id uint64) *replica {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[id]
}

// list are all replicas. It must not be changed.
func (h *Replicas) list() []*replica {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listed == nil {
		h.listed = slices.Collect(maps.Values(h.all))
	}
	return h.listed
}

// forget drops a replica that is nothing any more, unless it is wanted again.
func (h *Replicas) forget(r *replica) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all[r.id] == r && r.vanish() {
		delete(h.all, r.id)
		h.listed = nil
	}
}

// spawn has a goroutine do something, unless the replicas are closed.
func (h *Replicas) spawn(f func()) bool {
	h.life.Lock()
	defer h.life.Unlock()
	if h.closed {
		return false
	}
	h.wg.Go(f)
	return true
}

// Status is that of the stream's group as this server sees it, or of a stream without a group; false if none is here.
func (h *Replicas) Status(id uint64) (group.Status, bool) {
	r := h.replica(id)
	if r == nil {
		return group.Status{}, false
	}
	return r.status()
}

// StepDown hands the leadership of a stream to a node, or to any that can take it if to is empty.
func (h *Replicas) StepDown(ctx context.Context, id uint64, to string) error {
	r := h.replica(id)
	if r == nil {
		return fmt.Errorf("step down in stream %d: %w", id, ErrUnknown)
	}
	g := r.group.Load()
	if g == nil {
		return fmt.Errorf("step down in stream %d: %w", id, group.ErrNotMember)
	}
	return g.StepDown(ctx, to)
}
