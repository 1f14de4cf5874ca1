package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/cluster/replicas"
	"runnel/cluster/transport"
	"runnel/cluster/transport/transporttest"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// world is a cluster of servers with real stores and groups; a meta group that is never lost stands in for the real one.
type world struct {
	t     testing.TB
	net   *transporttest.Network
	nodes []*node
	cfg   replicas.Config // what all nodes have in common
	bytes int64           // of the log of each store
	rate  int64           // of what nodes fetch of files from one another, in bytes a second

	mu      sync.Mutex // guards what follows
	machine *state.Machine
	index   uint64
	behind  map[string]*state.View // of nodes that hear nothing of the meta group
}

// node is a server, which may be down.
type node struct {
	w    *world
	name string
	disk *vfs.Memory
	room *vfs.Fault   // the disk as the store sees it, which may be short of room; since the start
	life atomic.Int64 // counts power cuts

	mu        sync.Mutex
	watch     map[int]func(meta.Change)
	log       *store.Store
	transport *transport.Transport
	replicas  *replicas.Replicas
	service   *service
	lost      []uint64 // streams whose quorum was lost
}

// newWorld starts servers. Everything about it must happen in a bubble.
func newWorld(t testing.TB, names ...string) *world { return newWorldOf(t, 4<<20, names...) }

func newWorldOf(t testing.TB, bytes int64, names ...string) *world {
	w := emptyWorld(t)
	w.bytes = bytes
	w.begin(names...)
	return w
}

// inWorld runs a test in a bubble, with servers a, b, c and so on.
func inWorld(t *testing.T, servers int, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, strings.Split("abcdef", "")[:servers]...)
		defer w.close()
		test(t, w)
	})
}

// inGroup is inWorld with a stream on a, b and c, which a is to lead and which has some messages everywhere.
func inGroup(t *testing.T, servers, messages int, test func(t *testing.T, w *world, a *state.Assignment)) {
	t.Helper()
	inWorld(t, servers, func(t *testing.T, w *world) {
		a := w.create("S", "a", "b", "c")
		w.publish(a.ID, messages)
		w.settle(a.ID, messages, "a", "b", "c")
		test(t, w, a)
	})
}

// emptyWorld has no servers yet, so that it can be changed what they have in common.
func emptyWorld(t testing.TB) *world {
	return &world{t: t, bytes: 4 << 20, net: transporttest.New(), machine: state.NewMachine(), behind: map[string]*state.View{}}
}

// begin starts servers, which are a cluster.
func (w *world) begin(names ...string) {
	found := &state.Found{ClusterID: "cluster"}
	for _, name := range names {
		found.Members = append(found.Members, state.Member{Node: name, Name: name, Level: 1})
	}
	w.command(found)
	for _, name := range names {
		w.nodes = append(w.nodes, &node{w: w, name: name, disk: vfs.NewMemory(), watch: map[int]func(meta.Change){}})
	}
	for _, n := range w.nodes {
		n.start()
	}
}

// close stops everything, and looks whether the stores are whole.
func (w *world) close() {
	for _, n := range w.nodes {
		n.stop()
	}
	w.net.Close()
}

// command has the meta group decide something and tells all nodes.
func (w *world) command(c state.Command) state.Result {
	w.t.Helper()
	encoded, err := state.Encode(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.index++
	before := w.machine.View()
	r, err := w.machine.Apply(w.index, encoded)
	r.Index = w.index
	change := meta.Change{View: w.machine.View()}
	if r.Stream != nil {
		change.Old, change.New = before.StreamByID(r.Stream.ID), change.View.StreamByID(r.Stream.ID)
	}
	w.mu.Unlock()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range w.nodes {
		n.tell(change)
	}
	return r
}

func (n *node) tell(c meta.Change) {
	n.mu.Lock()
	var watch []func(meta.Change)
	for _, f := range n.watch {
		watch = append(watch, f)
	}
	n.mu.Unlock()
	if n.deaf() {
		return
	}
	for _, f := range watch {
		f(c)
	}
}

// deaf reports whether the node does not hear of the meta group.
func (n *node) deaf() bool {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	return n.w.behind[n.name] != nil
}

// View, Watch, Propose and Await are the node's part in the meta group.
func (n *node) View() *state.View {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if v := n.w.behind[n.name]; v != nil {
		return v
	}
	return n.w.machine.View()
}

func (n *node) Watch(f func(meta.Change)) func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := len(n.watch)
	n.watch[id] = f
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watch, id)
	}
}

