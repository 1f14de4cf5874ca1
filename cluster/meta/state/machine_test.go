package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// machine applies commands one after the other.
type machine struct {
	*state.Machine
	t     *testing.T
	index uint64
}

// newMachine returns a machine with a cluster of some servers.
func newMachine(t *testing.T, nodes ...string) *machine {
	m := &machine{Machine: state.NewMachine(), t: t}
	f := &state.Found{ClusterID: "cluster", Level: 1, Time: 1}
	for _, node := range nodes {
		f.Members = append(f.Members, member(node))
	}
	if len(nodes) > 0 {
		m.must(f)
	}
	return m
}

func member(node string) state.Member {
	return state.Member{Node: node, Instance: "i-" + node, Name: "name-" + node, Cluster: "east", MaxStoreBytes: -1, MaxMemoryBytes: -1, Level: 1}
}

// stream returns a configuration with a subject of its own.
func stream(name string, replicas int, subjects ...string) config.Stream {
	if subjects == nil {
		subjects = []string{name}
	}
	return config.Stream{Name: name, Subjects: subjects, Replicas: replicas, MaxBytes: -1}
}

// with returns a configuration that is changed.
func with(c config.Stream, change func(*config.Stream)) config.Stream {
	change(&c)
	return c
}

// do applies a command.
func (m *machine) do(c state.Command) state.Result {
	m.t.Helper()
	b, err := state.Encode(c)
	if err != nil {
		m.t.Fatal(err)
	}
	m.index++
	r, err := m.Apply(m.index, b)
	if err != nil {
		m.t.Fatalf("apply %T: %v", c, err)
	}
	if r.Index != m.index {
		m.t.Fatalf("apply %T: the index is %d, want %d", c, r.Index, m.index)
	}
	m.check()
	return r
}

// must applies a command that is not refused.
func (m *machine) must(c state.Command) state.Result {
	m.t.Helper()
	r := m.do(c)
	if err := r.Err(); err != nil {
		m.t.Fatalf("%T %+v: %v", c, c, err)
	}
	return r
}

// check compares what is counted with what is there.
func (m *machine) check() {
	m.t.Helper()
	v := m.View()
	loads, accounts, n := map[string]state.Load{}, map[string]int{}, 0
	for a := range v.All() {
		n++
		accounts[a.Account]++
		if v.StreamByID(a.ID) != a || v.Stream(a.Account, a.Config.Name) != a {
			m.t.Fatalf("stream %d is not found by id and name", a.ID)
		}
		if o := a.Config.Mirror; o != nil && slices.Contains(slices.Collect(v.Mirrors(a.Account, o.Name)), a) == (o.External != nil) {
			m.t.Fatalf("stream %s, which mirrors %+v, is or is not found as a mirror", a.Config.Name, o)
		}
		for o := range v.Mirrors(a.Account, a.Config.Name) {
			if v.StreamByID(o.ID) != o || o.Config.Mirror.Name != a.Config.Name {
				m.t.Fatalf("stream %s is said to be a mirror of %s", o.Config.Name, a.Config.Name)
			}
		}
		if !slices.Contains(a.Target(), a.Preferred) {
			m.t.Fatalf("stream %s prefers %s, which is not one of %q", a.Config.Name, a.Preferred, a.Target())
		}
		for _, node := range a.Target() {
			if !a.On(node) {
				m.t.Fatalf("stream %s goes to %s, which is not one of %q", a.Config.Name, node, a.Peers)
			}
		}
		for _, node := range a.Peers {
			l := loads[node]
			l.Count(&state.Request{Replicas: len(a.Peers), Storage: a.Config.Storage, MaxBytes: a.Config.MaxBytes}, node == a.Preferred, 1)
			loads[node] = l
		}
	}
	if n != v.Len() {
		m.t.Fatalf("%d streams, counted are %d", n, v.Len())
	}
	for node, l := range loads {
		if v.Load(node) != l {
			m.t.Fatalf("the load of %s is %+v, want %+v", node, v.Load(node), l)
		}
	}
	for account, streams := range accounts {
		if got := v.Account(account).Streams; got != streams {
			m.t.Fatalf("account %s has %d streams, counted are %d", account, streams, got)
		}
	}
}

