package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// Meta is a server's part of the meta group. All methods may be called by any number of goroutines.
type Meta struct {
	cfg    Config
	self   string
	logger *slog.Logger
	fsm    *fsm
	store  *guarded
	watch  watchers
	leader leader
	begun  time.Time

	ctx    context.Context // ends with Close or halt
	cancel context.CancelFunc
	wg     sync.WaitGroup
	formed chan struct{} // closed when the server belongs to a cluster
	once   sync.Once     // of halt

	mu        sync.Mutex   // guards everything below; nobody is called while it is held
	describe  state.Member // this server, as it describes itself
	formation formation
	group     *group // nil as long as raft does not run
	closed    bool
	halted    error
	reason    string            // why the cluster is not formed yet
	reports   map[string]report // by node, as they came in
	placing   map[string]state.Load
}

// group is raft as it runs. A rescue ends it and begins another one.
type group struct {
	raft    *raft.Raft
	trans   raft.Transport
	notify  chan bool
	leading atomic.Bool // it leads and has applied all that was there before
}

// leader is who leads, as far as is known.
type leader struct {
	mu      sync.Mutex // guards everything below
	node    string
	since   time.Time     // when node has changed
	changed chan struct{} // closed when node changes
}

// Open begins to take part: it forms or joins a cluster, or goes on with the one that it belongs to.
func Open(cfg Config) (*Meta, error) {
	if cfg.Self.Node == "" || cfg.Self.Name == "" {
		return nil, fmt.Errorf("open the meta group: a server needs a node id and a name")
	}
	m := &Meta{
		cfg: cfg, self: cfg.Self.Node, logger: cmp.Or(cfg.Logger, slog.Default()), begun: time.Now(),
		formed: make(chan struct{}), reports: make(map[string]report), placing: make(map[string]state.Load),
	}
	if err := errors.Join(cfg.FS.MkdirAll(cfg.Dir), cfg.FS.SyncDir(filepath.Dir(cfg.Dir))); err != nil {
		return nil, fmt.Errorf("open the meta group: %w", err)
	}
	f, err := loadFormation(cfg.FS, cfg.Dir, m.self)
	if err != nil {
		return nil, fmt.Errorf("open the meta group: %w", err)
	}
	m.formation, m.describe = *f, cfg.Self
	m.describe.Instance = f.Instance
	open := cfg.Store
	if open == nil {
		open = openLedger
	}
	store, err := open(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the meta group: %w", err)
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.store = &guarded{Store: store, fail: m.halt}
	m.fsm = &fsm{machine: state.NewMachine(), known: m.cfg.Self.Level, changed: m.watch.tell, fail: m.halt}
	m.leader.since, m.leader.changed = m.begun, make(chan struct{})
	if f.Formed {
		if err := m.start(); err != nil {
			m.cancel()
			m.wg.Wait()
			return nil, fmt.Errorf("open the meta group: %w", errors.Join(err, store.Close()))
		}
	}
	m.serve()
	m.wg.Go(m.run)
	return m, nil
}

// run forms the cluster, and looks and reports after that.
func (m *Meta) run() {
	if !m.isFormed() {
		m.form()
	}
	look, tell := time.NewTicker(lookEvery), time.NewTicker(reportEvery)
	defer look.Stop()
	defer tell.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-look.C:
			m.lookForOthers()
		case <-tell.C:
			m.report()
		}
	}
}

// Close ends the part. It returns when its goroutines are gone; watchers must not call it.
func (m *Meta) Close() error {
	m.mu.Lock()
	was := m.closed
	m.closed = true
	m.mu.Unlock()
	if was {
		return nil
	}
	m.cancel()
	err := m.stop()
	m.wg.Wait()
	m.watch.wg.Wait()
	if e := m.store.Close(); err == nil && e != nil {
		err = fmt.Errorf("close the log of the meta group: %w", e)
	}
	return err
}

// halt ends taking part because of something that people have to look at. It does not wait.
func (m *Meta) halt(why error) {
	m.once.Do(func() {
		m.mu.Lock()
		m.halted = why
		m.mu.Unlock()
		m.logger.Error("the meta group has stopped on this server", "error", why)
		m.cancel()
		m.wg.Go(func() {
			if err := m.stop(); err != nil {
				m.logger.Warn("stop the meta group", "error", err)
			}
			if m.cfg.Halted != nil {
				m.cfg.Halted(why)
			}
		})
	})
}

// Err tells why the server does not take part any more; nil if it does.
func (m *Meta) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.halted
}

// Describe changes what the server says of itself: its tags, and what its streams may reserve. The others hear of it within seconds.
func (m *Meta) Describe(tags []string, maxStoreBytes, maxMemoryBytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.describe.Tags, m.describe.MaxStoreBytes, m.describe.MaxMemoryBytes = slices.Clone(tags), maxStoreBytes, maxMemoryBytes
}

// description is what the server says of itself.
func (m *Meta) description() state.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.describe
}

// Formed is closed when the server belongs to a cluster.
func (m *Meta) Formed() <-chan struct{} { return m.formed }

// isFormed tells whether the server belongs to a cluster.
func (m *Meta) isFormed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.formation.Formed
}

// Waiting tells for people why the server is not in a cluster yet; empty if it is.
func (m *Meta) Waiting() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.formation.Formed {
		return ""
	}
	return cmp.Or(m.reason, "the servers have not answered yet")
}

// View is the state as far as this server has applied it.
func (m *Meta) View() *state.View { return m.fsm.machine.View() }

// Watch lets f know of every change from now on, one after the other, from another goroutine. It may take its time: behind
// too many changes follows one that says that anything may have changed. f may be called once more while the result runs, which ends it.
func (m *Meta) Watch(f func(Change)) (stop func()) { return m.watch.add(f) }

// Leader returns the node and the name of the server that leads, empty if that is not known.
func (m *Meta) Leader() (node, name string) {
	m.leader.mu.Lock()
	node = m.leader.node
	m.leader.mu.Unlock()
	if member := m.View().Member(node); member != nil {
		name = member.Name
	}
	return node, name
}

// Leads tells whether this server leads, and has applied all that was decided before it did.
func (m *Meta) Leads() bool {
	g := m.current()
	return g != nil && g.leading.Load()
}

// current returns raft as it runs; nil if it does not.
func (m *Meta) current() *group {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.group
}

// set notes who leads.
func (l *leader) set(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if node == l.node {
		return
	}
	l.node, l.since = node, time.Now()
	close(l.changed)
	l.changed = make(chan struct{})
}

// get returns who leads, since when, and a channel that is closed when that changes.
func (l *leader) get() (node string, since time.Time, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node, l.since, l.changed
}

// Await waits until this server has applied an entry, as the index of a result.
func (m *Meta) Await(ctx context.Context, index uint64) error {
	for {
		next := m.watch.nextChange()
		if m.View().Index() >= index {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		case <-m.ctx.Done():
			return ErrClosed
		}
	}
}
