package transport_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
	"runnel/cluster/transport/transporttest"
)

// cluster is some servers with the same raft groups, on a network in memory.
type cluster struct {
	t       *testing.T
	net     *transporttest.Network
	names   []string
	servers map[string]*server
	tune    func(*raft.Config)
	groups  int
}

// server is one of them.
type server struct {
	name   string
	trans  *transport.Transport
	groups map[uint64]*replica
}

// replica is a group on a server.
type replica struct {
	raft   *raft.Raft
	fsm    *fsm
	group  *transport.Group
	logs   *raft.InmemStore
	snaps  *raft.InmemSnapshotStore
	nudges chan string
}

// fsm notes what is applied, and is slow to restore if told so.
type fsm struct {
	mu       sync.Mutex
	applied  []uint64
	restored int
	slow     time.Duration
}

func (f *fsm) Apply(l *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = append(f.applied, binary.LittleEndian.Uint64(l.Data))
	return nil
}

func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return snapshot(append([]uint64(nil), f.applied...)), nil
}

func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	after(f.slow)
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = nil
	for ; len(b) > 0; b = b[8:] {
		f.applied = append(f.applied, binary.LittleEndian.Uint64(b))
	}
	f.restored++
	return nil
}

// state is what was applied, and how often a snapshot was restored.
func (f *fsm) state() (applied []uint64, restored int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]uint64(nil), f.applied...), f.restored
}

type snapshot []uint64

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	var b []byte
	for _, v := range s {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if _, err := sink.Write(b); err != nil {
		return err
	}
	return sink.Close()
}

func (snapshot) Release() {}

// inCluster runs a test in virtual time with three servers.
func inCluster(t *testing.T, groups int, tune func(*raft.Config), test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{
			t: t, net: transporttest.New(), names: []string{"aaa", "bbb", "ccc"}, servers: map[string]*server{}, groups: groups, tune: tune,
		}
		defer func() {
			c.net.Close()
			for _, s := range c.servers {
				s.stop()
			}
		}()
		for _, name := range c.names {
			c.start(name, transport.Config{})
		}
		test(t, c)
	})
}

// start starts a server with all groups.
func (c *cluster) start(name string, cfg transport.Config) *server {
	cfg.Node = name
	s := &server{name: name, trans: transport.New(cfg), groups: map[uint64]*replica{}}
	c.servers[name] = s
	for id := range uint64(c.groups) {
		c.open(s, id, &replica{})
	}
	c.net.Join(name, s.trans)
	return s
}

// open starts a replica, with what it has stored if it was there before.
func (c *cluster) open(s *server, id uint64, r *replica) {
	c.t.Helper()
	if r.logs == nil {
		r.logs, r.snaps = raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	}
	r.fsm, r.nudges = &fsm{}, make(chan string, 100)
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.LogOutput, cfg.LogLevel, cfg.NoLegacyTelemetry = raft.ServerID(s.name), io.Discard, "ERROR", true
	cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = 2*time.Second, 2*time.Second, time.Second
	cfg.CommitTimeout = 30 * time.Second
	cfg.SnapshotInterval, cfg.SnapshotThreshold = time.Hour, 1<<60
	cfg.TrailingLogs = 1
	if c.tune != nil {
		c.tune(cfg)
	}
	var node *raft.Raft
	var opened sync.WaitGroup
	opened.Add(1)
	leads := func() bool {
		opened.Wait()
		return node != nil && node.State() == raft.Leader
	}
	r.group = s.trans.Group(id, transport.GroupOptions{
		Commit: func() uint64 {
			if leads() {
				return node.CommitIndex()
			}
			return 0
		},
		Nudge: func(peer string) {
			select {
			case r.nudges <- peer:
			default:
			}
			if leads() {
				go node.Barrier(0)
			}
		},
	})
	var servers []raft.Server
	for _, name := range c.names {
		servers = append(servers, raft.Server{ID: raft.ServerID(name), Address: raft.ServerAddress(name)})
	}
	if has, err := raft.HasExistingState(r.logs, r.logs, r.snaps); err == nil && !has {
		if err := raft.BootstrapCluster(cfg, r.logs, r.logs, r.snaps, r.group, raft.Configuration{Servers: servers}); err != nil {
			c.t.Fatalf("bootstrap: %v", err)
		}
	}
	var err error
	node, err = raft.NewRaft(cfg, r.fsm, r.logs, r.logs, r.snaps, r.group)
	opened.Done()
	if err != nil {
		c.t.Fatalf("start raft: %v", err)
	}
	r.raft = node
	s.groups[id] = r
}

// close stops a replica.
func (r *replica) close() {
	r.group.Close()
	r.raft.Shutdown().Error()
}

// stop stops a server, in order.
func (s *server) stop() {
	for _, r := range s.groups {
		r.close()
	}
	s.trans.Close()
}

// leader is who leads the group, in the highest term if several say so; nil if nobody does.
func (c *cluster) leader(id uint64) *server {
	var best *server
	var term uint64
	for _, s := range c.servers {
		if r := s.groups[id]; r != nil && r.raft.State() == raft.Leader && r.raft.CurrentTerm() > term {
			best, term = s, r.raft.CurrentTerm()
		}
	}
	return best
}

// wait waits in virtual time until cond holds, which it must do within the limit.
func (c *cluster) wait(what string, limit time.Duration, cond func() bool) {
	c.t.Helper()
	for begin := time.Now(); ; after(20 * time.Millisecond) {
		synctest.Wait()
		if cond() {
			return
		}
		if time.Since(begin) > limit {
			c.t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// elected waits until all groups have a leader.
func (c *cluster) elected(limit time.Duration) {
	c.t.Helper()
	c.wait("a leader for every group", limit, func() bool {
		for id := range uint64(c.groups) {
			if c.leader(id) == nil {
				return false
			}
		}
		return true
	})
}

// propose has a value applied by the leader.
func (c *cluster) propose(id, value uint64) {
	c.t.Helper()
	if err := c.leader(id).groups[id].propose(value); err != nil {
		c.t.Fatalf("propose to group %d: %v", id, err)
	}
}

func (r *replica) propose(value uint64) error {
	return r.raft.Apply(binary.LittleEndian.AppendUint64(nil, value), 0).Error()
}

// has reports whether all of the servers have applied the values in the group, and nothing else.
func (c *cluster) has(id uint64, values []uint64, names ...string) bool {
	for _, name := range names {
		if got, _ := c.servers[name].groups[id].fsm.state(); fmt.Sprint(got) != fmt.Sprint(values) {
			return false
		}
	}
	return true
}

// others are the servers but one.
func (c *cluster) others(but string) []string {
	var list []string
	for _, name := range c.names {
		if name != but {
			list = append(list, name)
		}
	}
	return list
}