// bytes returns the state, written down.
func (m *machine) bytes() []byte {
	m.t.Helper()
	var b bytes.Buffer
	if err := m.View().Write(&b); err != nil {
		m.t.Fatal(err)
	}
	return b.Bytes()
}

func TestVerdicts(t *testing.T) {
	a3 := []string{"a", "b", "c"}
	create := func(cfg config.Stream, peers ...string) *state.CreateStream {
		return &state.CreateStream{Account: "A", Config: cfg, Created: 7, Peers: peers}
	}
	orders := create(stream("orders", 3, "orders.*"), a3...)
	limited := func(c *state.CreateStream, l state.Limits) *state.CreateStream {
		c.Limits = &l
		return c
	}
	sized := func(name string, replicas int, n int64) config.Stream {
		return with(stream(name, replicas), func(c *config.Stream) { c.MaxBytes = n })
	}
	update := func(version uint64, cfg config.Stream, peers ...string) *state.UpdateStream {
		return &state.UpdateStream{Account: "A", Config: cfg, Version: version, Peers: peers}
	}
	for _, test := range []struct {
		name   string
		before []state.Command
		c      state.Command
		want   config.Code
	}{
		{"create", nil, orders, 0},
		{"create again", []state.Command{orders}, orders, 0},
		{"create again on other servers", []state.Command{orders}, create(orders.Config, "d", "b", "c"), 0},
		{"create again with another configuration", []state.Command{orders}, create(stream("orders", 1, "o"), "a"), state.StreamNameExists},
		{"create again though it must be new", []state.Command{orders}, &state.CreateStream{Account: "A", Config: orders.Config, Peers: a3, New: true}, state.StreamNameExists},
		{"the same name in another account", []state.Command{orders}, &state.CreateStream{Account: "B", Config: orders.Config, Peers: a3}, 0},
		{"subjects overlap", []state.Command{orders}, create(stream("all", 1, ">"), "a"), state.SubjectOverlap},
		{"subjects of a stream that is gone", []state.Command{orders, &state.DeleteStream{Account: "A", Name: "orders"}}, create(stream("all", 1, ">"), "a"), 0},
		{"no servers", nil, create(stream("s", 3)), state.NoSuitablePeers},
		{"too few servers", nil, create(stream("s", 3), "a", "b"), state.NoSuitablePeers},
		{"a server twice", nil, create(stream("s", 2), "a", "a"), state.NoSuitablePeers},
		{"a server that is no member", nil, create(stream("s", 1), "x"), state.NoSuitablePeers},
		{"no name", nil, create(stream("", 1), "a"), config.BadRequest},

		{"as many streams as allowed", nil, limited(create(stream("s", 1), "a"), state.Limits{MaxStreams: 1, MaxStoreBytes: -1, MaxMemoryBytes: -1}), 0},
		{"more streams than allowed", []state.Command{orders}, limited(create(stream("s", 1), "a"), state.Limits{MaxStreams: 1, MaxStoreBytes: -1}), state.MaximumStreams},
		{"others do not count", []state.Command{&state.CreateStream{Account: "B", Config: orders.Config, Peers: a3}}, limited(create(stream("s", 1), "a"), state.Limits{MaxStreams: 1}), 0},
		{"tiers count for themselves", []state.Command{orders}, limited(create(stream("s", 1), "a"), state.Limits{MaxStreams: 1, Tiered: true}), 0},
		{"storage is counted for each replica", nil, limited(create(sized("s", 3, 100), a3...), state.Limits{MaxStreams: -1, MaxStoreBytes: 299}), state.InsufficientStorage},
		{"just enough storage", nil, limited(create(sized("s", 3, 100), a3...), state.Limits{MaxStreams: -1, MaxStoreBytes: 300}), 0},
		{"in tiers it is counted once", nil, limited(create(sized("s", 3, 100), a3...), state.Limits{MaxStreams: -1, MaxStoreBytes: 100, Tiered: true}), 0},
		{
			"what others have counts",
			[]state.Command{create(sized("r", 1, 50), "b")},
			limited(create(sized("s", 1, 60), "a"), state.Limits{MaxStreams: -1, MaxStoreBytes: 100}), state.InsufficientStorage,
		},
		{"memory", nil, limited(create(with(sized("s", 1, 60), func(c *config.Stream) { c.Storage = config.MemoryStorage }), "a"), state.Limits{MaxStreams: -1, MaxMemoryBytes: 59}), state.InsufficientMemory},
		{"nothing reserved", []state.Command{create(sized("r", 1, 500), "b")}, limited(create(stream("s", 1), "a"), state.Limits{MaxStreams: -1}), 0},
		{
			"sums beyond all numbers",
			[]state.Command{create(sized("r", 1, math.MaxInt64), "b"), create(sized("q", 1, math.MaxInt64), "b"), create(sized("p", 5, math.MaxInt64), "a", "b", "c", "d", "e")},
			limited(create(sized("s", 1, 1), "a"), state.Limits{MaxStreams: -1, MaxStoreBytes: math.MaxInt64}), state.InsufficientStorage,
		},

		{"update nothing", nil, update(0, orders.Config), state.StreamNotFound},
		{"update", []state.Command{orders}, update(0, with(orders.Config, func(c *config.Stream) { c.MaxAge = 1e9 })), 0},
		{"update what cannot be", []state.Command{orders}, update(0, with(orders.Config, func(c *config.Stream) { c.Storage = config.MemoryStorage })), config.StreamInvalidConfig},
		{"update to subjects of another one", []state.Command{orders, create(stream("s", 1), "a")}, update(0, stream("s", 1, "orders.x")), state.SubjectOverlap},
		{"update its own subjects", []state.Command{orders}, update(0, stream("orders", 3, "orders.>")), 0},
		{
			"update counts itself once",
			[]state.Command{create(sized("s", 1, 60), "a")},
			&state.UpdateStream{Account: "A", Config: sized("s", 1, 90), Limits: &state.Limits{MaxStreams: 1, MaxStoreBytes: 100}}, 0,
		},
		{
			"update beyond the limit",
			[]state.Command{create(sized("s", 1, 60), "a")},
			&state.UpdateStream{Account: "A", Config: sized("s", 1, 101), Limits: &state.Limits{MaxStreams: 1, MaxStoreBytes: 100}}, state.InsufficientStorage,
		},
		{"scale", []state.Command{orders}, update(1, stream("orders", 5), "a", "b", "c", "d", "e"), 0},
		{"scale for an older version", []state.Command{orders, update(0, orders.Config)}, update(1, stream("orders", 5), "a", "b", "c", "d", "e"), state.ReconfigurationRunning},
		{"scale to too few", []state.Command{orders}, update(1, stream("orders", 5), a3...), state.NoSuitablePeers},
		{"scale while it scales", []state.Command{orders, update(1, stream("orders", 1), "a")}, update(2, stream("orders", 5), "a", "b", "c", "d", "e"), state.ReconfigurationRunning},
		{"update while it scales", []state.Command{orders, update(1, stream("orders", 1), "a")}, update(0, with(stream("orders", 1), func(c *config.Stream) { c.MaxAge = 1e9 })), 0},

		{"delete", []state.Command{orders}, &state.DeleteStream{Account: "A", Name: "orders", ID: state.FirstID}, 0},
		{"delete nothing", nil, &state.DeleteStream{Account: "A", Name: "orders"}, state.StreamNotFound},
		{"delete another one of the name", []state.Command{orders}, &state.DeleteStream{Account: "A", Name: "orders", ID: 5}, state.StreamNotFound},

		{"move", []state.Command{orders}, &state.MoveStream{Account: "A", Name: "orders", Version: 1, From: "a", Peers: []string{"b", "c", "d"}}, 0},
		{"move nothing", nil, &state.MoveStream{Account: "A", Name: "orders", Peers: a3}, state.StreamNotFound},
		{"move from where it is not", []state.Command{orders}, &state.MoveStream{Account: "A", Name: "orders", Version: 1, From: "d", Peers: a3}, state.PeerNotMember},
		{"move to nowhere", []state.Command{orders}, &state.MoveStream{Account: "A", Name: "orders", Version: 1, From: "a"}, state.PeerRemapFailed},
		{"move to where it must not be", []state.Command{orders}, &state.MoveStream{Account: "A", Name: "orders", Version: 1, From: "a", Peers: a3}, state.PeerRemapFailed},
		{"move to a stranger", []state.Command{orders}, &state.MoveStream{Account: "A", Name: "orders", Version: 1, From: "a", Peers: []string{"b", "c", "x"}}, state.PeerRemapFailed},
		{"move while it moves", []state.Command{orders, update(1, stream("orders", 1), "a")}, &state.MoveStream{Account: "A", Name: "orders", Version: 2, Peers: []string{"b"}}, state.ReconfigurationRunning},
		{
			"the only replica is not dropped",
			[]state.Command{create(stream("s", 1), "a")},
			&state.MoveStream{Account: "A", Name: "s", Version: 1, From: "a", Peers: []string{"b"}, Drop: true}, state.PeerRemapFailed,
		},
		{
			"nor the only one that has all",
			[]state.Command{create(stream("s", 1), "a"), &state.MoveStream{Account: "A", Name: "s", Version: 1, From: "a", Peers: []string{"b"}}},
			&state.MoveStream{Account: "A", Name: "s", Version: 2, From: "a", Peers: []string{"b"}, Drop: true, Upkeep: true}, state.PeerRemapFailed,
		},

		{"settle nothing", nil, &state.Settle{ID: 1}, state.StreamNotFound},
		{"settle what is settled", []state.Command{orders}, &state.Settle{ID: state.FirstID, Version: 1}, state.NoReconfiguration},
		{"settle", []state.Command{orders, update(1, stream("orders", 1), "a")}, &state.Settle{ID: state.FirstID, Version: 2}, 0},
		{"settle an older version", []state.Command{orders, update(1, stream("orders", 1), "a")}, &state.Settle{ID: state.FirstID, Version: 1}, state.NoReconfiguration},
		{"cancel nothing", []state.Command{orders}, &state.CancelChange{Account: "A", Name: "orders"}, state.NoReconfiguration},
		{"cancel a stream that is not there", nil, &state.CancelChange{Account: "A", Name: "orders"}, state.StreamNotFound},
		{"cancel", []state.Command{orders, update(1, stream("orders", 1), "a")}, &state.CancelChange{Account: "A", Name: "orders"}, 0},
		{"cancel twice", []state.Command{orders, update(1, stream("orders", 1), "a"), &state.CancelChange{Account: "A", Name: "orders"}}, &state.CancelChange{Account: "A", Name: "orders"}, state.NoReconfiguration},

		{"admit", nil, &state.Admit{Member: member("f")}, 0},
		{"admit nobody", nil, &state.Admit{}, config.BadRequest},
		{"admit again", nil, &state.Admit{Member: member("a")}, 0},
		{"admit who has lost everything but the id", nil, &state.Admit{Member: state.Member{Node: "a", Name: "name-a", Instance: "other", Level: 1}}, config.BadRequest},
		{"admit a name that is taken", nil, &state.Admit{Member: state.Member{Node: "f", Name: "name-a", Level: 1}}, config.BadRequest},
		{"admit in the place of another", nil, &state.Admit{Member: state.Member{Node: "f", Name: "name-a", Replaces: "a", Level: 1}}, 0},
		{"admit in the place of a third", nil, &state.Admit{Member: state.Member{Node: "f", Name: "name-a", Replaces: "b", Level: 1}}, config.BadRequest},
		{"admit what is too old", nil, &state.Admit{Member: state.Member{Node: "f", Name: "name-f"}}, config.BadRequest},
		{"admit who was removed", []state.Command{&state.RemoveMember{Node: "a"}}, &state.Admit{Member: member("a")}, state.ServerNotMember},
		{"remove", nil, &state.RemoveMember{Node: "a"}, 0},
		{"remove twice", []state.Command{&state.RemoveMember{Node: "a"}}, &state.RemoveMember{Node: "a"}, state.ServerNotMember},
		{
			"remove the last",
			[]state.Command{&state.RemoveMember{Node: "a"}, &state.RemoveMember{Node: "b"}, &state.RemoveMember{Node: "c"}, &state.RemoveMember{Node: "d"}},
			&state.RemoveMember{Node: "e"}, config.BadRequest,
		},
		{"evacuate", nil, &state.Evacuate{Node: "a"}, 0},
		{"evacuate a stranger", nil, &state.Evacuate{Node: "x"}, state.ServerNotMember},
		{"raise", nil, &state.Raise{Level: 2}, config.BadRequest},
		{"raise to what it is", nil, &state.Raise{Level: 1}, 0},
		{"found again", nil, &state.Found{ClusterID: "other", Members: []state.Member{member("z")}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t, "a", "b", "c", "d", "e")
			for _, c := range test.before {
				m.must(c)
			}
			before := m.View()
			r := m.do(test.c)
			if r.Code != test.want {
				t.Fatalf("the code is %d (%s), want %d", r.Code, r.Detail, test.want)
			}
			if r.Code != 0 && (before.Len() != m.View().Len() || before.Size() != m.View().Size()) {
				t.Error("what was refused has changed something")
			}
		})
	}
}