func (e ear) Propose(_ context.Context, c state.Command) (state.Result, error) {
	if n := e.node; n.deaf() || n.life.Load() != e.life {
		return state.Result{}, meta.ErrNoLeader
	}
	return e.w.command(c), nil
}

func (n *node) Await(context.Context, uint64) error { return nil }

// ear is a node's part in the meta group until its power is cut.
type ear struct {
	*node
	life int64
}

const dir = "/data/store"

// start starts the server on what its disk has.
func (n *node) start() {
	n.w.t.Helper()
	n.room = vfs.NewFault(n.disk)
	s, _, err := store.Open(store.Config{
		FS: n.room, Dir: dir, LogBytes: n.w.bytes, LogSegmentBytes: n.w.bytes / 16, ScrubBytes: -1, ReserveBytes: -1, Shards: 2, FactEntries: 8,
	})
	if err != nil {
		n.w.t.Fatalf("%s: %v", n.name, err)
	}
	var logger *slog.Logger
	if *verbose {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", n.name)
	}
	tr := transport.New(transport.Config{Node: n.name, Rate: n.w.rate, Logger: logger})
	n.w.net.Join(n.name, tr)
	service := &service{w: n.w, node: n.name, here: map[uint64]*hosted{}}
	cfg := n.w.cfg
	cfg.Self, cfg.Meta, cfg.Store, cfg.Transport, cfg.Service, cfg.Logger = n.name, ear{n, n.life.Load()}, s, tr, service, logger
	cfg.QuorumLost = func(id uint64) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lost = append(n.lost, id)
	}
	r, err := replicas.Open(cfg)
	if err != nil {
		n.w.t.Fatalf("%s: %v", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log, n.transport, n.replicas, n.service = s, tr, r, service
}

// up reports whether the server runs.
func (n *node) up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.replicas != nil
}

// stop ends the server in order.
func (n *node) stop() {
	n.end(func() {
		for _, t := range n.log.Streams() {
			if err := t.Check(); err != nil && t.Err() == nil {
				n.w.t.Errorf("%s: stream %q: %v", n.name, t.Name(), err)
			}
		}
	})
}

// crash cuts the power.
func (n *node) crash() {
	// What it does until all its goroutines have gone is heard by nobody.
	n.life.Add(1)
	n.w.net.Leave(n.name)
	disk := n.disk.PowerCut(vfs.Lose)
	n.end(func() {})
	n.disk = disk
}

func (n *node) end(check func()) {
	n.mu.Lock()
	r := n.replicas
	n.replicas = nil
	n.mu.Unlock()
	if r == nil {
		return
	}
	_ = r.Close()
	check()
	_ = n.transport.Close()
	n.w.net.Leave(n.name)
	_ = n.log.Close()
}

// service notes what it is told, and that the order is right.
type service struct {
	w    *world
	node string

	mu   sync.Mutex
	here map[uint64]*hosted
	led  atomic.Int64
}

type hosted struct {
	stream *store.Stream
	term   uint64
}

func (s *service) Opened(t *store.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[t.ID()] != nil {
		s.w.t.Errorf("%s: Opened(%d) again", s.node, t.ID())
	}
	s.here[t.ID()] = &hosted{stream: t}
}

func (s *service) Lead(id, term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.here[id]
	if h == nil || h.term != 0 || term == 0 {
		s.w.t.Errorf("%s: Lead(%d, %d) of %+v", s.node, id, term, h)
		return
	}
	h.term = term
	s.led.Add(1)
}

func (s *service) Follow(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.here[id]
	if h == nil || h.term == 0 {
		s.w.t.Errorf("%s: Follow(%d) of %+v", s.node, id, h)
		return
	}
	h.term = 0
	s.led.Add(-1)
}

func (s *service) Closed(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.here[id]
	if h == nil || h.term != 0 {
		s.w.t.Errorf("%s: Closed(%d) of %+v", s.node, id, h)
	}
	delete(s.here, id)
}

