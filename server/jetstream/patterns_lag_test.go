package jetstream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// own asks for something below $RUNNEL.API, decodes the answer into v unless that is nil, and returns the code of its error.
func own(t *testing.T, nc *nats.Conn, subject, body string, v any) int {
	t.Helper()
	m, err := nc.Request("$RUNNEL.API."+subject, []byte(body), servertest.Patience)
	if err != nil {
		t.Fatalf("%s %s: %v", subject, body, err)
	}
	var a struct {
		Type  string
		Error struct {
			Code int `json:"err_code"`
		}
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	if !strings.HasPrefix(a.Type, "io.runnel.api.v1.") && a.Error.Code != 10003 {
		t.Errorf("%s: got type %q", subject, a.Type)
	}
	if v != nil {
		if err := json.Unmarshal(m.Data, v); err != nil {
			t.Fatalf("%s: %v in %s", subject, err, m.Data)
		}
	}
	return a.Error.Code
}

// TestPatternLag watches a consumer fall behind and catch up.
func TestPatternLag(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.consumer("S", "c", `"ack_policy":"explicit","max_deliver":5`)
	s.consumer("S", "noted", `"ack_policy":"explicit","metadata":{"runnel.retry":"fixed,delay=1h"}`)
	lag := func(consumer string) (l api.ConsumerLag) {
		t.Helper()
		if code := own(t, s.conn, "CONSUMER.LAG.S."+consumer, "", &l); code != 0 {
			t.Fatalf("lag of %s: got error %d", consumer, code)
		}
		return l
	}
	if l := lag("c"); l.Stream != "S" || l.Consumer != "c" || l.Messages != 0 || l.Seconds != 0 || l.DrainSeconds == nil || *l.DrainSeconds != 0 || l.Time.IsZero() {
		t.Errorf("at first: got %+v", l)
	}
	begun := time.Now()
	s.many(10, func(int) string { return "s.a" })
	servertest.Eventually(t, "some time to pass", func() bool { return lag("c").Seconds > 0.05 })
	l := lag("c")
	if l.Messages != 10 || l.Undelivered.Messages != 10 || l.Undelivered.Since != api.SinceStored || l.Unacked.Messages != 0 || l.Unacked.Oldest != nil ||
		l.Seconds > time.Since(begun).Seconds()+1 || l.Undelivered.Seconds != l.Seconds || l.DrainSeconds != nil ||
		l.Stalled == nil || l.Stalled.Reason != api.StalledNoRequests {
		t.Errorf("published: got %+v", l)
	}
	messages := s.next("S", "c", 4)
	for _, m := range messages[:2] {
		s.acknowledge(m, "+ACK")
	}
	if l = lag("c"); l.Messages != 8 || l.Undelivered.Messages != 6 || l.Unacked.Messages != 2 || l.Unacked.Since != api.SinceStored ||
		l.Served <= 0 || l.DrainSeconds == nil || *l.DrainSeconds < 1 {
		t.Errorf("partly processed: got %+v, drained in %v", l, l.DrainSeconds)
	}
	s.next("S", "noted", 4)
	if l = lag("noted"); l.Unacked.Messages != 4 || l.Unacked.Since != api.SinceDelivered || l.Unacked.Seconds >= l.Seconds {
		t.Errorf("where first deliveries are known: got %+v", l)
	}
	for subject, code := range map[string]int{
		"CONSUMER.LAG.S.none": 10014, "CONSUMER.LAG.none.c": 10059, "CONSUMER.LAG.S": 10003, "NOPE": 10003, "STREAM.INFO.S": 10003,
	} {
		if got := own(t, s.conn, subject, "", nil); got != code {
			t.Errorf("%s: got error %d, want %d", subject, got, code)
		}
	}
}

// lags asks for the lags of an account, and returns the consumers in their order.
func lags(t *testing.T, nc *nats.Conn, body string) (names []string, answer api.LagAnswer) {
	t.Helper()
	if code := own(t, nc, "LAG", body, &answer); code != 0 {
		t.Fatalf("LAG %s: got error %d", body, code)
	}
	for _, l := range answer.Consumers {
		names = append(names, l.Stream+" "+l.Consumer)
	}
	return names, answer
}

// TestPatternLagOfAll asks for the consumers that are furthest behind.
func TestPatternLagOfAll(t *testing.T) {
	s := newSite(t, "")
	for _, stream := range []string{"A", "B"} {
		s.stream(stream, fmt.Sprintf(`"subjects":["%s.>"]`, stream))
		for _, consumer := range []string{"x", "y"} {
			s.consumer(stream, consumer, "")
		}
		s.many(3, func(int) string { return stream + ".a" })
	}
	for _, m := range s.next("A", "y", 3) {
		s.acknowledge(m, "+ACK")
	}
	names, answer := lags(t, s.conn, "")
	if want := []string{"A x", "B x", "B y", "A y"}; !slices.Equal(names, want) || answer.Total != 4 || answer.Missing != nil {
		t.Errorf("got %v, %+v, want %v", names, answer.Paged, want)
	}
	for body, want := range map[string]string{
		`{"limit":1,"offset":1}`: "[B x]", `{"stream":"B"}`: "[B x B y]", `{"offset":9}`: "[]", `{"offset":-1,"limit":-1,"stream":"A"}`: "[A x A y]",
	} {
		if names, _ := lags(t, s.conn, body); fmt.Sprint(names) != want {
			t.Errorf("%s: got %v, want %s", body, names, want)
		}
	}
	for body, code := range map[string]int{`{"stream":"C"}`: 10059, `{"streams":"A"}`: 10025, `x`: 10025} {
		if got := own(t, s.conn, "LAG", body, nil); got != code {
			t.Errorf("%s: got error %d, want %d", body, got, code)
		}
	}
}

// TestPatternLagCluster asks in a cluster, whoever leads, and of streams that nobody leads.
func TestPatternLagCluster(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	for _, stream := range []string{"A", "B", "C"} {
		w.must(nc, "STREAM.CREATE."+stream, fmt.Sprintf(`{"name":%q,"subjects":["%s.>"],"num_replicas":3}`, stream, stream), nil)
		w.must(nc, "CONSUMER.CREATE."+stream+".c", fmt.Sprintf(`{"stream_name":%q,"config":{"durable_name":"c","ack_policy":"explicit"}}`, stream), nil)
		if _, err := nc.Request(stream+".x", nil, servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	for lead := range 3 {
		w.group("A").elect(lead)
		w.group("B").elect((lead + 1) % 3)
		w.lead((lead + 2) % 3)
		w.until("all to be told of", func() bool {
			names, answer := lags(t, nc, "")
			return slices.Equal(names, []string{"A c", "B c", "C c"}) && answer.Total == 3 && answer.Missing == nil
		})
		var l api.ConsumerLag
		if code := own(t, nc, "CONSUMER.LAG.A.c", "", &l); code != 0 || l.Messages != 1 {
			t.Errorf("n%d leads: got error %d, %+v", lead+1, code, l)
		}
		if names, _ := lags(t, nc, `{"limit":1,"offset":2}`); !slices.Equal(names, []string{"C c"}) {
			t.Errorf("the last page: got %v", names)
		}
	}
	w.group("B").elect(nobody)
	w.until("a stream to be missing", func() bool {
		names, answer := lags(t, nc, "")
		return slices.Equal(names, []string{"A c", "C c"}) && slices.Equal(answer.Missing, []string{"B"})
	})
	var e api.Explanation
	if code := own(t, nc, "CONSUMER.EXPLAIN.B.c", "", &e); code != 0 || e.Delivers || len(e.Reasons) != 1 || e.Reasons[0].Code != api.ReasonNoLeader {
		t.Errorf("explain without a leader: got error %d, %+v", code, e)
	}
	if code := own(t, nc, "CONSUMER.LAG.B.c", "", nil); code != 10008 {
		t.Errorf("lag without a leader: got error %d", code)
	}
}

// TestPatternExplain asks why nothing is delivered, at each turn that a consumer takes.
func TestPatternExplain(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.consumer("S", "c", `"ack_policy":"explicit","max_ack_pending":1,"filter_subject":"s.a"`)
	explain := func(want string, delivers bool) {
		t.Helper()
		var e api.Explanation
		if code := own(t, s.conn, "CONSUMER.EXPLAIN.S.c", "", &e); code != 0 || len(e.Reasons) == 0 {
			t.Fatalf("got error %d, %+v", code, e)
		}
		if r := e.Reasons[0]; r.Code != want || e.Delivers != delivers || r.Text == "" || e.Lag == nil || e.Lag.Consumer != "c" {
			t.Errorf("got %+v, delivers %v, want %s, %v", r, e.Delivers, want, delivers)
		}
	}
	explain(api.ReasonEmptyStream, true)
	s.stores(1, "s.b", "x")
	explain(api.ReasonNoMatch, true)
	s.stores(2, "s.a", "x")
	s.stores(3, "s.a", "x")
	explain(api.StalledNoRequests, false)
	m := s.next("S", "c", 1)[0]
	explain(api.StalledAckPending, false)
	s.must("CONSUMER.PAUSE.S.c", fmt.Sprintf(`{"pause_until":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)), nil)
	explain(api.StalledPaused, false)
	s.must("CONSUMER.PAUSE.S.c", `{}`, nil)
	s.acknowledge(m, "+ACK")
	m = s.next("S", "c", 1)[0]
	explain(api.StalledBackoff, false)
	s.acknowledge(m, "+ACK")
	explain(api.ReasonCaughtUp, true)
	if code := own(t, s.conn, "CONSUMER.EXPLAIN.S.none", "", nil); code != 10014 {
		t.Errorf("no consumer: got error %d", code)
	}
}
