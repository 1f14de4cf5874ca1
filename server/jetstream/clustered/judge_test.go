package clustered_test

import (
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// view is what one server knows, as a test says it.
type view struct {
	clustered.Cluster
	self, meta, leader string // nodes; meta and leader are empty for none
	peers              []string
	down               map[string]bool
	behind             bool // the server that leads the meta group does not know yet all that was decided
}

func (v *view) Self() clustered.Node { return clustered.Node{ID: v.self} }
func (v *view) Leads() bool          { return v.meta == v.self && !v.behind }
func (v *view) MetaLeader() string {
	if v.down[v.meta] {
		return ""
	}
	return v.meta
}

func (v *view) Majority(a *clustered.Assignment) bool {
	reached := 0
	for _, p := range a.Peers {
		if p == v.self || v.Online(p) {
			reached++
		}
	}
	return reached > len(a.Peers)/2
}
func (v *view) Speaks() bool { return v.self == "a" }
func (v *view) Level() int   { return 1 }
func (v *view) Stream(account, name string) (*clustered.Assignment, bool) {
	if account != "A" || name != "S" {
		return nil, false
	}
	return &clustered.Assignment{ID: 7, Account: account, Config: config.Stream{Name: name}, Peers: v.peers}, true
}
func (v *view) StreamLeader(*clustered.Assignment) string { return v.leader }
func (v *view) Online(node string) bool                   { return !v.down[node] }

// verdicts are those of servers a to d: a speaks when nobody leads, and a, b, c have the stream.
type verdicts [4]clustered.Verdict

// TestJudgeOutdated: who leads carries out what was sent before that was known only if it changes nothing.
func TestJudgeOutdated(t *testing.T) {
	v := &view{self: "a", meta: "a", leader: "a", peers: []string{"a", "b", "c"}}
	for endpoint, want := range map[api.Endpoint]clustered.Verdict{
		api.CallStreamPurge: clustered.Unavailable, api.CallConsumerDelete: clustered.Unavailable, api.CallStreamDelete: clustered.Unavailable,
		api.CallStreamInfo: clustered.Answer, api.CallStreamMessageGet: clustered.Answer, api.CallStreamNames: clustered.Answer,
	} {
		for _, outdated := range []bool{false, true} {
			got, _ := clustered.Judge(v, clustered.Case{Endpoint: endpoint, Account: "A", Stream: "S", Led: true, Outdated: outdated})
			if !outdated && got != clustered.Answer || outdated && got != want {
				t.Errorf("%s, outdated %v: got %v", endpoint, outdated, got)
			}
		}
	}
}

// TestJudge goes through what may be led by whom: one server at most answers, and one refuses when nobody can.
func TestJudge(t *testing.T) {
	const (
		silent, answer, wait   = clustered.Silent, clustered.Answer, clustered.Wait
		unavailable, unreached = clustered.Unavailable, clustered.Unreachable
	)
	all := verdicts{answer, answer, answer, answer}
	down := func(nodes ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range nodes {
			m[n] = true
		}
		return m
	}
	tests := []struct {
		name                 string
		endpoint             api.Endpoint
		stream, meta, leader string
		down                 map[string]bool
		late                 bool
		want                 verdicts
	}{
		{"create", api.CallStreamCreate, "S", "b", "c", nil, false, verdicts{silent, answer, silent, silent}},
		{"names", api.CallStreamNames, "", "d", "", nil, false, verdicts{silent, silent, silent, answer}},
		{"names without a leader", api.CallStreamNames, "", "", "b", nil, false, verdicts{wait, wait, wait, wait}},
		{"names without a leader for long", api.CallStreamNames, "", "", "b", nil, true, verdicts{unavailable, silent, silent, silent}},
		{"peer remove", api.CallStreamPeerRemove, "S", "d", "a", nil, false, verdicts{silent, silent, silent, answer}},
		{"system", api.CallServerRemove, "", "c", "a", nil, false, verdicts{silent, silent, answer, silent}},
		{"unknown subject", api.CallUnknown, "", "c", "a", nil, false, verdicts{silent, silent, answer, silent}},
		{"rescue", api.CallMetaRescue, "", "c", "a", nil, false, all},
		{"info", api.CallStreamInfo, "S", "d", "b", nil, false, verdicts{silent, answer, silent, silent}},
		{"info without a meta group", api.CallStreamInfo, "S", "", "b", nil, false, verdicts{silent, answer, silent, silent}},
		{"info without a meta group for long", api.CallStreamInfo, "S", "", "b", nil, true, verdicts{silent, answer, silent, silent}},
		{"no leader", api.CallConsumerInfo, "S", "d", "", nil, false, verdicts{wait, wait, wait, wait}},
		{"no leader for long", api.CallConsumerInfo, "S", "d", "", nil, true, verdicts{silent, silent, silent, unavailable}},
		{"no leaders at all", api.CallStreamPurge, "S", "", "", nil, false, verdicts{wait, wait, wait, silent}},
		{"no leaders at all for long", api.CallStreamPurge, "S", "", "", nil, true, verdicts{unavailable, silent, silent, silent}},
		{"a leader that is gone", api.CallStreamInfo, "S", "a", "b", down("b"), false, verdicts{wait, answer, wait, silent}},
		{"a leader alone", api.CallStreamInfo, "S", "d", "b", down("a", "c"), false, verdicts{silent, wait, silent, silent}},
		{"a leader alone for long", api.CallStreamInfo, "S", "d", "b", down("a", "c"), true, verdicts{silent, unavailable, silent, silent}},
		{"nobody but a leader for long", api.CallStreamPurge, "S", "", "b", down("a", "c", "d"), true, verdicts{silent, unavailable, silent, silent}},
		{"all are gone", api.CallStreamInfo, "S", "d", "", down("a", "b", "c"), false, verdicts{wait, wait, wait, unreached}},
		{"no such stream", api.CallStreamInfo, "X", "c", "", nil, false, verdicts{silent, silent, answer, silent}},
		{"no such stream, no leader", api.CallStreamInfo, "X", "", "", nil, false, verdicts{wait, wait, wait, wait}},
		{"no such stream, no leader for long", api.CallStreamInfo, "X", "", "", nil, true, verdicts{unavailable, silent, silent, silent}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i, self := range []string{"a", "b", "c", "d"} {
				v := &view{self: self, meta: tt.meta, leader: tt.leader, peers: []string{"a", "b", "c"}, down: tt.down}
				c := clustered.Case{Endpoint: tt.endpoint, Account: "A", Stream: tt.stream, Led: tt.stream == "S" && tt.leader == self, Late: tt.late}
				if got, _ := clustered.Judge(v, c); got != tt.want[i] {
					t.Errorf("%s: got %d, want %d", self, got, tt.want[i])
				}
			}
		})
	}
}

