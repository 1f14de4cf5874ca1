package meta_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta"
	"runnel/cluster/meta/metatest"
	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
	"runnel/jetlog/vfs"
)

const dir = "/js/meta"

// world is a network of servers in virtual time.
type world struct {
	t    *testing.T
	size int // how many servers a new cluster is to have
	// impatient servers stand for election as soon as they see that the leader is lost.
	impatient bool

	mu      sync.Mutex // guards everything below
	servers map[string]*server
	cut     map[[2]string]bool
	log     io.Writer
	luck    *rand.Rand // of calls: how long they take, and whether the answer gets lost; nil if they go well
}

// server is a machine: its disk outlives the process that runs on it.
type server struct {
	w     *world
	name  string
	node  string
	tags  []string
	level int // feature level that its program knows; 1 when zero

	mu        sync.Mutex // guards everything below
	disk      *vfs.Memory
	store     *metatest.Store
	meta      *meta.Meta
	transport *raft.InmemTransport
	handlers  map[string]func(context.Context, string, []byte) ([]byte, error)
	running   bool
	halted    error
	ops       int // changes of disk and log of this process
	crashAt   int // the change before which the process ends; 0 for never
	crashed   bool
	size      int
	usage     meta.Usage
}

// inWorld runs a test in virtual time with a network of some servers, none of which runs.
func inWorld(t *testing.T, size int, names string, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, size: size, servers: map[string]*server{}, cut: map[[2]string]bool{}, log: io.Discard}
		for _, name := range names {
			w.add(string(name), string(name)+"0000000")
		}
		defer func() {
			w.stopAll()
			pass(time.Minute) // for calls that are under way
		}()
		test(t, w)
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// add adds a machine with an empty disk.
func (w *world) add(name, node string) *server {
	s := &server{w: w, name: name, node: node, disk: vfs.NewMemory(), store: &metatest.Store{}, size: w.size}
	if err := errors.Join(s.disk.MkdirAll("/js"), s.disk.SyncDir("/")); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[node] = s
	return s
}

// of returns the machine of a name; of several the one that runs.
func (w *world) of(name string) *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found *server
	for _, s := range w.servers {
		if s.name == name && (found == nil || s.up()) {
			found = s
		}
	}
	return found
}

// all returns the machines that run, by node.
func (w *world) all() []*server {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*server
	for _, s := range w.servers {
		if s.up() {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *server) int {
		if a.node < b.node {
			return -1
		}
		return 1
	})
	return all
}

func (s *server) up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running && !s.crashed
}

// reach tells whether two machines run and are connected.
func (w *world) reach(a, b string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	x, y := w.servers[a], w.servers[b]
	return x != nil && y != nil && x.up() && y.up() && !w.cut[[2]string{min(a, b), max(a, b)}]
}

// connect lets raft's transports know who reaches whom.
func (w *world) connect() {
	for _, a := range w.all() {
		for _, b := range w.all() {
			x, y := a.raft(), b.raft()
			if a == b || x == nil {
				continue
			}
			if y != nil && w.reach(a.node, b.node) {
				x.Connect(raft.ServerAddress(b.node), y)
			} else {
				x.Disconnect(raft.ServerAddress(b.node))
			}
		}
	}
}

func (s *server) raft() *raft.InmemTransport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transport
}

// split cuts all connections between two groups of machines, or makes them again.
func (w *world) split(cut bool, a, b []*server) {
	w.mu.Lock()
	for _, x := range a {
		for _, y := range b {
			w.cut[[2]string{min(x.node, y.node), max(x.node, y.node)}] = cut
		}
	}
	w.mu.Unlock()
	w.connect()
}

// start runs a process on the machine.
func (s *server) start() {
	s.w.t.Helper()
	if err := s.tryStart(); err != nil {
		s.w.t.Fatalf("start %s: %v", s.name, err)
	}
}

