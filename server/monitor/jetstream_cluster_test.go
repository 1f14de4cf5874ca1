package monitor_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"runnel/cluster/survey"
	"runnel/server/jetstream/api"
	"runnel/server/monitor"
)

// newMember is a server with JetStream that belongs to a cluster of three.
func newMember() *fakeSource {
	s := newJetStream()
	s.js.Meta = &monitor.MetaCluster{
		Name: "east", Leader: "b", Peer: "node-b", Size: 3, Quorum: 2,
		Replicas: []*api.Peer{{Name: "a", ID: "node-a", Current: true}, {Name: "c", ID: "node-c", Offline: true, Lag: 4}},
	}
	s.js.LedStreams, s.js.LedConsumers = 1, 0
	return s
}

// TestJszCluster checks what the JetStream page says of the meta group, and who answers what is for leaders alone.
func TestJszCluster(t *testing.T) {
	s := newMember()
	page, err := newPages(s).Jsz(monitor.JszOptions{RaftGroups: true})
	if err != nil {
		t.Fatal(err)
	}
	if page.StreamsLeader != 1 || page.ConsumersLeader != 0 {
		t.Errorf("leads %d streams and %d consumers, want 1 and 0", page.StreamsLeader, page.ConsumersLeader)
	}
	got, err := json.Marshal(page.Meta)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"east","leader":"b","peer":"node-b","replicas":[{"name":"a","current":true,"active":0,"peer":"node-a"},` +
		`{"name":"c","current":false,"offline":true,"active":0,"lag":4,"peer":"node-c"}],"cluster_size":3,"quorum_needed":2,` +
		`"pending":0,"pending_requests":0,"pending_infos":0,"snapshot":{"pending_entries":0,"pending_size":0}}`
	if string(got) != want {
		t.Errorf("meta_cluster\ngot  %s\nwant %s", got, want)
	}
	if _, err := newPages(s).Jsz(monitor.JszOptions{LeaderOnly: true}); !errors.Is(err, monitor.ErrNotLeader) {
		t.Errorf("for the leader alone: %v", err)
	}
	s.js.Meta.Leads = true
	if _, err := newPages(s).Jsz(monitor.JszOptions{LeaderOnly: true}); err != nil {
		t.Errorf("the leader: %v", err)
	}
}

// TestRaftz checks what is said of raft groups, and which ones may be asked for.
func TestRaftz(t *testing.T) {
	s := newMember()
	h := monitor.Handler(newPages(s), "")
	if w := get(h, "/raftz"); w.Code != http.StatusNotFound {
		t.Errorf("without groups: %d", w.Code)
	}
	s.groups = []monitor.RaftGroup{
		{Account: "$SYS", Name: "_meta_", State: "LEADER"},
		{Account: "A", Name: "S-R3F-x", State: "FOLLOWER", Peers: map[string]monitor.RaftPeer{"node-b": {Name: "b", Known: true}}},
		{Account: "A", Name: "S-R3F-y", State: "OBSERVER"},
	}
	for path, want := range map[string]int{"/raftz": 3, "/raftz?acc=A": 2, "/raftz?acc=A&group=S-R3F-x": 1, "/raftz?group=_meta_": 1} {
		var found map[string]map[string]monitor.RaftGroup
		if err := json.Unmarshal(get(h, path).Body.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, groups := range found {
			n += len(groups)
		}
		if n != want {
			t.Errorf("%s: %d groups, want %d", path, n, want)
		}
	}
}

// TestClusterz checks the page of a cluster, and of a server alone.
func TestClusterz(t *testing.T) {
	s := newJetStream()
	h := monitor.Handler(newPages(s), "")
	if w := get(h, "/clusterz"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "keeps no streams together") {
		t.Errorf("alone: %d %s", w.Code, w.Body)
	}
	s.survey = &survey.Report{Cluster: "east", Servers: []survey.Server{{Name: "a", SafeToStop: true}}}
	w := get(h, "/clusterz")
	var got survey.Report
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Cluster != "east" || !got.Servers[0].SafeToStop {
		t.Errorf("got %s, %v", w.Body, err)
	}
}

// TestJszStreamLeaderOnly checks that a server can be asked for the streams that it leads.
func TestJszStreamLeaderOnly(t *testing.T) {
	s := newMember()
	streams := s.jsStreams["A"]
	streams[0].Cluster = &api.Cluster{Leader: s.server.Identity.Name}
	streams[1].Cluster = &api.Cluster{Leader: "somebody else"}
	streams[2].Cluster = &api.Cluster{}
	page, err := newPages(s).Jsz(monitor.JszOptions{Streams: true, StreamLeaderOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range page.Details {
		if a.ID == "A" && (len(a.Streams) != 1 || a.Streams[0].Name != streams[0].Name) {
			t.Errorf("got %d streams, want the one that is led", len(a.Streams))
		}
	}
}

// TestHealthzCluster probes a server without a leader of the meta group, and one that lacks something of a stream.
func TestHealthzCluster(t *testing.T) {
	waits := newMember()
	waits.js.Meta.Waiting = "no contact with a meta leader"
	lacks := newMember()
	lacks.js.Problems = []monitor.Problem{{Account: "A", Stream: "S", Text: "its replica here is being filled", Down: true}}
	unavailable := "503 unavailable: "
	lacking := unavailable + `JetStream stream "S" on account "A": its replica here is being filled`
	for _, tt := range []struct {
		name    string
		source  *fakeSource
		options monitor.HealthzOptions
		want    string
	}{
		{"well", newMember(), monitor.HealthzOptions{}, "200 ok"},
		{"no leader", waits, monitor.HealthzOptions{}, unavailable + waits.js.Meta.Waiting},
		{"no leader, of the meta group", waits, monitor.HealthzOptions{JSMetaOnly: true}, unavailable + waits.js.Meta.Waiting},
		{"no leader, of the server", waits, monitor.HealthzOptions{JSServerOnly: true}, "200 ok"},
		{"no leader, whether it runs", waits, monitor.HealthzOptions{JSEnabledOnly: true}, "200 ok"},
		{"a replica that lacks something", lacks, monitor.HealthzOptions{}, lacking},
		{"a replica that lacks something, of the meta group", lacks, monitor.HealthzOptions{JSMetaOnly: true}, "200 ok"},
		{"a replica that lacks something, of another account", lacks, monitor.HealthzOptions{Account: "B"}, "200 ok"},
	} {
		if got := health(newPages(tt.source).Healthz(tt.options)); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