// TestRoom lets servers have only so much to reserve.
func TestRoom(t *testing.T) {
	m := newMachine(t)
	small := member("a")
	small.MaxStoreBytes, small.MaxMemoryBytes = 100, 50
	m.must(&state.Found{ClusterID: "one", Level: 1, Members: []state.Member{small, member("b")}})
	sized := func(name string, storage config.Storage, n int64) config.Stream {
		return with(stream(name, 1), func(c *config.Stream) { c.MaxBytes, c.Storage = n, storage })
	}
	for _, test := range []struct {
		name string
		c    state.Command
		want config.Code
	}{
		{"more than it has", &state.CreateStream{Account: "A", Config: sized("s", config.FileStorage, 101), Peers: []string{"a"}}, state.InsufficientStorage},
		{"more memory than it has", &state.CreateStream{Account: "A", Config: sized("s", config.MemoryStorage, 51), Peers: []string{"a"}}, state.InsufficientMemory},
		{"a part of it", &state.CreateStream{Account: "A", Config: sized("s", config.FileStorage, 60), Peers: []string{"a"}}, 0},
		{"more than is left", &state.CreateStream{Account: "B", Config: sized("r", config.FileStorage, 41), Peers: []string{"a"}}, state.InsufficientStorage},
		{"more than is left, elsewhere", &state.CreateStream{Account: "B", Config: sized("r", config.FileStorage, 41), Peers: []string{"b"}}, 0},
		{"grow to all of it", &state.UpdateStream{Account: "A", Config: sized("s", config.FileStorage, 100)}, 0},
		{"grow beyond", &state.UpdateStream{Account: "A", Config: sized("s", config.FileStorage, 101)}, state.InsufficientStorage},
		{"shrink", &state.UpdateStream{Account: "A", Config: sized("s", config.FileStorage, 90)}, 0},
		{"no limit reserves nothing", &state.CreateStream{Account: "B", Config: sized("q", config.FileStorage, -1), Peers: []string{"a"}}, 0},
	} {
		if r := m.do(test.c); r.Code != test.want {
			t.Errorf("%s: code %d, want %d", test.name, r.Code, test.want)
		}
	}
	less := small
	less.MaxStoreBytes = 10
	m.must(&state.Admit{Member: less})
	m.must(&state.UpdateStream{Account: "A", Config: sized("s", config.FileStorage, 80)}) // what is there stays, and may shrink
}

