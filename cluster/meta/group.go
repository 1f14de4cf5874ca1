package meta

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// keyInstance is where the store has the instance of the formation that it belongs to.
const keyInstance = "Instance"

// config is how raft runs.
func (m *Meta) config(notify chan<- bool) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(m.self)
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = heartbeatTimeout, electionTimeout, leaseTimeout
	c.CommitTimeout = commitTimeout
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 30*time.Second, 2048, 1024
	c.ShutdownOnRemove = false // who was removed learns it from the leader
	c.NoLegacyTelemetry = true
	c.NotifyCh = notify
	c.LogLevel, c.LogOutput = "WARN", logWriter{m.logger}
	return c
}

// start runs raft. The server belongs to a cluster.
func (m *Meta) start() error {
	m.mu.Lock()
	f := m.formation
	m.mu.Unlock()
	if err := m.begin(&f); err != nil {
		return err
	}
	g := &group{notify: make(chan bool, 16), trans: m.cfg.Raft()}
	r, err := raft.NewRaft(m.config(g.notify), m.fsm, m.store, m.store, m.snapshots(), g.trans)
	if err != nil {
		return fmt.Errorf("start raft: %w", err)
	}
	g.raft = r
	m.mu.Lock()
	m.formation = f
	closed := m.closed || m.halted != nil
	if !closed {
		m.group = g
	}
	m.mu.Unlock()
	if closed {
		return g.stop()
	}
	m.wg.Go(func() { m.observe(g) })
	m.wg.Go(func() { m.follow(g) })
	m.openFormed()
	return nil
}

// openFormed lets know that the server belongs to a cluster.
func (m *Meta) openFormed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.formed:
	default:
		close(m.formed)
	}
}

// snapshots is where snapshots are.
func (m *Meta) snapshots() *snapshots { return &snapshots{m.cfg.FS, m.cfg.Dir} }

// begin begins the log, unless it was begun. Each of its steps may be repeated after a crash.
func (m *Meta) begin(f *formation) error {
	if f.Started {
		was, err := m.store.Get([]byte(keyInstance))
		if err != nil || string(was) != f.Instance {
			return fmt.Errorf("the log in %s was lost or replaced (%v), so this server may have forgotten how it voted: "+
				"remove its whole JetStream directory, so that it can join as a new one", m.cfg.Dir, err)
		}
		return nil
	}
	if len(f.Plan.Founders) > 0 {
		last, err := m.store.LastIndex()
		if err != nil {
			return fmt.Errorf("begin the log: %w", err)
		}
		if last == 0 {
			entry := &raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(f.Plan.configuration())}
			if err := errors.Join(m.store.SetUint64([]byte(keyTerm), 1), m.store.StoreLog(entry)); err != nil {
				return fmt.Errorf("begin the log: %w", err)
			}
		}
	}
	if err := m.store.Set([]byte(keyInstance), []byte(f.Instance)); err != nil {
		return fmt.Errorf("begin the log: %w", err)
	}
	f.Started = true
	return f.save(m.cfg.FS, m.cfg.Dir)
}

// configuration is what the log of the founders begins with.
func (p *plan) configuration() raft.Configuration {
	var c raft.Configuration
	voters := votersOf(len(p.Founders))
	for i, node := range p.nodes() {
		s := raft.Server{ID: raft.ServerID(node), Address: raft.ServerAddress(node)}
		if i >= voters {
			s.Suffrage = raft.Nonvoter
		}
		c.Servers = append(c.Servers, s)
	}
	return c
}

// votersOf is how many of some members should vote: an odd number of up to 5, and both of two.
func votersOf(members int) int {
	switch {
	case members >= 5:
		return 5
	case members >= 3:
		return 3
	}
	return members
}

// stop ends raft. Its transport goes first, since raft waits for what is on the way, also to servers that are not there.
func (g *group) stop() error {
	if closer, ok := g.trans.(raft.WithClose); ok {
		if err := closer.Close(); err != nil {
			return errors.Join(err, g.raft.Shutdown().Error())
		}
	}
	return g.raft.Shutdown().Error()
}

// stop ends raft.
func (m *Meta) stop() error {
	m.mu.Lock()
	g := m.group
	m.group = nil
	m.mu.Unlock()
	if g == nil {
		return nil
	}
	g.leading.Store(false)
	err := g.stop()
	m.leader.set("")
	if err != nil {
		return fmt.Errorf("stop raft: %w", err)
	}
	return nil
}

// observe keeps track of who leads, as long as raft runs.
func (m *Meta) observe(g *group) {
	seen := make(chan raft.Observation, 64)
	o := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	g.raft.RegisterObserver(o)
	defer g.raft.DeregisterObserver(o)
	again := time.NewTicker(lookForLeaderEvery) // observations may be dropped
	defer again.Stop()
	c := &campaign{m: m}
	for m.current() == g {
		_, id := g.raft.LeaderWithID()
		m.leader.set(string(id))
		c.look(g)
		select {
		case <-seen:
		case <-again.C:
		case <-m.ctx.Done():
			return
		}
	}
}

// follow leads when it is this server's turn, as long as raft runs.
func (m *Meta) follow(g *group) {
	again := time.NewTicker(choreEvery)
	defer again.Stop()
	for m.current() == g {
		select {
		case leads := <-g.notify:
			if leads {
				m.whileLeading(g)
			}
		case <-again.C:
		case <-m.ctx.Done():
			return
		}
	}
}

// whileLeading leads until raft says that it is over.
func (m *Meta) whileLeading(g *group) {
	ctx, cancel := context.WithCancel(m.ctx)
	var leading sync.WaitGroup
	leading.Go(func() { m.lead(ctx, g) })
	again := time.NewTicker(choreEvery)
	defer again.Stop()
	for leads := true; leads && m.current() == g && ctx.Err() == nil; {
		select {
		case leads = <-g.notify:
		case <-again.C:
		case <-ctx.Done():
		}
	}
	g.leading.Store(false)
	cancel()
	leading.Wait()
}

// lead does what a leader has to do, until ctx ends.
func (m *Meta) lead(ctx context.Context, g *group) {
	defer g.leading.Store(false)
	chores := time.NewTicker(choreEvery)
	defer chores.Stop()
	var last tidied
	for ready := false; ; {
		if !ready {
			if err := m.takeOver(ctx, g); err != nil {
				m.logger.Debug("begin to lead the meta group", "error", err)
			} else {
				ready = true
				m.logger.Info("this server leads the meta group")
			}
		}
		if ready {
			m.chores(ctx, g, &last)
		}
		select {
		case <-ctx.Done():
			return
		case <-chores.C:
		}
	}
}

// takeOver waits until all is applied that was decided before, and gives a new cluster its id and members.
func (m *Meta) takeOver(ctx context.Context, g *group) error {
	if err := await(ctx, g.raft.Barrier(proposeTimeout)); err != nil {
		return err
	}
	m.mu.Lock()
	p := m.formation.Plan
	m.mu.Unlock()
	if m.View().ClusterID() == "" {
		c := &state.Found{ClusterID: p.ClusterID, Members: p.Founders, Time: time.Now().UnixNano()}
		c.Level = p.Founders[0].Level
		for i := range p.Founders {
			c.Level = min(c.Level, p.Founders[i].Level)
		}
		r, err := m.apply(ctx, g, c)
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return err
		}
	}
	g.leading.Store(true)
	return ctx.Err()
}

// await waits for something that raft does, at most until ctx ends.
func await(ctx context.Context, f raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