// TestJudgeBy: who may have to answer in the place of another server knows who that is.
func TestJudgeBy(t *testing.T) {
	for _, tt := range []struct {
		name         string
		endpoint     api.Endpoint
		stream       string
		meta, leader string
		want         [4]string
	}{
		{"meta", api.CallStreamNames, "", "b", "", [4]string{"b", "", "b", "b"}},
		{"meta, nobody", api.CallStreamNames, "", "", "", [4]string{}},
		{"stream", api.CallConsumerInfo, "S", "d", "b", [4]string{"b", "", "b", "b"}},
		{"stream, without a part in it", api.CallConsumerInfo, "S", "a", "b", [4]string{"b", "", "b", ""}},
		{"stream, nobody", api.CallConsumerInfo, "S", "a", "", [4]string{}},
		{"no such stream", api.CallStreamInfo, "X", "c", "", [4]string{"c", "c", "", "c"}},
		{"everybody", api.CallMetaRescue, "", "c", "", [4]string{}},
	} {
		for i, self := range []string{"a", "b", "c", "d"} {
			v := &view{self: self, meta: tt.meta, leader: tt.leader, peers: []string{"a", "b", "c"}}
			c := clustered.Case{Endpoint: tt.endpoint, Account: "A", Stream: tt.stream, Led: tt.stream == "S" && tt.leader == self}
			if verdict, by := clustered.Judge(v, c); by != tt.want[i] || by != "" && verdict != clustered.Silent {
				t.Errorf("%s: %s says %d, answered by %q, want %q", tt.name, self, verdict, by, tt.want[i])
			}
		}
	}
}

