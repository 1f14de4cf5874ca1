package state_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// server returns a server that is online and has room.
func server(node string, change ...func(*state.Server)) state.Server {
	s := state.Server{Member: &state.Member{Node: node, Name: "name-" + node, Cluster: "east", MaxStoreBytes: 1000, MaxMemoryBytes: 1000}, Online: true}
	for _, c := range change {
		c(&s)
	}
	return s
}

func tags(tags ...string) func(*state.Server) { return func(s *state.Server) { s.Tags = tags } }
func offline(s *state.Server)                 { s.Online = false }
func evacuating(s *state.Server)              { s.Evacuating = true }
func full(s *state.Server)                    { s.Full = true }
func cluster(name string) func(*state.Server) { return func(s *state.Server) { s.Cluster = name } }
func store(limit int64) func(*state.Server)   { return func(s *state.Server) { s.MaxStoreBytes = limit } }

func load(streams, replicated, preferred int) func(*state.Server) {
	return func(s *state.Server) {
		s.Load.Streams, s.Load.Replicated, s.Load.Preferred = streams, replicated, preferred
	}
}

// reserving lets a server have streams that reserve bytes.
func reserving(storage config.Storage, n int64) func(*state.Server) {
	return func(s *state.Server) { s.Load.Count(&state.Request{Storage: storage, MaxBytes: n}, false, 1) }
}

func TestPlace(t *testing.T) {
	place := func(p config.Placement) *config.Placement { return &p }
	for _, test := range []struct {
		name    string
		request state.Request
		servers []state.Server
		want    string // nodes, or the detail of the refusal
	}{
		{"one of one", state.Request{Replicas: 1}, []state.Server{server("a")}, "a"},
		{"ties by node", state.Request{Replicas: 3}, []state.Server{server("c"), server("a"), server("d"), server("b")}, "a b c"},
		{
			"fewest replicated streams",
			state.Request{Replicas: 2},
			[]state.Server{server("a", load(9, 9, 0)), server("b", load(20, 1, 0)), server("c", load(2, 2, 0))},
			"b c",
		},
		{
			"a single replica goes where the fewest streams are",
			state.Request{Replicas: 1},
			[]state.Server{server("a", load(9, 0, 0)), server("b", load(3, 3, 0))},
			"b",
		},
		{
			"then the most room",
			state.Request{Replicas: 1},
			[]state.Server{server("a"), server("b", store(2000)), server("c", store(-1), func(s *state.Server) { s.FreeBytes = 1500 })},
			"b",
		},
		{
			"room is what the disk has left, if that is less",
			state.Request{Replicas: 1},
			[]state.Server{server("a", store(5000), func(s *state.Server) { s.FreeBytes = 10 }), server("b")},
			"b",
		},
		{
			"leads who leads the fewest",
			state.Request{Replicas: 3},
			[]state.Server{server("a", load(3, 3, 2)), server("b", load(3, 3, 1)), server("c", load(3, 3, 0))},
			"c b a",
		},
		{
			"not where the disk is full",
			state.Request{Replicas: 2},
			[]state.Server{server("a", full), server("b", load(9, 9, 9)), server("c", load(8, 8, 8))},
			"c b",
		},
		{
			"where the disk is full, since there is nobody else, but not to lead",
			state.Request{Replicas: 2},
			[]state.Server{server("a", full), server("b", load(9, 9, 9))},
			"b a",
		},
		{"too few", state.Request{Replicas: 3}, []state.Server{server("a"), server("b")}, "no suitable peers for placement: 3 needed, 2 found"},
		{"none", state.Request{Replicas: 1}, nil, "no suitable peers for placement: 1 needed, 0 found"},
		{
			"offline and evacuating",
			state.Request{Replicas: 2},
			[]state.Server{server("a", offline), server("b", evacuating), server("c"), server("d", offline)},
			"no suitable peers for placement: 2 needed, 1 found, 2 offline, 1 being evacuated",
		},
		{
			"cluster",
			state.Request{Replicas: 1, Placement: place(config.Placement{Cluster: "west"})},
			[]state.Server{server("a"), server("b", cluster("west"))},
			"b",
		},
		{
			"no such cluster",
			state.Request{Replicas: 1, Placement: place(config.Placement{Cluster: "north"})},
			[]state.Server{server("a")},
			"no suitable peers for placement: 1 needed, 0 found, 1 not in cluster north",
		},
		{
			"all tags, in any case",
			state.Request{Replicas: 1, Placement: place(config.Placement{Tags: []string{"SSD", "az:1"}})},
			[]state.Server{server("a", tags("ssd")), server("b", tags("az:1")), server("c", tags("az:1", "ssd", "x"))},
			"c",
		},
		{
			"a tag that nobody has",
			state.Request{Replicas: 1, Placement: place(config.Placement{Tags: []string{"gpu"}})},
			[]state.Server{server("a", tags("ssd"))},
			"no suitable peers for placement: 1 needed, 0 found, 1 without tag gpu",
		},
		{
			"unique tag",
			state.Request{Replicas: 2, UniqueTag: "az:"},
			[]state.Server{server("a", tags("az:1")), server("b", tags("AZ:1")), server("c", tags("az:2")), server("d")},
			"a c",
		},
		{
			"unique tag with too few of them",
			state.Request{Replicas: 3, UniqueTag: "az:"},
			[]state.Server{server("a", tags("az:1")), server("b", tags("az:1")), server("c", tags("az:2")), server("d")},
			"no suitable peers for placement: 3 needed, 2 found, 1 with the tag az:1 of another one, 1 without a tag az:",
		},
		{
			"storage",
			state.Request{Replicas: 1, MaxBytes: 600},
			[]state.Server{server("a", reserving(config.FileStorage, 500)), server("b", reserving(config.MemoryStorage, 500))},
			"b",
		},
		{
			"memory",
			state.Request{Replicas: 1, MaxBytes: 600, Storage: config.MemoryStorage},
			[]state.Server{server("a", reserving(config.FileStorage, 500)), server("b", reserving(config.MemoryStorage, 500))},
			"a",
		},
		{
			"no storage",
			state.Request{Replicas: 1, MaxBytes: 1001},
			[]state.Server{server("a")},
			"no suitable peers for placement: 1 needed, 0 found, 1 short of storage",
		},
		{"no limit of storage", state.Request{Replicas: 1, MaxBytes: 1 << 62}, []state.Server{server("a"), server("b", store(-1))}, "b"},
		{
			"bound of replicated streams",
			state.Request{Replicas: 2},
			[]state.Server{server("a", func(s *state.Server) { s.MaxReplicated, s.Load.Replicated = 5, 5 }), server("b", load(9, 9, 0)), server("c", load(9, 9, 0))},
			"b c",
		},
		{
			"what there is is kept",
			state.Request{Replicas: 3, Keep: []string{"d", "c"}},
			[]state.Server{server("a"), server("b"), server("c", load(9, 9, 9)), server("d", load(9, 9, 9), store(1))},
			"d c a",
		},
		{
			"fewer: those that are online, in their order",
			state.Request{Replicas: 2, Keep: []string{"a", "b", "c"}},
			[]state.Server{server("a", offline), server("b"), server("c")},
			"b c",
		},
		{
			"offline is kept rather than to begin anew",
			state.Request{Replicas: 2, Keep: []string{"a", "b"}},
			[]state.Server{server("a", offline), server("b"), server("c")},
			"b a",
		},
		{
			"kept does not mean to stay where one must not be",
			state.Request{Replicas: 2, Keep: []string{"a", "b"}, Without: []string{"a"}},
			[]state.Server{server("a"), server("b"), server("c")},
			"b c",
		},
		{
			"kept only in the right cluster",
			state.Request{Replicas: 1, Keep: []string{"a"}, Placement: place(config.Placement{Cluster: "west"})},
			[]state.Server{server("a"), server("b", cluster("west"))},
			"b",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := placed(t, test.request, test.servers); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if strings.HasPrefix(test.want, "no suitable") {
				return // reasons come in the order of the servers
			}
			backwards := slices.Clone(test.servers)
			slices.Reverse(backwards)
			if got := placed(t, test.request, backwards); got != test.want {
				t.Errorf("got %q with the servers in another order, want %q", got, test.want)
			}
		})
	}
}