func TestFoundOnce(t *testing.T) {
	m := newMachine(t)
	if r := m.do(&state.Found{}); r.Code != config.BadRequest {
		t.Errorf("a cluster without id: code %d, want %d", r.Code, config.BadRequest)
	}
	m.must(&state.Found{ClusterID: "one", Level: 3, Time: 5, Members: []state.Member{member("a")}})
	if r := m.must(&state.Found{ClusterID: "two", Members: []state.Member{member("b")}}); !r.Existing {
		t.Error("the second one is not said to be without effect")
	}
	if v := m.View(); v.ClusterID() != "one" || v.Level() != 3 || v.Size() != 1 || v.Member("a").Joined != 5 {
		t.Errorf("cluster %s, level %d, %d members", v.ClusterID(), v.Level(), v.Size())
	}
}

// TestScale follows a stream from one server to three, and back.
func TestScale(t *testing.T) {
	m := newMachine(t, "a", "b", "c", "d")
	first := m.must(&state.CreateStream{Account: "A", Config: stream("s", 1), Created: 9, Peers: []string{"b"}}).Stream
	if !first.Solo() || first.ID != state.FirstID || first.Version != 1 || first.Created != 9 || first.Preferred != "b" {
		t.Fatalf("got %+v", first)
	}
	if ok, _ := regexp.MatchString(`^S-R1F-[0-9A-Za-z]{8}$`, first.Group); !ok {
		t.Errorf("the group is called %s", first.Group)
	}
	up := m.must(&state.UpdateStream{Account: "A", Config: stream("s", 3), Version: 1, Peers: []string{"b", "a", "d"}, Time: 11}).Stream
	if up.Solo() || up.Version != 2 || up.Group != first.Group || !slices.Equal(up.Peers, []string{"b", "a", "d"}) {
		t.Fatalf("got %+v", up)
	}
	if d := up.Desired; d == nil || d.Since != 11 || !strings.HasPrefix(d.Group, "S-R3F-") || d.Origin.Replicas != 1 || !slices.Equal(d.Origin.Peers, []string{"b"}) {
		t.Fatalf("it goes to %+v", up.Desired)
	}
	done := m.must(&state.Settle{ID: up.ID, Version: 2}).Stream
	if done.Desired != nil || done.Group != up.Desired.Group || !slices.Equal(done.Peers, up.Desired.Peers) || done.Version != 3 {
		t.Fatalf("got %+v", done)
	}
	down := m.must(&state.UpdateStream{Account: "A", Config: stream("s", 1), Version: 3, Peers: []string{"d"}}).Stream
	if down.Solo() || len(down.Peers) != 3 || down.Preferred != "d" {
		t.Fatalf("got %+v", down)
	}
	if last := m.must(&state.Settle{ID: up.ID, Version: 4}).Stream; !last.Solo() || last.Group != first.Group || !slices.Equal(last.Peers, []string{"d"}) {
		t.Fatalf("got %+v", last)
	}
	if first.Version != 1 || !first.Solo() {
		t.Error("what was read before has changed")
	}
}

