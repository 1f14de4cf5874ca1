package jetstream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/clustered"
	"runnel/server/servertest"
)

// ask makes a request of a client and returns the answer.
func (w *world) ask(nc *nats.Conn, subject, body string) reply {
	w.t.Helper()
	m, err := nc.Request("$JS.API."+subject, []byte(body), servertest.Patience)
	if err != nil {
		w.t.Fatalf("%s %s: %v", subject, body, err)
	}
	var a struct {
		Error struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		w.t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	return reply{a.Error.Code, a.Error.Description, m.Data}
}

// must is ask for what has to succeed.
func (w *world) must(nc *nats.Conn, subject, body string, into any) {
	w.t.Helper()
	r := w.ask(nc, subject, body)
	if r.code != 0 {
		w.t.Fatalf("%s %s: %d %s", subject, body, r.code, r.text)
	}
	if into != nil {
		if err := json.Unmarshal(r.raw, into); err != nil {
			w.t.Fatalf("%s: %v", subject, err)
		}
	}
}

// answered is what the tests look at of an info.
type answered struct {
	Config  struct{ Name string }
	Cluster *struct {
		Name, Leader   string
		Group          string     `json:"raft_group"`
		Since          *time.Time `json:"leader_since"`
		System         bool       `json:"system_account"`
		TrafficAccount string     `json:"traffic_account"`
		Replicas       []struct {
			Name, Peer string
			Current    bool
			Active     int64
		}
	}
	Alternates []struct{ Name, Cluster string }
	State      struct {
		Messages  uint64
		Consumers int `json:"consumer_count"`
	}
	DidCreate bool     `json:"did_create"`
	Streams   []string `json:"streams"`
	Missing   []string
}

// TestClusterStreams makes streams and asks for them: one server answers, whoever it is.
func TestClusterStreams(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	var s answered
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, &s)
	c := s.Cluster
	if !s.DidCreate || c == nil || c.Name != "C" || c.Leader != "n1" || !strings.HasPrefix(c.Group, "S-R3F-") || c.Since == nil ||
		!c.System || c.TrafficAccount != "$SYS" || len(c.Replicas) != 2 || c.Replicas[0].Name != "n2" || c.Replicas[0].Peer != "node0002" || !c.Replicas[1].Current {
		t.Errorf("created: got %+v", c)
	}
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, &s)
	for i := range 4 { // on one server each, all over the cluster
		s = answered{}
		w.must(nc, fmt.Sprintf("STREAM.CREATE.R%d", i), fmt.Sprintf(`{"name":"R%d","subjects":["r.%d"]}`, i, i), &s)
		if c := s.Cluster; c == nil || c.Group != "" || c.Leader == "" || len(c.Replicas) != 0 {
			t.Errorf("created R%d: got %+v", i, c)
		}
	}
	w.must(nc, "STREAM.CREATE.M", `{"name":"M","mirror":{"name":"S"}}`, nil)
	for subject, want := range map[string][]string{
		"": {"M", "R0", "R1", "R2", "R3", "S"}, "r.2": {"R2"}, "s.x": {"S"}, "none": nil,
	} {
		var names answered
		w.must(nc, "STREAM.NAMES", fmt.Sprintf(`{"subject":%q}`, subject), &names)
		if !slices.Equal(names.Streams, want) {
			t.Errorf("names for %q: got %v, want %v", subject, names.Streams, want)
		}
	}
	for i := range 10 {
		if _, err := nc.Request("s.x", fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	var list struct {
		Streams []answered
		Missing []string
	}
	w.must(nc, "STREAM.LIST", "", &list)
	if len(list.Streams) != 6 || list.Streams[5].Config.Name != "S" || list.Streams[5].State.Messages != 10 || list.Missing != nil {
		t.Errorf("list: got %+v", list)
	}
	w.must(nc, "STREAM.INFO.S", "", &s)
	if len(s.Alternates) != 2 || s.Alternates[0].Name != "M" || s.Alternates[1].Cluster != "C" {
		t.Errorf("alternates: got %+v", s.Alternates)
	}
	var account struct{ Streams, Consumers, Storage int }
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	w.must(nc, "INFO", "", &account)
	if account.Streams != 6 || account.Consumers != 1 || account.Storage == 0 {
		t.Errorf("account: got %+v", account)
	}
	w.must(nc, "STREAM.DELETE.S", "", nil)
	if r := w.ask(nc, "STREAM.INFO.S", ""); r.code != 10059 {
		t.Errorf("info of a stream that is deleted: got %d %s", r.code, r.text)
	}
	if _, err := nc.Request("s.x", nil, servertest.Patience); err == nil {
		t.Error("somebody answers a publish to a stream that is deleted")
	}
}

// TestClusterRefusals: every request that cannot be granted gets one error.
func TestClusterRefusals(t *testing.T) {
	w := newWorld(t, 3)
	nc, sys := w.connect(), w.connectAs("s")
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	for _, tt := range []struct {
		nc            *nats.Conn
		subject, body string
		code          int
	}{
		{nc, "STREAM.CREATE.B", `{"name":"B","subjects":["b"],"num_replicas":5}`, 10005},
		{nc, "STREAM.CREATE.B", `{"name":"B","subjects":["b"],"num_replicas":6}`, 10052},
		{nc, "STREAM.CREATE.B", `{"name":"B","subjects":["b"],"num_replicas":-1}`, 10133},
		{nc, "STREAM.CREATE.B", `{"name":"B","subjects":["b"],"placement":{"preferred":"n1"}}`, 10052},
		{nc, "STREAM.CREATE.S", `{"name":"S","subjects":["x"]}`, 10058},
		{nc, "STREAM.UPDATE.B", `{"name":"B","subjects":["b"]}`, 10059},
		{nc, "STREAM.INFO.B", "", 10059},
		{nc, "STREAM.DELETE.B", "", 10059},
		{nc, "STREAM.PURGE.B", "", 10059},
		{nc, "STREAM.MSG.GET.B", `{"seq":1}`, 10059},
		{nc, "CONSUMER.INFO.B.c", "", 10059},
		{nc, "CONSUMER.INFO.S.x", "", 10014},
		{nc, "CONSUMER.CREATE.S.d", `{"stream_name":"S","config":{"durable_name":"d","ack_policy":"explicit","num_replicas":5}}`, 10126},
		{nc, "STREAM.LEADER.STEPDOWN.B", "", 10059},
		{nc, "STREAM.LEADER.STEPDOWN.S", `{"placement":{"preferred":"zz"}}`, 10005},
		{nc, "STREAM.LEADER.STEPDOWN.S", `{"placement":{"preferred":"n1"}}`, 10005},
		{nc, "STREAM.LEADER.STEPDOWN.S", `{"placement":{"tags":["rack9"]}}`, 10005},
		{nc, "CONSUMER.LEADER.STEPDOWN.S.x", "", 10014},
		{nc, "STREAM.PEER.REMOVE.S", `{"peer":"zz"}`, 10040},
		{nc, "STREAM.PEER.REMOVE.S", "", 10003},
		{nc, "STREAM.PEER.REMOVE.S", `{"peer":"n2"}`, 10075},
		{nc, "STREAM.PEER.EVACUATE.S", `{"peer":"n2"}`, 10075},
		{nc, "STREAM.PEER.REMOVE.B", `{"peer":"n2"}`, 10059},
		{nc, "CONSUMER.PEER.REMOVE.S.c", `{"peer":"n2"}`, 10075},
		{nc, "CONSUMER.PEER.REMOVE.S.c", `{"peer":"zz"}`, 10040},
		{nc, "STREAM.CANCEL_MOVE.S", "", 10129},
		{nc, "STREAM.CANCEL_MOVE.B", "", 10059},
		{nc, "STREAM.RESTORE.S", `{"config":{"name":"S"},"state":{}}`, 10130},
		{nc, "STREAM.RESTORE.B", `{"config":{"name":"B","subjects":["b"],"num_replicas":5},"state":{}}`, 10005},
		{sys, "INFO", "", 10039},
		{sys, "STREAM.INFO.S", "", 10039},
		{sys, "META.LEADER.STEPDOWN", `{"placement":{"preferred":"zz"}}`, 10005},
		{sys, "META.LEADER.STEPDOWN", `{"placement":{"preferred":"n1"}}`, 10005},
		{sys, "META.LEADER.STEPDOWN", `{"placement":{"cluster":"Q"}}`, 10005},
		{sys, "SERVER.REMOVE", `{"peer":"zz"}`, 10044},
		{sys, "SERVER.REMOVE", `{}`, 10003},
		{sys, "SERVER.EVACUATE", `{"peer":"zz"}`, 10044},
		{sys, "ACCOUNT.STREAM.MOVE.A.S", `{"server":"n1"}`, 10005},
		{sys, "ACCOUNT.STREAM.MOVE.A.B", `{"server":"n1"}`, 10059},
		{sys, "ACCOUNT.STREAM.MOVE.Z.S", `{"server":"n1"}`, 10035},
		{sys, "ACCOUNT.STREAM.CANCEL_MOVE.A.S", "", 10129},
		{sys, "META.RESCUE", "{}", 10003},
		{sys, "META.RESCUE", `{"quorum_needed":1}`, 10224},
	} {
		if r := w.ask(tt.nc, tt.subject, tt.body); r.code != tt.code {
			t.Errorf("%s %s: got %d %s, want %d", tt.subject, tt.body, r.code, r.text, tt.code)
		}
	}
	for _, subject := range []string{"$JS.API.NOPE", "$JS.API.DIRECT.GET.S", "$JS.API.CONSUMER.MSG.NEXT.S.none", "$JS.API.CONSUMER.MSG.NEXT.B.c", "$JS.API.META.LEADER.STEPDOWN"} {
		if m, err := nc.Request(subject, nil, servertest.Patience); err != nats.ErrNoResponders {
			t.Errorf("%s: got %v, %v, want no responders", subject, m, err)
		}
	}
}

// TestClusterOneAnswer: of all requests that the servers get there is one answer.
func TestClusterOneAnswer(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3,"allow_direct":true}`, nil)
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	answers, err := nc.SubscribeSync("answers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request("s.x", []byte("m"), servertest.Patience); err != nil {
		t.Fatal(err)
	}
	for _, lead := range []int{0, 1, 2} {
		w.lead(lead)
		for _, leader := range []int{0, 1, 2} {
			w.group("S").elect(leader)
			for _, subject := range []string{
				"INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.S", "STREAM.INFO.none", "CONSUMER.NAMES.S", "CONSUMER.LIST.S", "CONSUMER.INFO.S.c",
				"CONSUMER.INFO.S.none", "STREAM.CREATE.S", "STREAM.MSG.GET.S", "DIRECT.GET.S.s.x",
			} {
				if err := nc.PublishRequest("$JS.API."+subject, "answers", nil); err != nil {
					t.Fatal(err)
				}
				if _, err := answers.NextMsg(servertest.Patience); err != nil {
					t.Fatalf("%s: %v", subject, err)
				}
			}
			w.must(nc, "STREAM.INFO.S", "", nil) // all that was asked before is answered
			if m, err := answers.NextMsg(time.Millisecond); err == nil {
				t.Fatalf("n%d leads all, n%d the stream: a second answer %s", lead+1, leader+1, m.Data)
			}
			<-time.After(clustered.CrossTime + 100*time.Millisecond) // what has just been asked may be answered once more by who answers from now on
		}
	}
}

// contains checks that a text has parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %s, want %s in it", text, part)
		}
	}
}
