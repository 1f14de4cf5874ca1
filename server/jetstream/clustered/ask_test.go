package clustered_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/quota"
)

// net is a cluster in which questions reach the askers of the other servers.
type net struct {
	view
	askers map[string]*clustered.Asker
	calls  *calls
}

// calls are the servers that were called.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, node)
}

func (c *calls) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.list)
}

// position is how far the servers know what was decided.
const position = 12

func (n *net) Position() uint64 { return position }

func (n *net) AwaitLeader(ctx context.Context, _ *clustered.Assignment) {
	if n.leader == "" {
		<-ctx.Done()
	}
}

func (n *net) Members() (list []clustered.Member) {
	for _, id := range []string{"a", "b", "c", "d"} {
		list = append(list, clustered.Member{Node: clustered.Node{ID: id}, Online: !n.down[id]})
	}
	return list
}

func (n *net) Call(ctx context.Context, node string, question []byte) ([]byte, error) {
	n.calls.add(node)
	if n.down[node] {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return n.askers[node].Answer(ctx, question)
}

// newNet returns the asker of server a; leads says who leads the stream.
func newNet(leader string, down map[string]bool, leads func(node string) bool) (*clustered.Asker, *calls) {
	made, askers := new(calls), map[string]*clustered.Asker{}
	for _, id := range []string{"a", "b", "c", "d"} {
		n := &net{view{self: id, leader: leader, peers: []string{"a", "b", "c"}, down: down}, askers, made}
		askers[id] = &clustered.Asker{Cluster: n, Local: func(_ context.Context, q *clustered.Question) *clustered.Reply {
			if q.Kind == clustered.KindUsage {
				return &clustered.Reply{Usage: quota.ByTier{1: {Consumers: 1}}}
			}
			if q.Position != position { // a server that is behind answers something else
				return &clustered.Reply{}
			}
			return &clustered.Reply{Led: leads(id), Streams: []*api.StreamInfo{{Config: &config.Stream{Name: id + fmt.Sprint(q.ID)}}}}
		}}
	}
	return askers["a"], made
}

// TestAskLeader finds who leads a stream, whether that is known or not, and waits for somebody to.
func TestAskLeader(t *testing.T) {
	s := &clustered.Assignment{ID: 7, Account: "A", Peers: []string{"a", "b", "c"}, Config: config.Stream{Name: "S"}}
	synctest.Test(t, func(t *testing.T) {
		asker, calls := newNet("b", nil, func(node string) bool { return node == "b" })
		r, err := asker.Leader(t.Context(), s, &clustered.Question{Kind: clustered.KindInfo})
		if err != nil || r.Streams[0].Config.Name != "b7" || calls.String() != "[b]" {
			t.Errorf("known: got %+v, %v after %v", r, err, calls)
		}
		asker, calls = newNet("", map[string]bool{"c": true}, func(node string) bool { return node == "b" })
		r, err = asker.Leader(t.Context(), s, &clustered.Question{Kind: clustered.KindInfo})
		if err != nil || r.Streams[0].Config.Name != "b7" || calls.String() != "[b]" {
			t.Errorf("not known: got %+v, %v after %v", r, err, calls)
		}
		begun := time.Now()
		asker, _ = newNet("", nil, func(node string) bool { return node == "a" && time.Since(begun) > time.Second })
		if r, err = asker.Leader(t.Context(), s, &clustered.Question{Kind: clustered.KindInfo}); err != nil || r.Streams[0].Config.Name != "a7" {
			t.Errorf("after a second: got %+v, %v", r, err)
		}
		asker, _ = newNet("", nil, func(string) bool { return false })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err = asker.Leader(ctx, s, &clustered.Question{Kind: clustered.KindInfo}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"S"`) {
			t.Errorf("nobody: got %v", err)
		}
	})
}

// TestAskAll takes the answers of those that give one in time.
func TestAskAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asker, _ := newNet("", nil, func(string) bool { return true })
		if got := asker.Online(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("online: got %v", got)
		}
		asker, _ = newNet("", map[string]bool{"d": true}, func(string) bool { return true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		replies := asker.All(ctx, []string{"a", "b", "d"}, &clustered.Question{Kind: clustered.KindUsage})
		if len(replies) != 2 || replies[0].Usage[1].Consumers != 1 {
			t.Errorf("got %d replies, want 2", len(replies))
		}
	})
}

// FuzzAnswer gives what other servers may send: it is answered or refused.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"kind":"info","id":7}`))
	f.Add([]byte(`{"kind":"configure","config":{"name":"S","num_replicas":3}}`))
	f.Add([]byte(`{"kind":1}`))
	f.Add([]byte(``))
	asker, _ := newNet("", nil, func(string) bool { return true })
	f.Fuzz(func(t *testing.T, question []byte) {
		answer, err := asker.Answer(context.Background(), question)
		if err != nil {
			return
		}
		var r clustered.Reply
		if err := json.Unmarshal(answer, &r); err != nil {
			t.Errorf("the answer %s: %v", answer, err)
		}
	})
}

// TestShow: the leader stands apart from the others; a stream on one server has no group.
func TestShow(t *testing.T) {
	since := time.Unix(1, 0).UTC()
	status := &clustered.Status{Leader: clustered.Node{ID: "idb", Name: "b"}, Since: since, Replicas: []clustered.Replica{
		{Node: clustered.Node{ID: "ida", Name: "a"}, Current: true, Active: time.Second},
		{Node: clustered.Node{ID: "idb", Name: "b"}, Current: true},
		{Node: clustered.Node{ID: "idc", Name: "c"}, Offline: true, Active: time.Hour, Lag: 5},
	}}
	one := &clustered.Status{Leader: clustered.Node{ID: "ida", Name: "a"}, Since: since, Replicas: []clustered.Replica{{Node: clustered.Node{ID: "ida", Name: "a"}}}}
	none := &clustered.Status{Replicas: status.Replicas[:1]}
	peers := []string{"ida", "idb", "idc"}
	moving := &clustered.Moving{Since: since, From: 1}
	waits := *one
	waits.Step, waits.Kind = "waiting", "catchup"
	const group = `"raft_group":"G",`
	const others = `"system_account":true,"traffic_account":"$SYS","replicas":[{"name":"a","current":true,"active":1000000000,"peer":"ida"}`
	for name, tt := range map[string]struct {
		a      *clustered.Assignment
		status *clustered.Status
		want   string
	}{
		"group": {
			&clustered.Assignment{Group: "G", Peers: peers}, status,
			`{"name":"C",` + group + `"leader":"b","leader_since":"1970-01-01T00:00:01Z",` + others +
				`,{"name":"c","current":false,"offline":true,"active":3600000000000,"lag":5,"peer":"idc"}]}`,
		},
		"alone":     {&clustered.Assignment{Group: "S-R1F-x", Peers: peers[:1]}, one, `{"name":"C","leader":"a"}`},
		"no leader": {&clustered.Assignment{Group: "G", Peers: peers}, none, `{"name":"C",` + group + others + `]}`},
		"moving": {
			&clustered.Assignment{Moving: moving}, &waits,
			`{"name":"C","leader":"a","desired":{"created":"1970-01-01T00:00:01Z","name":"C","origin":{"replicas":1},"status":{"description":"waiting","type":"catchup"}}}`,
		},
	} {
		got, err := json.Marshal(clustered.Show("C", tt.a, tt.status))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", name, got, err, tt.want)
		}
	}
	if all := clustered.ShowAll(status); len(all) != 3 || all[1].ID != "idb" {
		t.Errorf("advisories: got %+v", all)
	}
}