// TestJudgeLater goes through requests that were left to a server, which has gone since, or leads no more.
func TestJudgeLater(t *testing.T) {
	const silent, answer, wait, unavailable = clustered.Silent, clustered.Answer, clustered.Wait, clustered.Unavailable
	down := map[string]bool{"b": true}
	for _, tt := range []struct {
		name         string
		endpoint     api.Endpoint
		stream       string
		meta, leader string
		late         bool
		want         verdicts // b is not asked
	}{
		{"look, nobody yet", api.CallConsumerInfo, "S", "d", "b", false, verdicts{wait, silent, wait, wait}},
		{"look, a new leader", api.CallConsumerInfo, "S", "d", "c", false, verdicts{silent, silent, answer, silent}},
		{"look, nobody for long", api.CallConsumerInfo, "S", "d", "", true, verdicts{silent, silent, silent, unavailable}},
		{"change, nobody yet", api.CallConsumerCreate, "S", "d", "b", false, verdicts{wait, silent, wait, unavailable}},
		{"change, a new leader", api.CallStreamPurge, "S", "d", "c", false, verdicts{wait, silent, wait, unavailable}},
		{"change, both leaders are gone", api.CallStreamPurge, "S", "b", "b", false, verdicts{unavailable, silent, wait, wait}},
		{"change, for long", api.CallStreamPurge, "S", "d", "", true, verdicts{silent, silent, silent, unavailable}},
		{"meta, look", api.CallStreamNames, "", "b", "", false, verdicts{wait, silent, wait, wait}},
		{"meta, look, a new leader", api.CallStreamNames, "", "c", "", false, verdicts{silent, silent, answer, silent}},
		{"meta, look, nobody for long", api.CallStreamNames, "", "b", "", true, verdicts{unavailable, silent, silent, silent}},
		{"meta, change", api.CallStreamDelete, "S", "b", "", false, verdicts{unavailable, silent, wait, wait}},
		{"meta, change, a new leader", api.CallStreamCreate, "S", "c", "", false, verdicts{wait, silent, unavailable, wait}},
	} {
		for i, self := range []string{"a", "b", "c", "d"} {
			v := &view{self: self, meta: tt.meta, leader: tt.leader, peers: []string{"a", "b", "c"}, down: down}
			c := clustered.Case{
				Endpoint: tt.endpoint, Account: "A", Stream: tt.stream, Led: tt.stream == "S" && tt.leader == self, Late: tt.late, Orphaned: true,
			}
			if got, _ := clustered.Judge(v, c); self != "b" && got != tt.want[i] {
				t.Errorf("%s: %s: got %d, want %d", tt.name, self, got, tt.want[i])
			}
		}
	}
	for name, tt := range map[string]struct {
		leader string
		late   bool
		want   clustered.Verdict
	}{
		"nobody leads":          {"", false, wait},
		"nobody leads for long": {"", true, unavailable},
		"another one leads":     {"c", false, unavailable},
		"with a majority again": {"b", false, answer},
	} {
		v := &view{self: "b", meta: "d", leader: tt.leader, peers: []string{"a", "b", "c"}}
		c := clustered.Case{Endpoint: api.CallConsumerInfo, Account: "A", Stream: "S", Led: tt.leader == "b", Late: tt.late, Taken: true}
		if got, _ := clustered.Judge(v, c); got != tt.want {
			t.Errorf("taken, %s: got %d, want %d", name, got, tt.want)
		}
	}
}

// TestRefusal: who is refused learns why.
func TestRefusal(t *testing.T) {
	const answer, unavailable, unreached = clustered.Answer, clustered.Unavailable, clustered.Unreachable
	for v, code := range map[clustered.Verdict]int{unavailable: 10008, unreached: 10118} {
		if e := v.Refusal(); e == nil || e.ErrCode != code {
			t.Errorf("verdict %d: got %v, want %d", v, e, code)
		}
	}
	if e := answer.Refusal(); e != nil {
		t.Errorf("an answer is refused with %v", e)
	}
}

// TestJudgeElected: a server that has just been elected waits until it can answer, and refuses if that takes too long.
func TestJudgeElected(t *testing.T) {
	for _, tt := range []struct {
		name         string
		endpoint     api.Endpoint
		stream       string
		late, orphan bool
		want         verdicts
	}{
		{"meta", api.CallStreamNames, "", false, false, verdicts{clustered.Silent, clustered.Silent, clustered.Wait, clustered.Silent}},
		{"meta, left by another", api.CallStreamNames, "", false, true, verdicts{clustered.Silent, clustered.Silent, clustered.Wait, clustered.Silent}},
		{"meta, for long", api.CallStreamNames, "", true, false, verdicts{clustered.Silent, clustered.Silent, clustered.Unavailable, clustered.Silent}},
		{"stream", api.CallConsumerInfo, "S", false, false, verdicts{clustered.Silent, clustered.Wait, clustered.Silent, clustered.Silent}},
		{"stream, for long", api.CallConsumerInfo, "S", true, false, verdicts{clustered.Silent, clustered.Unavailable, clustered.Silent, clustered.Silent}},
	} {
		for i, self := range []string{"a", "b", "c", "d"} {
			v := &view{self: self, meta: "c", leader: "b", peers: []string{"a", "b", "c"}, behind: true}
			c := clustered.Case{Endpoint: tt.endpoint, Account: "A", Stream: tt.stream, Late: tt.late, Orphaned: tt.orphan}
			if got, _ := clustered.Judge(v, c); got != tt.want[i] {
				t.Errorf("%s: %s: got %d, want %d", tt.name, self, got, tt.want[i])
			}
		}
	}
}
