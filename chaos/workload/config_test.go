package workload_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
	"runnel/chaos/workload"
)

// memory is a recorder that keeps everything.
type memory struct {
	mu  sync.Mutex // guards what follows
	ops []history.Operation
}

func (m *memory) Now() time.Duration { return 0 }

func (m *memory) Record(o history.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops = append(m.ops, o)
}

func TestCatalog(t *testing.T) {
	want := []string{"W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9", "W10", "W11", "W13", "W14"}
	if got := workload.Names(); !slices.Equal(got, want) {
		t.Fatalf("Names: got %v, want %v", got, want)
	}
	for _, name := range want {
		w, err := workload.New(name, workload.Config{Nodes: []workload.Node{{Name: "n1"}}, Recorder: &memory{}})
		if err != nil {
			t.Fatal(err)
		}
		if w.Name() != name || w.Describe() == "" || w.Describe() != workload.Describe(name) || strings.Contains(w.Describe(), "\n") {
			t.Errorf("%s: got the name %q and the text %q, Describe says %q", name, w.Name(), w.Describe(), workload.Describe(name))
		}
		w.Close()
		w.Close()
	}
	if got := workload.Describe("W99"); got != "" {
		t.Errorf("Describe of a workload that does not exist: got %q", got)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	nodes := []workload.Node{{Name: "n1"}}
	for _, c := range []struct {
		name, workload, want string
		cfg                  workload.Config
	}{
		{"no nodes", "W1", "needs nodes", workload.Config{Recorder: &memory{}}},
		{"no recorder", "W1", "needs a recorder", workload.Config{Nodes: nodes}},
		{"rate below zero", "W1", "below 0", workload.Config{Nodes: nodes, Recorder: &memory{}, Rate: -1}},
		{"rate that is no number", "W1", "no number", workload.Config{Nodes: nodes, Recorder: &memory{}, Rate: math.NaN()}},
		{"too many processes", "W1", "are more than", workload.Config{Nodes: nodes, Recorder: &memory{}, Processes: 1 << 20}},
		{"no such workload", "W12", `no workload "W12"`, workload.Config{Nodes: nodes, Recorder: &memory{}}},
	} {
		if _, err := workload.New(c.workload, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got the error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	cfg, err := workload.Defaults(workload.Config{Nodes: []workload.Node{{Name: "n1"}}, Recorder: &memory{}, Processes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Replicas != 1 || cfg.Keys != 8 || cfg.PayloadBytes != 64 || cfg.Processes != 2 || cfg.CallTimeout != 5*time.Second || cfg.AckWait == 0 || cfg.Patience == 0 {
		t.Errorf("got %+v", cfg)
	}
}

func TestPace(t *testing.T) {
	const interval, count = 10 * time.Millisecond, 1000
	last := func(at []time.Duration) time.Duration { return at[len(at)-1] }
	begin := time.Unix(1, 0)
	if got := last(workload.Pace(begin, 0, 0, count)); got != 0 {
		t.Errorf("without a rate: the last operation is after %v, want at once", got)
	}
	if got := last(workload.Pace(begin, interval, 0, count)); got < interval*count*9/10 || got > interval*count*11/10 {
		t.Errorf("operations that take no time: the last is after %v, want about %v", got, interval*count)
	}
	if got := last(workload.Pace(begin, interval, interval/2, count)); got < interval*count*9/10 || got > interval*count*11/10 {
		t.Errorf("operations that take half of the interval: the last is after %v, want about %v", got, interval*count)
	}
	// Slow operations follow one after the other, and nothing is made up for later.
	if got, want := last(workload.Pace(begin, interval, 5*interval, count)), 5*interval*(count-1); got != want {
		t.Errorf("slow operations: the last is after %v, want %v", got, want)
	}
}

func TestMembers(t *testing.T) {
	peer := func(name string, current bool, lag uint64, offline bool) *jetstream.PeerInfo {
		return &jetstream.PeerInfo{Name: name, Current: current, Lag: lag, Offline: offline}
	}
	info := func(leader string, replicas int, peers ...*jetstream.PeerInfo) *jetstream.StreamInfo {
		return &jetstream.StreamInfo{
			Config:  jetstream.StreamConfig{Replicas: replicas},
			Cluster: &jetstream.ClusterInfo{Leader: leader, Replicas: peers},
		}
	}
	cluster := workload.Config{Nodes: []workload.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for _, c := range []struct {
		name string
		cfg  workload.Config
		info *jetstream.StreamInfo
		want []string
		err  string
	}{
		{"one server", workload.Config{Nodes: cluster.Nodes[:1]}, &jetstream.StreamInfo{}, []string{"a"}, ""},
		{"no cluster", cluster, &jetstream.StreamInfo{}, nil, "no leader"},
		{"no leader", cluster, info("", 3, peer("a", true, 0, false)), nil, "no leader"},
		{"one replica", cluster, info("b", 1), []string{"b"}, ""},
		{"all", cluster, info("c", 3, peer("b", true, 0, false), peer("a", true, 0, false)), []string{"a", "b", "c"}, ""},
		{"one lags", cluster, info("c", 3, peer("b", true, 2, false), peer("a", true, 0, false)), []string{"a", "c"}, "b is 2 operations behind"},
		{"one is not current", cluster, info("c", 3, peer("b", false, 0, false), peer("a", true, 0, false)), []string{"a", "c"}, "b is"},
		{"one is away", cluster, info("c", 3, peer("b", true, 0, true), peer("a", true, 0, false)), []string{"a", "c"}, "b is"},
		{"one is missing", cluster, info("c", 3, peer("b", true, 0, false)), []string{"b", "c"}, "2 of 3"},
	} {
		got, err := workload.Members(c.cfg, c.info)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got the error %v, want %q", c.name, err, c.err)
		}
	}
}

func TestRetainedStreamsForgetInDifferentWays(t *testing.T) {
	names := map[string]bool{}
	for _, r := range workload.RetainedStreams() {
		ways := 0
		for _, has := range []bool{r.MaxMessages > 0, r.MaxPerSubject > 0, r.MaxAge > 0, len(r.Consumers) > 0, r.Purged} {
			if has {
				ways++
			}
		}
		if ways != 1 || names[r.Stream] {
			t.Errorf("%+v: got %d ways, want one, and a name of its own", r, ways)
		}
		names[r.Stream] = true
	}
}

func TestPoison(t *testing.T) {
	poison, healthy := 0, 0
	for _, value := range []string{"3-1", "3-4", "3-5", "3-6", "12-100", "5-7", "what", "damaged \"1-5\""} {
		if workload.Poison(value) {
			poison++
		} else {
			healthy++
		}
	}
	if poison != 2 || healthy != 6 {
		t.Errorf("got %d poison and %d healthy values, want 2 and 6", poison, healthy)
	}
}