// TestCancel turns a move around, while one of its old servers leaves the cluster.
func TestCancel(t *testing.T) {
	m := newMachine(t, "a", "b", "c", "d", "e")
	a := m.must(&state.CreateStream{Account: "A", Config: stream("s", 3), Peers: []string{"a", "b", "c"}}).Stream
	west := with(stream("s", 2), func(c *config.Stream) { c.Placement = &config.Placement{Cluster: "west"} })
	m.must(&state.UpdateStream{Account: "A", Config: west, Version: 1, Peers: []string{"d", "e"}})
	m.must(&state.RemoveMember{Node: "b"})
	r := m.must(&state.CancelChange{Account: "A", Name: "s"}).Stream
	if !r.Desired.Cancelled || !slices.Equal(r.Desired.Peers, []string{"a", "c"}) || r.Config.Replicas != 3 || r.Config.Placement != nil {
		t.Fatalf("got %+v, %+v", r, r.Desired)
	}
	if len(r.Peers) != 5 || r.Preferred != "a" {
		t.Errorf("peers %q, preferred %s", r.Peers, r.Preferred)
	}
	if r := m.must(&state.Settle{ID: a.ID, Version: r.Version}).Stream; r.Group != a.Group || !slices.Equal(r.Peers, []string{"a", "c"}) {
		t.Errorf("got %+v", r)
	}
}