// leads reports whether the service was told to lead a stream.
func (n *node) leads(id uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replicas == nil {
		return false
	}
	n.service.mu.Lock()
	defer n.service.mu.Unlock()
	h := n.service.here[id]
	return h != nil && h.term != 0
}

// stream is the stream as the service knows it, nil if it does not.
func (n *node) stream(id uint64) *store.Stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replicas == nil {
		return nil
	}
	n.service.mu.Lock()
	defer n.service.mu.Unlock()
	if h := n.service.here[id]; h != nil {
		return h.stream
	}
	return nil
}

// node is the server of a name.
func (w *world) node(name string) *node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == name })]
}

// until waits for something for two minutes.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for range 2400 {
		if ok() {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	w.t.Fatalf("%s: not after two minutes%s", what, w.describe())
}

func (w *world) describe() (s string) {
	for a := range w.machine.View().All() {
		s += fmt.Sprintf("\n%s: on %v, desired %+v, version %d", a.Config.Name, a.Peers, a.Desired, a.Version)
		for _, n := range w.nodes {
			if !n.up() {
				s += "\n  " + n.name + " is down"
			} else if st, ok := n.replicas.Status(a.ID); ok {
				s += fmt.Sprintf("\n  %s: %+v", n.name, st)
			}
		}
	}
	return s
}

// leader waits for a server that leads a stream.
func (w *world) leader(id uint64) *node {
	w.t.Helper()
	var found *node
	w.until("a leader", func() bool {
		for _, n := range w.nodes {
			if n.leads(id) {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// unlimited is a stream that keeps everything.
func unlimited(name string, replicas int) config.Stream {
	return config.Stream{
		Name: name, Subjects: []string{name + ".>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: replicas,
	}
}

// create has a stream assigned to servers.
func (w *world) create(name string, peers ...string) *state.Assignment {
	w.t.Helper()
	r := w.command(&state.CreateStream{Account: "A", Config: unlimited(name, len(peers)), Created: 1, Peers: peers})
	if r.Code != 0 {
		w.t.Fatalf("create %s: %v", name, r.Err())
	}
	return r.Stream
}

// createSome has so many streams made on a, b and c, with a message each.
func (w *world) createSome(n int) (ids []uint64) {
	w.t.Helper()
	for i := range n {
		id := w.create(fmt.Sprintf("S%d", i+1), "a", "b", "c").ID
		w.publish(id, 1)
		ids = append(ids, id)
	}
	return ids
}

// publish has so many messages acked, whoever leads.
func (w *world) publish(id uint64, n int) {
	w.t.Helper()
	for i := range n {
		w.until("a message", func() bool {
			t := w.leader(id).stream(id)
			if t == nil {
				return false
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, err := t.Propose(ctx, &command.Publish{Time: time.Now().UnixNano(), Subject: t.Name() + ".x", Payload: fmt.Appendf(nil, "message %d", i)})
			if err != nil && !errors.Is(err, store.ErrNotLeader) && !errors.Is(err, store.ErrLeadershipLost) && !errors.Is(err, store.ErrFull) && !errors.Is(err, context.DeadlineExceeded) {
				w.t.Fatalf("publish: %v", err)
			}
			return err == nil
		})
	}
}

// settle waits until a stream is on just these servers, the same on all of them, with at least so many messages.
func (w *world) settle(id uint64, messages int, on ...string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d messages on %v", messages, on), func() bool {
		a := w.machine.View().StreamByID(id)
		if a == nil || a.Desired != nil || len(a.Peers) != len(on) {
			return false
		}
		var hashes []uint64
		for _, n := range w.nodes {
			t := n.stream(id)
			if !slices.Contains(on, n.name) {
				if n.up() && (t != nil || n.log.StreamByID(id) != nil) {
					return false
				}
				continue
			}
			if t == nil || t.Replicated() != (len(on) > 1) || t.State().Messages < uint64(messages) || t.Err() != nil {
				return false
			}
			if s, ok := n.replicas.Status(id); !ok || !s.Voter || len(s.Peers) != len(on)-1 {
				return false
			}
			_, hash := t.Hash()
			hashes = append(hashes, hash)
		}
		return len(slices.Compact(hashes)) == 1
	})
}