func (s *server) tryStart() error {
	s.mu.Lock()
	s.handlers = map[string]func(context.Context, string, []byte) ([]byte, error){}
	s.ops, s.crashed, s.halted, s.running = 0, false, nil, true
	disk := vfs.NewFault(vfs.NewRecorder(s.disk, func(vfs.Op) { s.step(nil) }))
	s.store.Before = func() error { return s.step(disk) }
	s.mu.Unlock()
	m, err := meta.Open(meta.Config{
		Self: state.Member{Node: s.node, Name: s.name, Cluster: "C", Tags: s.tags, MaxStoreBytes: -1, MaxMemoryBytes: -1, Level: max(s.level, 1)},
		FS:   disk, Dir: dir, Store: func(string) (meta.Store, error) { return s.store, nil },
		Raft: s.newTransport, Calls: s, Connected: s.connected, Expected: func() int { return s.size },
		Campaign: s.campaign, Reached: s.w.reached,
		Usage:  func() meta.Usage { s.mu.Lock(); defer s.mu.Unlock(); return s.usage },
		Halted: func(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.halted = err },
		Logger: slog.New(slog.NewTextHandler(s.w.log, &slog.HandlerOptions{Level: slog.LevelDebug})).With("on", s.name),
	})
	s.mu.Lock()
	s.meta = m
	if err != nil {
		s.running = false
	}
	s.mu.Unlock()
	s.w.connect()
	return err
}

// errCrashed is what a process gets that should have ended.
var errCrashed = errors.New("the process has ended")

// step counts a change, and takes what a crash leaves if it is to happen now. After a crash nothing is done any more.
func (s *server) step(*vfs.Fault) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return errCrashed
	}
	s.ops++
	if s.ops == s.crashAt {
		s.crashed = true
		s.disk, s.store = s.disk.PowerCut(vfs.Random(uint64(s.ops))), s.store.Clone()
		return errCrashed
	}
	return nil
}

// newTransport makes raft's transport.
func (s *server) newTransport() raft.Transport {
	_, t := raft.NewInmemTransportWithTimeout(raft.ServerAddress(s.node), 200*time.Millisecond)
	s.mu.Lock()
	s.transport = t
	s.mu.Unlock()
	s.w.connect()
	return t
}

// campaign lets raft stand for election, as another server could.
func (s *server) campaign() error {
	t := s.raft()
	if s.w.impatient && t != nil {
		_, other := raft.NewInmemTransport("")
		other.Connect(t.LocalAddr(), t)
		go func() {
			var r raft.TimeoutNowResponse
			_ = other.TimeoutNow(raft.ServerID(s.node), t.LocalAddr(), &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3}}, &r)
		}()
	}
	return nil
}

// reached tells whether most of some nodes reach one.
func (w *world) reached(voters []string, node string) bool {
	n := 0
	for _, v := range voters {
		if v == node || w.reach(v, node) {
			n++
		}
	}
	return n > len(voters)/2
}

// connected returns the nodes that can be reached.
func (s *server) connected() []string {
	var nodes []string
	for _, o := range s.w.all() {
		if o != s && s.w.reach(s.node, o.node) {
			nodes = append(nodes, o.node)
		}
	}
	return nodes
}

// Handle is part of meta.Calls.
func (s *server) Handle(service string, handler func(context.Context, string, []byte) ([]byte, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[service] = handler
}

// fate returns how long a call takes each way, and whether the answer gets lost.
func (w *world) fate() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.luck == nil {
		return time.Millisecond, false
	}
	return time.Duration(1+w.luck.IntN(50)) * time.Millisecond, w.luck.IntN(30) == 0
}