// TestMoveDrops lets a stream move away from a server that does not answer any more.
func TestMoveDrops(t *testing.T) {
	m := newMachine(t, "a", "b", "c", "d")
	m.must(&state.CreateStream{Account: "A", Config: stream("s", 3), Peers: []string{"a", "b", "c"}})
	r := m.must(&state.MoveStream{Account: "A", Name: "s", Version: 1, From: "a", Drop: true, Peers: []string{"b", "c", "d"}}).Stream
	if r.On("a") || !slices.Equal(r.Peers, []string{"b", "c", "d"}) || r.Desired == nil || r.Preferred != "b" {
		t.Fatalf("got %+v", r)
	}
	m.must(&state.RemoveMember{Node: "b"})
	again := m.must(&state.MoveStream{Account: "A", Name: "s", Version: 2, From: "b", Drop: true, Upkeep: true, Peers: []string{"c", "d"}}).Stream
	if again.On("b") || !slices.Equal(again.Desired.Peers, []string{"c", "d"}) || !slices.Equal(again.Desired.Origin.Peers, []string{"a", "b", "c"}) {
		t.Fatalf("got %+v, %+v", again, again.Desired)
	}
}

func TestMembers(t *testing.T) {
	m := newMachine(t, "a", "b")
	m.must(&state.Evacuate{Node: "a"})
	changed := member("a")
	changed.Tags, changed.Level = []string{"ssd"}, 4
	m.must(&state.Admit{Member: changed, Time: 99})
	got := m.View().Member("a")
	if !got.Evacuating || got.Joined != 1 || !slices.Equal(got.Tags, changed.Tags) || !got.Describes(&changed) {
		t.Errorf("got %+v", got)
	}
	m.must(&state.Evacuate{Node: "a", Cancel: true})
	if m.View().Member("a").Evacuating {
		t.Error("it is still being evacuated")
	}
	m.must(&state.Admit{Member: state.Member{Node: "c", Name: "name-b", Replaces: "b", Level: 5}, Time: 100})
	v := m.View()
	if v.Member("b") != nil || !v.Removed("b") || v.MemberByName("name-b").Node != "c" || v.Member("c").Joined != 100 {
		t.Errorf("b is still there, or c is not in its place")
	}
	m.must(&state.Raise{Level: 4})
	if v := m.View(); v.Level() != 4 {
		t.Errorf("the level is %d, want 4", v.Level())
	}
}