// placed returns the nodes, or the detail of the refusal.
func placed(t *testing.T, r state.Request, servers []state.Server) string {
	t.Helper()
	nodes, err := state.Place(r, servers)
	if err == nil {
		return strings.Join(nodes, " ")
	}
	var e *config.Error
	if !errors.As(err, &e) || e.Code != state.NoSuitablePeers {
		t.Fatalf("the error is %v, want code %d", err, state.NoSuitablePeers)
	}
	return e.Detail
}

func TestPlaceSome(t *testing.T) {
	servers := []state.Server{server("a"), server("b", offline), server("c")}
	if got := state.PlaceSome(state.Request{Replicas: 3}, servers); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %q, want a and c", got)
	}
	if got := state.PlaceSome(state.Request{Replicas: 3}, servers[1:2]); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}

func TestChoose(t *testing.T) {
	servers := []state.Server{server("a", load(1, 1, 4)), server("b", load(1, 1, 2), tags("x")), server("c", offline), server("d", load(1, 1, 2), cluster("west"))}
	for _, test := range []struct {
		name string
		p    *config.Placement
		want string
	}{
		{"any", nil, "b"},
		{"by name", &config.Placement{Preferred: "name-a"}, "a"},
		{"by node", &config.Placement{Preferred: "d"}, "d"},
		{"by tag", &config.Placement{Tags: []string{"x"}}, "b"},
		{"by cluster", &config.Placement{Cluster: "west"}, "d"},
		{"unknown", &config.Placement{Preferred: "zz"}, "no suitable peers for placement: 1 needed, 0 found"},
		{"offline", &config.Placement{Preferred: "name-c"}, "no suitable peers for placement: 1 needed, 0 found, 1 offline"},
		{"name and tag", &config.Placement{Preferred: "name-a", Tags: []string{"x"}}, "no suitable peers for placement: 1 needed, 0 found, 1 without tag x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := state.Choose(test.p, servers)
			var e *config.Error
			if errors.As(err, &e) {
				got = e.Detail
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestPlaceSpreads places many streams one after the other and looks whether all servers get their share of replicas and leaders.
func TestPlaceSpreads(t *testing.T) {
	m := newMachine(t, "a", "b", "c", "d", "e")
	const streams = 100
	for i := range streams {
		var servers []state.Server
		for member := range m.View().Members() {
			servers = append(servers, state.Server{Member: member, Online: true, Load: m.View().Load(member.Node)})
		}
		cfg := stream(fmt.Sprint("s", i), 3)
		peers, err := state.Place(state.NeedOf(&cfg), servers)
		if err != nil {
			t.Fatal(err)
		}
		m.must(&state.CreateStream{Account: "A", Config: cfg, Peers: peers})
	}
	for member := range m.View().Members() {
		l := m.View().Load(member.Node)
		if l.Replicated != streams*3/5 || l.Preferred < streams/5-2 || l.Preferred > streams/5+2 {
			t.Errorf("%s has %d replicas and leads %d, want %d and about %d", member.Node, l.Replicated, l.Preferred, streams*3/5, streams/5)
		}
	}
}
