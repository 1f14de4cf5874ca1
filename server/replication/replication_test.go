package replication_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/mesh"
	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/cluster/transport"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/replication"
)

var (
	_ clustered.Cluster   = (*replication.Replication)(nil)
	_ replication.Groups  = (*groups)(nil)
	_ replication.Service = (*service)(nil)
)

// groups stands in for the groups of streams.
type groups struct {
	mu      sync.Mutex // guards everything below
	status  map[uint64]group.Status
	stepped string
	step    string
	told    replication.Service
}

func (g *groups) Status(id uint64) (group.Status, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.status[id]
	return s, ok
}

func (g *groups) StepDown(_ context.Context, _ uint64, node string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stepped = node
	return nil
}

func (g *groups) Step(uint64) (text, kind string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.step, "catchup"
}

func (*groups) Resign(context.Context) {}

func (g *groups) Close() error { return nil }

// service stands in for the service of streams.
type service struct {
	name    string
	elected atomic.Bool
	reached sync.Map   // by node
	lost    sync.Map   // likewise
	mu      sync.Mutex // guards led
	led     []uint64
}

func (*service) Opened(*store.Stream) {}
func (s *service) Lead(id, _ uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.led = append(s.led, id)
}
func (*service) Follow(uint64)     {}
func (*service) QuorumLost(uint64) {}
func (s *service) MetaElected()    { s.elected.Store(true) }

func (s *service) Reached(node string, is bool) { s.reached.Store(node, is) }
func (s *service) Lost(node string)             { s.lost.Store(node, true) }
func (*service) Closed(uint64)                  {}
func (s *service) Answer(_ context.Context, question []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%s heard %s", s.name, question), nil
}

// server is one server as far as replication goes.
type server struct {
	*replication.Replication
	mesh    *mesh.Mesh
	groups  *groups
	service *service
}

// handler hands links to a replication.
type handler struct{ r *replication.Replication }

func (h handler) Linked(l *mesh.Link)                       { h.r.Linked(l) }
func (h handler) Unlinked(l *mesh.Link, reason error)       { h.r.Unlinked(l, reason) }
func (h handler) MembersChanged(mesh.Member, []mesh.Member) {}