// TestApplied applies commands again, as raft may after a restart.
func TestApplied(t *testing.T) {
	m := newMachine(t, "a")
	b, err := state.Encode(&state.CreateStream{Account: "A", Config: stream("s", 1), Peers: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := m.Apply(2, b); err != nil || m.View().Len() != 1 || m.View().Index() != 2 {
			t.Fatalf("%v, %d streams, index %d", err, m.View().Len(), m.View().Index())
		}
	}
}

func TestUnknownCommands(t *testing.T) {
	m := newMachine(t, "a")
	before := m.bytes()
	good, err := state.Encode(&state.Raise{Level: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty":              nil,
		"no kind":            {1},
		"newer encoding":     append([]byte{2}, good[1:]...),
		"newer kind":         {1, 200, '{', '}'},
		"newer member":       []byte("\x01\x05" + `{"level":1,"colour":"red"}`),
		"cut off":            good[:len(good)-1],
		"something behind":   append(slices.Clone(good), 'x'),
		"policy not known":   []byte("\x01\x06" + `{"account":"A","config":{"name":"s","retention":"forever"}}`),
		"too large a number": []byte("\x01\x05" + `{"level":1e99}`),
	} {
		if _, err := m.Apply(9, b); !errors.Is(err, state.ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", name, err)
		}
	}
	if !bytes.Equal(m.bytes(), before) {
		t.Error("the state has changed")
	}
	long := with(stream("s", 1), func(c *config.Stream) { c.Description = strings.Repeat("x", state.MaxCommandBytes) })
	if _, err := state.Encode(&state.CreateStream{Config: long}); err == nil {
		t.Error("a command beyond all bounds is encoded")
	}
}

func TestViewsOfAccounts(t *testing.T) {
	m := newMachine(t, "a")
	for _, s := range [][2]string{{"A", "z"}, {"B", "x"}, {"A", "b"}, {"AB", "c"}, {"A", "a"}} {
		m.must(&state.CreateStream{Account: s[0], Config: stream(s[1], 1), Peers: []string{"a"}})
	}
	old := m.View()
	m.must(&state.DeleteStream{Account: "A", Name: "b"})
	for view, want := range map[*state.View]string{old: "a b z", m.View(): "a z"} {
		var got []string
		for a := range view.Streams("A") {
			got = append(got, a.Config.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for range old.Streams("A") {
		break
	}
	if fmt.Sprint(old.Account("A").Streams, m.View().Account("A").Streams, m.View().Account("none").Streams) != "3 2 0" {
		t.Error("the streams of the accounts are not counted right")
	}
}
