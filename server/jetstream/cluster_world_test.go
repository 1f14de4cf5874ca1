package jetstream_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/quota"
	"runnel/server/servertest"
	"runnel/server/wire"
)

// world is a cluster whose servers share one engine: each of them gets every message, as if there were routes. What raft and the
// meta group do is decided by the test.
type world struct {
	t        testing.TB
	engine   *engine.Engine
	policy   *accounts.Policy
	listener net.Listener
	members  []*member

	mu      sync.Mutex // guards everything below
	meta    int        // who leads the meta group, nobody for none
	streams map[string]*clustered.Assignment
	changes uint64 // of streams
	late    bool   // members learn of changes by others only when they wait for that
	groups  map[uint64]*group
	nextID  uint64
}

// nobody leads.
const nobody = -1

// member is one server.
type member struct {
	node    clustered.Node
	world   *world
	number  int
	store   *store.Store
	service *jetstream.Service
	tags    []string
	down    bool // as the others see it; the world's mu guards it
	// What it knows of streams, after how many changes, and what it does once it knows more. The world's mu guards it.
	streams map[string]*clustered.Assignment
	changes uint64
	todo    []func()
}

// newWorld starts servers, the first of which leads the meta group; tune changes how their services are opened.
func newWorld(t testing.TB, n int, tune ...func(*jetstream.Config)) *world {
	t.Helper()
	w := &world{t: t, streams: map[string]*clustered.Assignment{}, groups: map[uint64]*group{}, nextID: 1 << 40}
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(accounts.Config{
		Accounts: []accounts.AccountConfig{
			{Name: "A", Users: []accounts.UserConfig{{Username: "a", Password: "a"}}},
			{Name: "SYS", Users: []accounts.UserConfig{{Username: "s", Password: "s"}}},
		},
		SystemAccount: "SYS",
	})
	if err != nil {
		t.Fatal(err)
	}
	registry.Activate(policy)
	w.policy = policy
	w.engine, err = engine.New(engine.Config{Handler: w, Logger: slog.New(slog.DiscardHandler), Settings: engine.Settings{
		MaxPayloadBytes: 1 << 20, MaxControlLineBytes: 4096, MaxPendingBytes: 64 << 20, PingInterval: time.Minute, PingMax: 2,
		WriteDeadline: 10 * time.Second, AuthTimeout: 10 * time.Second,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(w.accept)
	for i := range n {
		w.members = append(w.members, w.join(i, tune))
	}
	t.Cleanup(func() {
		for _, g := range w.allGroups() {
			g.close()
		}
		for _, m := range w.members {
			m.service.Close()
			if err := m.store.Close(); err != nil {
				t.Error(err)
			}
		}
		_ = w.listener.Close()
		accepting.Wait()
		w.engine.Close()
	})
	return w
}

// join starts a server.
func (w *world) join(i int, tune []func(*jetstream.Config)) *member {
	m := &member{node: clustered.Node{ID: fmt.Sprintf("node000%d", i+1), Name: fmt.Sprintf("n%d", i+1)}, world: w, number: i}
	m.tags = []string{fmt.Sprintf("rack%d", i+1), "all"}
	var err error
	m.store, _, err = store.Open(store.Config{FS: vfs.NewMemory(), Dir: "store", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := jetstream.Config{
		Store: m.store, Engine: w.engine, System: w.policy.System, ServerName: m.node.Name, ServerID: "ID" + m.node.Name, Version: "2.15.2",
		Cluster: m, Limits: jetstream.Limits{MaxMemoryBytes: -1, MaxStoreBytes: -1},
	}
	for _, change := range tune {
		change(&cfg)
	}
	m.service = jetstream.New(cfg)
	m.service.SetAccounts([]jetstream.AccountConfig{
		{Account: w.policy.Account("A"), Limits: quota.Unlimited()}, {Account: w.policy.System()},
	})
	return m
}

func (w *world) accept() {
	for {
		nc, err := w.listener.Accept()
		if err != nil {
			return
		}
		c := w.engine.NewConn(&engine.Meta{Type: accounts.Standard, IP: "127.0.0.1", Start: time.Now()})
		info := w.Info(c)
		w.engine.Serve(c, nc, &info)
	}
}

// What an engine wants to know of its clients.

func (w *world) Authenticate(_ *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	return w.policy.Authenticate(accounts.Credentials{Username: o.User, Password: o.Password})
}
func (w *world) MayBlock(*engine.Conn, *wire.Connect) bool    { return false }
func (w *world) Admit(*engine.Conn, *accounts.Identity) error { return nil }
func (w *world) Bound(*engine.Conn)                           {}
func (w *world) AuthRequired(*engine.Conn) bool               { return true }
func (w *world) Connected(*engine.Conn)                       {}
func (w *world) Closed(*engine.Conn)                          {}
func (w *world) Info(*engine.Conn) wire.Info {
	return wire.Info{ServerID: "S", ServerName: "S", Version: "2.15.2", Proto: 1, Headers: true, JetStream: true, MaxPayload: 1 << 20, AuthRequired: true}
}

// connect returns a client of account A.
func (w *world) connect() *nats.Conn { return w.connectAs("a") }

func (w *world) connectAs(user string) *nats.Conn {
	w.t.Helper()
	nc, err := nats.Connect("nats://"+w.listener.Addr().String(), nats.UserInfo(user, user), nats.Timeout(10*time.Second))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	return nc
}

func (w *world) allGroups() []*group {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*group
	for _, g := range w.groups {
		list = append(list, g)
	}
	return list
}

// lead lets a member lead the meta group.
func (w *world) lead(meta int) {
	w.mu.Lock()
	w.meta = meta
	w.mu.Unlock()
}

// until waits for a condition.
func (w *world) until(what string, met func() bool) {
	w.t.Helper()
	servertest.Eventually(w.t, what, met)
}

// group returns the group of a stream of account A.
func (w *world) group(stream string) *group {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.streams["A/"+stream]
	if a == nil {
		w.t.Fatalf("there is no stream %s", stream)
	}
	return w.groups[a.ID]
}

// The rest is the cluster as a member sees it.

func (m *member) Name() string         { return "C" }
func (m *member) Self() clustered.Node { return m.node }

func (m *member) Leads() bool {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.world.meta == m.number
}

func (m *member) MetaLeader() string {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	if l := m.world.meta; l != nobody && !m.world.members[l].down {
		return m.world.members[l].node.ID
	}
	return ""
}

func (m *member) Majority(a *clustered.Assignment) bool {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	reached := 0
	for _, o := range m.world.members {
		if slices.Contains(a.Peers, o.node.ID) && (o == m || !o.down) {
			reached++
		}
	}
	return reached > len(a.Peers)/2
}

func (m *member) Level() int { return command.Level }

func (m *member) Speaks() bool { return m.number == 0 }

func (m *member) Stream(account, name string) (*clustered.Assignment, bool) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	a := m.streams[account+"/"+name]
	return a, a != nil
}

func (m *member) Streams(account string) []*clustered.Assignment {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	var list []*clustered.Assignment
	for _, a := range m.streams {
		if a.Account == account {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(x, y *clustered.Assignment) int { return cmp.Compare(x.Config.Name, y.Config.Name) })
	return list
}

func (m *member) Mirrors(account, origin string) []*clustered.Assignment {
	return slices.DeleteFunc(m.Streams(account), func(a *clustered.Assignment) bool {
		return a.Config.Mirror == nil || a.Config.Mirror.External != nil || a.Config.Mirror.Name != origin
	})
}

func (m *member) groupOf(id uint64) *group {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.world.groups[id]
}

func (m *member) StreamLeader(a *clustered.Assignment) string {
	if g := m.groupOf(a.ID); g != nil {
		if l := g.leads(); l != nobody {
			return m.world.members[l].node.ID
		}
	}
	return ""
}

func (m *member) AwaitLeader(ctx context.Context, a *clustered.Assignment) {
	for m.StreamLeader(a) == "" && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

func (m *member) Online(node string) bool {
	for _, o := range m.Members() {
		if o.ID == node {
			return o.Online
		}
	}
	return false
}

func (m *member) Members() []clustered.Member {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	var list []clustered.Member
	for _, o := range m.world.members {
		list = append(list, clustered.Member{Node: o.node, Tags: o.tags, Online: !o.down})
	}
	return list
}

func (m *member) Meta() clustered.Status {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	s := clustered.Status{}
	for i, o := range m.world.members {
		if i == m.world.meta {
			s.Leader = o.node
		}
		s.Replicas = append(s.Replicas, clustered.Replica{Node: o.node, Current: !o.down, Offline: o.down})
	}
	return s
}

func (m *member) Status(id uint64) (clustered.Status, bool) {
	g := m.groupOf(id)
	if g == nil || !slices.Contains(g.members(), m.number) {
		return clustered.Status{}, false
	}
	return g.status(), true
}

// changeLocked changes a stream, or removes it if a is nil. The member by knows that at once. The world's mu is held.
func (w *world) changeLocked(by *member, key string, a *clustered.Assignment) {
	w.streams = maps.Clone(w.streams)
	if w.streams[key] = a; a == nil {
		delete(w.streams, key)
	}
	w.changes++
	for _, m := range w.members {
		if m == by || !w.late {
			m.streams, m.changes = w.streams, w.changes
		}
	}
}

func (m *member) Position() uint64 {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.changes
}

func (m *member) Await(_ context.Context, position uint64) error {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	if position > m.changes {
		m.streams, m.changes = m.world.streams, m.world.changes
		for _, f := range m.todo {
			go f()
		}
		m.todo = nil
	}
	return nil
}

func (m *member) Create(_ context.Context, account string, cfg config.Stream, l clustered.Limits) (*clustered.Assignment, error) {
	return m.world.assign(m, account, cfg, l)
}

// assign gives a stream to the members from the first on.
func (w *world) assign(by *member, account string, cfg config.Stream, l clustered.Limits) (*clustered.Assignment, error) {
	w.mu.Lock()
	key := account + "/" + cfg.Name
	if a := w.streams[key]; a != nil {
		w.mu.Unlock()
		if fmt.Sprint(a.Config.Subjects) != fmt.Sprint(cfg.Subjects) {
			return nil, api.NewError(api.StreamNameExists)
		}
		return a, nil
	}
	if cfg.Replicas > len(w.members) {
		w.mu.Unlock()
		return nil, api.NewError(api.NoSuitablePeers, "no suitable peers for placement")
	}
	if l.MaxStreams >= 0 && len(w.streams) >= l.MaxStreams {
		w.mu.Unlock()
		return nil, api.NewError(api.MaximumStreams)
	}
	w.nextID++
	a := &clustered.Assignment{ID: w.nextID, Account: account, Config: cfg, Created: time.Now()}
	first := 0
	if cfg.Replicas == 1 {
		first = int(w.nextID) % len(w.members) // somewhere
	} else {
		a.Group = fmt.Sprintf("S-R%dF-test%04d", cfg.Replicas, w.nextID&0xfff)
	}
	for i := range max(cfg.Replicas, 1) {
		a.Peers = append(a.Peers, w.members[(first+i)%len(w.members)].node.ID)
	}
	g := newGroup(w, a)
	w.groups[a.ID] = g
	w.changeLocked(by, key, a)
	w.mu.Unlock()
	if err := g.open(); err != nil {
		return nil, err
	}
	g.elect(g.members()[0])
	return a, nil
}

func (m *member) Update(_ context.Context, account string, cfg config.Stream, _ clustered.Limits) (*clustered.Assignment, error) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	a := *m.world.streams[account+"/"+cfg.Name]
	a.Config = cfg
	m.world.changeLocked(m, account+"/"+cfg.Name, &a)
	return &a, nil
}

func (m *member) Delete(_ context.Context, a *clustered.Assignment) error {
	w := m.world
	w.mu.Lock()
	g := w.groups[a.ID]
	if g == nil {
		w.mu.Unlock()
		return api.NewError(api.StreamNotFound)
	}
	w.changeLocked(m, a.Account+"/"+a.Config.Name, nil)
	delete(w.groups, a.ID)
	late := w.late
	w.mu.Unlock()
	g.close()
	for _, i := range g.members() {
		o := w.members[i]
		leave := func() {
			o.service.Closed(a.ID)
			if err := o.store.Delete(g.logs[i]); err != nil {
				w.t.Error(err)
			}
		}
		if o == m || !late {
			leave()
			continue
		}
		w.mu.Lock()
		o.todo = append(o.todo, leave)
		w.mu.Unlock()
	}
	return nil
}

func (m *member) Move(_ context.Context, a *clustered.Assignment, move clustered.Move) (*clustered.Assignment, error) {
	if len(a.Peers) == len(m.world.members) || move.From == "" {
		return nil, api.NewError(api.NoSuitablePeers, "no suitable peers for placement")
	}
	return a, nil
}

func (m *member) CancelMove(_ context.Context, a *clustered.Assignment) (*clustered.Assignment, error) {
	return a, nil
}

func (m *member) StepDown(_ context.Context, id uint64, to string) error {
	g := m.groupOf(id)
	list := g.members()
	next := list[(slices.Index(list, m.number)+1)%len(list)]
	for i, o := range m.world.members {
		if o.node.ID == to {
			next = i
		}
	}
	g.elect(next)
	return nil
}

func (m *member) StepDownMeta(_ context.Context, to string) error {
	next := (m.number + 1) % len(m.world.members)
	for i, o := range m.world.members {
		if o.node.ID == to {
			next = i
		}
	}
	m.world.lead(next)
	m.world.members[next].service.MetaElected()
	return nil
}

func (m *member) RemoveServer(context.Context, string, bool) error { return nil }

func (m *member) Rescue(_ context.Context, quorum int) (before, after int, err error) {
	if m.MetaLeader() != "" {
		return 0, 0, errors.New("a leader is known")
	}
	return len(m.world.members)/2 + 1, quorum, nil
}

func (m *member) Call(ctx context.Context, node string, question []byte) ([]byte, error) {
	for _, o := range m.world.members {
		if o.node.ID == node && m.Online(node) {
			return o.service.Answer(ctx, question)
		}
	}
	return nil, fmt.Errorf("server %s cannot be reached", node)
}

// group carries out what is proposed to a stream on all servers that have it, one entry after the other, as raft would.
type group struct {
	world *world
	a     *clustered.Assignment
	logs  map[int]*store.Stream

	mu      sync.Mutex // guards everything below
	roused  *sync.Cond
	leader  int
	term    uint64
	index   uint64
	pending []*store.Proposal
	orphans []byte // records whose proposers were told that it is not known
	closed  bool
	lossy   bool // what is under way when leadership ends is lost, and not carried out
	// handsOver says that leaders hand over: what is under way then is not carried out, and who has proposed it knows that.
	handsOver bool
	lagging   bool // followers say that they are behind
	ended     chan struct{}
}

func newGroup(w *world, a *clustered.Assignment) *group {
	g := &group{world: w, a: a, logs: map[int]*store.Stream{}, leader: nobody, term: 1, index: 1, ended: make(chan struct{})}
	g.roused = sync.NewCond(&g.mu)
	return g
}

// members are the numbers of the servers that have the stream.
func (g *group) members() (list []int) {
	for _, p := range g.a.Peers {
		list = append(list, slices.IndexFunc(g.world.members, func(m *member) bool { return m.node.ID == p }))
	}
	return list
}

// open makes the stream on its servers.
func (g *group) open() error {
	for _, i := range g.members() {
		m := g.world.members[i]
		assigned := store.Assigned{ID: g.a.ID, Account: g.a.Account, Config: g.a.Config, Created: g.a.Created.UnixNano()}
		if len(g.a.Peers) > 1 {
			assigned.Place = &entries.Place{Index: 1, Term: 1, Configuration: []byte("c")}
		}
		var log *store.Stream
		var err error
		g.world.until("the name of a stream that is being removed to be free", func() bool {
			log, err = m.store.CreateAssigned(assigned)
			return !errors.Is(err, store.ErrExists)
		})
		if err != nil {
			close(g.ended) // nothing runs that would end
			return err
		}
		g.logs[i] = log
		if log.Replicated() {
			log.SetProposer(&seat{g, i})
		}
		m.service.Opened(log)
	}
	if len(g.a.Peers) > 1 {
		go g.run()
	} else {
		close(g.ended)
	}
	return nil
}

// seat is where a server proposes.
type seat struct {
	group  *group
	member int
}

func (s *seat) Propose(_ context.Context, p *store.Proposal) error {
	g := s.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader != s.member || g.closed {
		return store.ErrNotLeader
	}
	g.pending = append(g.pending, p)
	g.roused.Signal()
	return nil
}

// run carries out what is proposed.
func (g *group) run() {
	defer close(g.ended)
	for {
		e := g.take()
		if e == nil {
			return
		}
		records := e.records
		for _, p := range e.proposals {
			records = p.Append(records)
		}
		for _, i := range g.members() {
			var local []*store.Proposal
			if i == e.leader {
				local = e.proposals
			}
			if err := g.logs[i].ApplyEntry(e.index, e.term, records, local); err != nil {
				g.world.t.Errorf("entry %d on n%d: %v", e.index, i+1, err)
			}
		}
	}
}

// entry is what is carried out at once.
type entry struct {
	index, term uint64
	leader      int // whose proposals they are, nobody for records of which nobody waits to hear
	proposals   []*store.Proposal
	records     []byte
}

// take returns the next entry, nil at the end.
func (g *group) take() *entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.pending)+len(g.orphans) == 0 && !g.closed {
		g.roused.Wait()
	}
	if g.closed {
		for _, p := range g.pending {
			p.Fail(store.ErrLeadershipLost)
		}
		return nil
	}
	g.index++
	e := &entry{index: g.index, term: g.term, leader: nobody}
	if len(g.orphans) > 0 {
		e.records, g.orphans = g.orphans, nil
	} else {
		e.leader, e.proposals, g.pending = g.leader, g.pending, nil
	}
	return e
}

// elect lets another server lead, or nobody.
func (g *group) elect(leader int) {
	g.mu.Lock()
	old := g.leader
	g.leader = nobody
	if old != nobody {
		g.world.members[old].service.Follow(g.a.ID)
	}
	for _, p := range g.pending {
		switch {
		case g.handsOver:
			p.Fail(store.ErrHandedOver)
			continue
		case !g.lossy:
			g.orphans = p.Append(g.orphans)
		}
		p.Fail(store.ErrLeadershipLost)
	}
	g.pending = nil
	g.roused.Signal()
	g.term++
	term := g.term
	g.mu.Unlock()
	if leader == nobody {
		return
	}
	g.drain()
	g.mu.Lock()
	g.leader = leader
	g.mu.Unlock()
	g.world.members[leader].service.Lead(g.a.ID, term)
}

// drain waits until all that is under way is carried out: who leads knows what was before.
func (g *group) drain() {
	if len(g.a.Peers) < 2 {
		return
	}
	g.world.until("what is under way to be carried out", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, log := range g.logs {
			if log.Applied() != g.index {
				return false
			}
		}
		return len(g.orphans) == 0
	})
}

func (g *group) leads() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leader
}

func (g *group) status() clustered.Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := clustered.Status{Since: g.a.Created}
	for _, i := range g.members() {
		if i == g.leader {
			s.Leader = g.world.members[i].node
		}
		s.Replicas = append(s.Replicas, clustered.Replica{Node: g.world.members[i].node, Current: i == g.leader || !g.lagging, Active: time.Millisecond})
	}
	return s
}

// close ends the group.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.roused.Broadcast()
	g.mu.Unlock()
	<-g.ended
}