// start starts servers that find each other.
func start(t *testing.T, names ...string) map[string]*server {
	t.Helper()
	listeners := make(map[string]net.Listener)
	var seeds []string
	for _, name := range names {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[name] = ln
		seeds = append(seeds, ln.Addr().String())
	}
	servers := make(map[string]*server)
	for _, name := range names {
		r, err := replication.New(replication.Config{
			Disk: vfs.Disk{},
			Dir:  t.TempDir(), Self: state.Member{Name: name, Cluster: "c", Level: 1, MaxStoreBytes: -1, MaxMemoryBytes: -1},
			ClusterName: func() string { return "c" }, Size: func() int { return len(names) },
			Usage:  func() meta.Usage { return meta.Usage{FreeBytes: 1000, Full: name == "c"} },
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := mesh.Open(mesh.Config{
			Self:     mesh.Member{ID: name, Name: name, Cluster: "c", JetStream: true, Node: r.Node()},
			Listener: listeners[name], Seeds: seeds, Raft: true,
		}, handler{r})
		if err != nil {
			t.Fatal(err)
		}
		s := &server{r, m, &groups{status: make(map[uint64]group.Status)}, &service{name: name}}
		servers[name] = s
		err = r.Start(s.service, func(_ *transport.Transport, _ *meta.Meta, told replication.Service) (replication.Groups, error) {
			s.groups.told = told
			return s.groups, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return servers
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("no %s in 30 s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestBeforeStart checks that nothing is known, and nothing can be done, until there is a meta group: requests of other servers
// come before.
func TestBeforeStart(t *testing.T) {
	r, err := replication.New(replication.Config{
		Disk: vfs.Disk{},
		Dir:  t.TempDir(), Self: state.Member{Name: "a", Level: 1}, ClusterName: func() string { return "c" },
		Size: func() int { return 3 }, Usage: func() meta.Usage { return meta.Usage{} }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, nobody := t.Context(), &clustered.Assignment{ID: 1, Account: "A"}
	if _, ok := r.Stream("A", "S"); ok || r.Leads() || r.MetaLeader() != "" || r.Speaks() || len(r.Members()) > 0 || len(r.Streams("A")) > 0 || r.StreamLeader(nobody) != "" {
		t.Error("something is known")
	}
	if s := r.Meta(); s.Leader.ID != "" || len(s.Replicas) > 0 || r.Quorum() != 0 || r.Err() == nil {
		t.Errorf("meta group = %+v", s)
	}
	for range r.Behind() {
		t.Error("it lacks something")
	}
	var refusal *api.Error
	if _, err := r.Create(ctx, "A", config.Stream{Name: "S"}, clustered.Limits{}); !errors.As(err, &refusal) || refusal.ErrCode != int(api.ClusterUnavailable) {
		t.Errorf("create: %v", err)
	}
	if err := r.StepDown(ctx, 1, ""); !errors.As(err, &refusal) {
		t.Errorf("step down: %v", err)
	}
	if err := r.StepDownMeta(ctx, ""); !errors.As(err, &refusal) {
		t.Errorf("step down of the meta group: %v", err)
	}
	if _, _, err := r.Rescue(ctx, 1); err == nil {
		t.Error("it was rescued")
	}
	if _, err := r.Survey(ctx); err == nil {
		t.Error("there is a survey")
	}
	r.Resign(ctx)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Start(&service{}, nil); err == nil {
		t.Error("it started although it was closed")
	}
}

// TestCluster forms a cluster of three, has it agree on streams, and checks that each server sees the same.
func TestCluster(t *testing.T) {
	servers := start(t, "a", "b", "c")
	for name, s := range servers {
		eventually(t, "leader for "+name, func() bool { return s.MetaLeader() != "" && s.Err() == nil && len(s.Members()) == 3 })
	}
	ctx := t.Context()
	a := servers["a"]
	cfg := config.Stream{Name: "S", Subjects: []string{"s.>"}, Replicas: 3, Storage: config.FileStorage}
	none := clustered.Limits{MaxStreams: -1, MaxMemoryBytes: -1, MaxStoreBytes: -1}
	made, err := a.Create(ctx, "A", cfg, none)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Peers) != 3 || made.ID < state.FirstID || made.Created.IsZero() {
		t.Errorf("assignment = %+v", made)
	}
	again, ok := a.Stream("A", "S")
	if !ok || again != made {
		t.Errorf("the assignment is another one although nothing has changed: %p, %p", again, made)
	}
	for name, s := range servers {
		eventually(t, "stream on "+name, func() bool { return len(s.Streams("A")) == 1 })
	}
	var refusal *api.Error
	cfg.Name = "T"
	if _, err := servers["b"].Create(ctx, "A", cfg, none); !errors.As(err, &refusal) || refusal.ErrCode != int(api.SubjectOverlap) {
		t.Errorf("a second stream with the same subjects: %v", err)
	}
	checkBehind(t, servers, made)
	checkLeader(t, servers, made)
	checkCalls(t, servers)
	if err := a.Delete(ctx, made); err != nil {
		t.Error(err)
	}
	for name, s := range servers {
		eventually(t, "end of the stream on "+name, func() bool { return len(s.Streams("A")) == 0 && s.StreamLeader(made) == "" })
	}
}

// checkLeader checks that all know who leads a stream.
func checkLeader(t *testing.T, servers map[string]*server, made *clustered.Assignment) {
	t.Helper()
	b, id := servers["b"], made.ID
	b.groups.told.Lead(id, 7)
	for name, s := range servers {
		eventually(t, "word to "+name+" that b leads", func() bool { return s.StreamLeader(made) == b.Node() })
	}
	a := servers["a"]
	a.groups.mu.Lock()
	a.groups.status[id] = group.Status{
		Leader: servers["c"].Node(), Term: 8, Commit: 5, Applied: 3, LeaderSince: time.Now(),
		Peers: []group.Peer{{Node: b.Node(), Lag: 2}, {Node: servers["c"].Node(), Current: true}},
	}
	a.groups.mu.Unlock()
	if got := a.StreamLeader(made); got != servers["c"].Node() {
		t.Errorf("leader = %s, want the one of the later term that the group knows", got)
	}
	checkMajority(t, a, servers, made)
	s, ok := a.Status(id)
	if s.Kind != "catchup" {
		t.Errorf("kind of what is waited for = %q", s.Kind)
	}
	if !ok || s.Leader.Name != "c" || len(s.Replicas) != 3 || s.Replicas[0].Lag != 2 || s.Replicas[1].Name != "b" || !s.Replicas[2].Current {
		t.Errorf("status = %+v, %v", s, ok)
	}
	if err := a.StepDown(t.Context(), id, "c"); err != nil || a.groups.stepped != servers["c"].Node() {
		t.Errorf("step down to %q, %v", a.groups.stepped, err)
	}
	var refusal *api.Error
	if err := a.StepDown(t.Context(), id, "nobody"); !errors.As(err, &refusal) || refusal.ErrCode != int(api.ServerNotMember) {
		t.Errorf("step down to nobody: %v", err)
	}
	a.groups.mu.Lock()
	delete(a.groups.status, id)
	a.groups.mu.Unlock()
	b.groups.told.Follow(id)
	for name, s := range servers {
		eventually(t, "word to "+name+" that nobody leads", func() bool { return s.StreamLeader(made) == "" })
	}
	b.groups.told.Lead(id, 9)
}

// checkMajority checks whether a server can decide about a stream with those that have a vote and that it reaches.
func checkMajority(t *testing.T, a *server, servers map[string]*server, made *clustered.Assignment) {
	t.Helper()
	is, _ := a.groups.Status(made.ID)
	there := group.Peer{Node: servers["b"].Node(), Voter: true}
	gone, newcomer := group.Peer{Node: "gone1", Voter: true}, group.Peer{Node: "gone2"}
	for _, tt := range []struct {
		name  string
		peers []group.Peer
		want  bool
	}{
		{"alone", nil, true},
		{"two of three", []group.Peer{there, gone}, true},
		{"one of two", []group.Peer{gone}, false},
		{"one of two, and one without a vote", []group.Peer{gone, newcomer}, false},
		{"one of one, and one without a vote", []group.Peer{newcomer}, true},
		{"two of four", []group.Peer{there, gone, gone}, false},
	} {
		a.groups.mu.Lock()
		a.groups.status[made.ID] = group.Status{Voter: true, Peers: tt.peers}
		a.groups.mu.Unlock()
		if got := a.Majority(made); got != tt.want {
			t.Errorf("%s: a majority is reached: %v, want %v", tt.name, got, tt.want)
		}
	}
	a.groups.mu.Lock()
	a.groups.status[made.ID] = is
	a.groups.mu.Unlock()
	if unknown := (&clustered.Assignment{ID: 1, Peers: []string{"x", "y", "z"}}); a.Majority(unknown) {
		t.Error("a majority is reached for a stream that is not here")
	}
}

// checkCalls checks questions between servers, who speaks, and that the meta group's leader can be chosen.
func checkCalls(t *testing.T, servers map[string]*server) {
	t.Helper()
	a, b := servers["a"], servers["b"]
	answer, err := a.Call(t.Context(), b.Node(), []byte("a question"))
	if err != nil || string(answer) != "b heard a question" {
		t.Errorf("answer = %q, %v", answer, err)
	}
	var nodes []string
	for _, s := range servers {
		nodes = append(nodes, s.Node())
	}
	for name, s := range servers {
		if got, want := s.Speaks(), s.Node() == slices.Min(nodes); got != want {
			t.Errorf("%s speaks: %v, want %v", name, got, want)
		}
	}
	leader := a.Meta().Leader.Name
	var to *server
	for name, s := range servers {
		if name != leader {
			to = s
		}
	}
	if err := a.StepDownMeta(t.Context(), to.Self().Name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "leadership of "+to.Self().Name, to.Leads)
	eventually(t, "word of that to the service", to.service.elected.Load)
	if got := to.Meta(); got.Leader != to.Self() || len(got.Replicas) != 3 {
		t.Errorf("meta group = %+v", got)
	}
	if _, _, err := a.Rescue(t.Context(), 1); err == nil {
		t.Error("a group that has a leader was rescued")
	}
}

// checkBehind checks what a server says that it lacks.
func checkBehind(t *testing.T, servers map[string]*server, made *clustered.Assignment) {
	t.Helper()
	a := servers["a"]
	for _, tt := range []struct {
		name   string
		status *group.Status
		want   string
	}{
		{"nothing there", nil, "this server has no replica of it yet"},
		{"failed", &group.Status{Failed: errors.New("a bad disk")}, "its replica here has failed: a bad disk"},
		{"no leader", &group.Status{Voter: true}, "it has no leader"},
		{"far behind", &group.Status{Leader: "x", Voter: true, Commit: 5000, Applied: 1}, "its replica here lacks 4999 entries"},
		{"no vote yet", &group.Status{Leader: "x", Commit: 5, Applied: 5}, "its replica here is being filled"},
		{"a little behind", &group.Status{Leader: "x", Voter: true, Commit: 5, Applied: 1}, ""},
	} {
		a.groups.mu.Lock()
		delete(a.groups.status, made.ID)
		if tt.status != nil {
			a.groups.status[made.ID] = *tt.status
		}
		a.groups.mu.Unlock()
		got := ""
		for assigned, text := range a.Behind() {
			if assigned.ID == made.ID {
				got = text
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	a.groups.mu.Lock()
	delete(a.groups.status, made.ID)
	a.groups.mu.Unlock()
	if got := a.Quorum(); got != 2 {
		t.Errorf("quorum = %d, want 2", got)
	}
	b := servers["b"]
	b.groups.mu.Lock()
	b.groups.status[made.ID] = group.Status{
		Leader: b.Node(), Leads: true, Voter: true, Peers: []group.Peer{{Node: a.Node(), Voter: true, Current: true}, {Node: servers["c"].Node(), Voter: true, Lag: 9000}},
	}
	b.groups.step = "c is being filled"
	b.groups.mu.Unlock()
	r, err := a.Survey(t.Context())
	if err != nil || len(r.Troubled) != 1 || r.Troubled[0].Leader != "b" || r.Troubled[0].Trouble != "replica on c lacks 9000 entries" || len(r.Silent) > 0 {
		t.Errorf("survey = %+v, %v", r, err)
	} else if r.Troubled[0].Step != "c is being filled" || r.Servers[1].Full || !r.Servers[2].Full || r.Servers[1].FreeBytes != 1000 || r.Well() {
		t.Errorf("survey = %+v", r)
	}
	for s, status := range b.All() {
		if s.ID != made.ID || status.Leader != b.Node() || b.Named(status.Leader) != "b" {
			t.Errorf("group %d = %+v", s.ID, status)
		}
	}
	b.groups.mu.Lock()
	delete(b.groups.status, made.ID)
	b.groups.mu.Unlock()
}