// Call is part of meta.Calls. An answer gets lost if the connection does.
func (s *server) Call(ctx context.Context, node, service string, payload []byte) ([]byte, error) {
	if !s.w.reach(s.node, node) {
		return nil, errors.New("unreachable")
	}
	type answer struct {
		payload []byte
		err     error
	}
	answers := make(chan answer, 1)
	takes, lost := s.w.fate()
	go func() {
		pass(takes)
		s.w.mu.Lock()
		to := s.w.servers[node]
		s.w.mu.Unlock()
		to.mu.Lock()
		handler := to.handlers[service]
		to.mu.Unlock()
		if handler == nil || !s.w.reach(s.node, node) {
			answers <- answer{nil, errors.New("unreachable")}
			return
		}
		b, err := handler(ctx, s.node, payload)
		pass(takes)
		if lost || !s.w.reach(s.node, node) {
			b, err = nil, errors.New("connection lost")
		}
		answers <- answer{b, err}
	}()
	select {
	case a := <-answers:
		return a.payload, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop ends the process in an orderly way.
func (s *server) stop() {
	s.mu.Lock()
	m, t := s.meta, s.transport
	s.running = false
	s.mu.Unlock()
	s.w.connect()
	if t != nil {
		t.DisconnectAll()
	}
	if m != nil {
		_ = m.Close() // a store that has crashed complains
	}
	s.mu.Lock()
	s.meta, s.transport = nil, nil
	s.mu.Unlock()
}

// wipe replaces the disk by an empty one, and the node with it.
func (s *server) wipe(node string) *server {
	s.stop()
	fresh := s.w.add(s.name, node)
	fresh.tags = s.tags
	return fresh
}

func (w *world) stopAll() {
	w.mu.Lock()
	var all []*server
	for _, s := range w.servers {
		all = append(all, s)
	}
	w.mu.Unlock()
	for _, s := range all {
		s.stop()
	}
}

// revive starts machines again whose process has crashed.
func (w *world) revive() {
	w.mu.Lock()
	var dead []*server
	for _, s := range w.servers {
		s.mu.Lock()
		if s.running && s.crashed {
			dead = append(dead, s)
		}
		s.mu.Unlock()
	}
	w.mu.Unlock()
	for _, s := range dead {
		s.stop()
		s.crashAt = 0
		s.start()
	}
}

// eventually waits until something is true.
func (w *world) eventually(what string, within time.Duration, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(within); !ok(); {
		if time.Now().After(end) {
			w.t.Fatalf("after %v it is not so that %s\n%s", within, what, w.describe())
		}
		pass(50 * time.Millisecond)
		w.revive()
	}
}

// describe tells how everybody is.
func (w *world) describe() string {
	var text strings.Builder
	for _, s := range w.all() {
		status := s.meta.Status()
		text.WriteString(fmt.Sprintf("%s: cluster %q, leader %q, %d voters, halted %v, waiting %q\n", s.node, status.ClusterID, status.Leader, status.Voters, s.meta.Err(), s.meta.Waiting()))
		for _, p := range status.Peers {
			text.WriteString(fmt.Sprintf("    %s voter %v online %v current %v lag %d replaces %q\n", p.Node, p.Voter, p.Online, p.Current, p.Lag, p.Replaces))
		}
	}
	return text.String()
}

// leader returns the server that leads, nil for none or more than one.
func (w *world) leader() *server {
	var leads *server
	for _, s := range w.all() {
		if s.meta.Leads() {
			if leads != nil {
				return nil
			}
			leads = s
		}
	}
	return leads
}

// together tells whether all servers that run are in one cluster that has these names as members, and know its leader.
func (w *world) together(names string) bool {
	leads := w.leader()
	if leads == nil {
		return false
	}
	for _, s := range w.all() {
		status := s.meta.Status()
		if node, _ := s.meta.Leader(); node != leads.node || status.ClusterID != leads.meta.View().ClusterID() || len(status.Peers) != len(names) {
			return false
		}
		for _, name := range names {
			if s.meta.View().MemberByName(string(name)) == nil {
				return false
			}
		}
	}
	return true
}

// voters returns the names of those who vote, in order of their nodes, as the leader sees it.
func (w *world) voters() string {
	leads := w.leader()
	if leads == nil {
		return "no leader"
	}
	var text strings.Builder
	for _, p := range leads.meta.Status().Peers {
		if p.Voter {
			text.WriteString(p.Name)
		}
	}
	return text.String()
}

// stream returns a configuration.
func stream(name string, replicas int) config.Stream {
	return config.Stream{Name: name, Subjects: []string{name}, Replicas: replicas, MaxBytes: -1}
}

// create creates a stream through a server.
func (s *server) create(name string, replicas int) (state.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.meta.Propose(ctx, &state.CreateStream{Account: "A", Config: stream(name, replicas)})
}

// mustCreate is create that succeeds, perhaps at the second try.
func (s *server) mustCreate(name string, replicas int) *state.Assignment {
	s.w.t.Helper()
	var err error
	for range 10 {
		var r state.Result
		if r, err = s.create(name, replicas); err == nil {
			if err = r.Err(); err == nil {
				return r.Stream
			}
		}
		pass(500 * time.Millisecond)
		s.w.revive()
	}
	s.w.t.Fatalf("create %s on %s: %v", name, s.name, err)
	return nil
}
