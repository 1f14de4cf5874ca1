package monitor_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/monitor"
)

// newJetStream is a server with JetStream: account A has two streams and a mirror, B has none.
func newJetStream() *fakeSource {
	s := newSource()
	s.server.Identity.JetStream, s.server.Identity.Domain = true, "hub"
	s.server.Series = monitor.Series{Streams: 10, Consumers: 10}
	s.js = &monitor.JetStream{
		Config: monitor.JetStreamConfig{
			MaxMemoryBytes: 64 << 20, MaxStorageBytes: 1 << 30, StoreDir: "/data", Sync: "always", SyncAlways: true,
			Domain: "hub", CompressOK: true, Encrypted: true, UniqueTag: "az", Strict: true,
		},
		Limits: monitor.JetStreamLimits{MaxAckPending: 100, MaxDuplicateWindow: 10 * time.Minute, DefaultMaxConsumers: 1000},
		Stats: monitor.JetStreamStats{
			MemoryBytes: 7, StorageBytes: 760, ReservedMemoryBytes: 1000, ReservedStorageBytes: 2000, Accounts: 2,
			API: monitor.JetStreamAPIStats{Level: 5, Total: 14, Errors: 2},
		},
		Streams: 3, Consumers: 2, LedStreams: 3, LedConsumers: 2, Messages: 21, Bytes: 767,
	}
	noLimit := ^uint64(0)
	s.jsAccounts = []monitor.JetStreamAccount{
		{Name: "B", ID: "B", JetStreamStats: monitor.JetStreamStats{ReservedMemoryBytes: noLimit, ReservedStorageBytes: noLimit}},
		{Name: "team a", ID: "A", JetStreamStats: monitor.JetStreamStats{
			MemoryBytes: 7, StorageBytes: 760, ReservedMemoryBytes: 1 << 20, ReservedStorageBytes: 10 << 20,
			API: monitor.JetStreamAPIStats{Total: 14, Errors: 2},
		}},
	}
	s.jsStreams = map[string][]monitor.StreamDetail{"A": fakeStreams()}
	return s
}

func fakeStreams() []monitor.StreamDetail {
	alone := &api.Cluster{Leader: "srv1"}
	return []monitor.StreamDetail{
		{
			Name: "ORDERS", Created: epoch.Add(-time.Hour), Cluster: alone,
			Config: &config.Stream{Name: "ORDERS", Subjects: []string{"orders.>"}, MaxBytes: 1000},
			State: api.StreamState{
				Messages: 10, Bytes: 380, FirstSequence: 3, FirstTime: epoch.Add(-time.Minute), LastSequence: 12,
				LastTime: epoch.Add(-time.Second), SubjectCount: 1, Consumers: 2,
			},
			Lost:      2,
			Consumers: fakeConsumers(),
		},
		{
			Name: "COPY", Created: epoch.Add(-time.Minute), Cluster: alone, Config: &config.Stream{Name: "COPY"},
			State:  api.StreamState{Messages: 10, Bytes: 380, FirstSequence: 1, LastSequence: 10},
			Mirror: &api.SourceInfo{Name: "ORDERS", Lag: 4, Active: 50 * time.Millisecond},
		},
		{
			Name: "BOTH", Created: epoch, Cluster: alone, Config: &config.Stream{Name: "BOTH"},
			State:   api.StreamState{Messages: 1, Bytes: 7, FirstSequence: 1, LastSequence: 1},
			Sources: []*api.SourceInfo{{Name: "X", Lag: 9, Active: api.Never}, {Name: "Y", Lag: 2, Active: time.Second}},
			Sync:    "os",
		},
	}
}

func fakeConsumers() []monitor.ConsumerDetail {
	delivered, oldest, until := epoch.Add(-2*time.Second), epoch.Add(-90*time.Second), epoch.Add(time.Minute)
	return []monitor.ConsumerDetail{
		{
			ConsumerInfo: api.ConsumerInfo{
				Stream: "ORDERS", Name: "work", Created: epoch.Add(-time.Minute), AckPending: 2, Redelivered: 1, Waiting: 3, Pending: 8,
				Delivered: api.Position{Consumer: 4, Stream: 4, LastActive: &delivered}, AckFloor: api.Position{Consumer: 2, Stream: 2},
				Lag:     &api.Lag{Messages: 10, OldestUnacked: &oldest, Age: 90 * time.Second, Served: 2.5},
				Stalled: &api.Stalled{Reason: api.StalledPaused, Until: &until}, Now: epoch,
			},
			Config: &config.Consumer{Durable: "work"},
		},
		{
			ConsumerInfo: api.ConsumerInfo{Stream: "ORDERS", Name: "audit", Created: epoch, PushBound: true, Now: epoch},
			Config:       &config.Consumer{Durable: "audit", DeliverSubject: "audit"},
		},
	}
}

// outline says what of accounts and streams a page lists.
func outline(page *monitor.Jsz) string {
	var b strings.Builder
	for _, a := range page.Details {
		fmt.Fprintf(&b, "%s(", a.ID)
		for i, s := range a.Streams {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(s.Name)
			if s.Config != nil {
				b.WriteByte('*')
			}
			for _, c := range s.Consumers {
				b.WriteString("," + c.Name)
				if c.Config != nil {
					b.WriteByte('*')
				}
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

func TestJszOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options monitor.JszOptions
		want    string
	}{
		{"figures only", monitor.JszOptions{}, ""},
		{"config alone", monitor.JszOptions{Config: true}, ""},
		{"accounts", monitor.JszOptions{Accounts: true}, "A()B()"},
		{"streams", monitor.JszOptions{Streams: true}, "A(BOTH COPY ORDERS)B()"},
		{"streams with config", monitor.JszOptions{Streams: true, Config: true}, "A(BOTH* COPY* ORDERS*)B()"},
		{"consumers", monitor.JszOptions{Consumers: true}, "A(BOTH COPY ORDERS,audit,work)B()"},
		{"all", monitor.JszOptions{Consumers: true, Config: true}, "A(BOTH* COPY* ORDERS*,audit*,work*)B()"},
		{"one account", monitor.JszOptions{Account: "B", Streams: true}, "B()"},
		{"one account without a word", monitor.JszOptions{Account: "A"}, "A()"},
		{"one account is not in a window", monitor.JszOptions{Account: "A", Offset: 5}, "A()"},
		{"no such account", monitor.JszOptions{Account: "Z", Streams: true}, ""},
		{"window", monitor.JszOptions{Accounts: true, Offset: 1, Limit: 1}, "B()"},
		{"window beyond the end", monitor.JszOptions{Accounts: true, Offset: 9}, ""},
		{"window from before the start", monitor.JszOptions{Accounts: true, Offset: -9, Limit: 1}, "A()"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page, err := newPages(newJetStream()).Jsz(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(page); got != tt.want || page.Total != 2 || page.Streams != 3 || page.Disabled {
				t.Errorf("got %q of %d, %d streams, disabled %v; want %q of 2, 3 streams", got, page.Total, page.Streams, page.Disabled, tt.want)
			}
		})
	}
}

// TestJszAsksForLittle checks that a page does not have the source collect what it does not show.
func TestJszAsksForLittle(t *testing.T) {
	for _, tt := range []struct {
		target string
		want   []monitor.StreamQuery
	}{
		{"/jsz?accounts=1", nil},
		{"/varz", nil},
		{"/healthz", nil},
		{"/metrics", []monitor.StreamQuery{{Consumers: true, Dead: true}, {Consumers: true, Dead: true}}},
		{"/jsz?streams=1&limit=1", []monitor.StreamQuery{{Subjects: true, Dead: true}}},
		{"/jsz?acc=A&consumers=1&config=1", []monitor.StreamQuery{{Consumers: true, Config: true, Subjects: true, Dead: true}}},
		{"/healthz?account=A&stream=ORDERS", []monitor.StreamQuery{{Stream: "ORDERS"}}},
		{"/healthz?account=A&stream=ORDERS&consumer=work", []monitor.StreamQuery{{Stream: "ORDERS", Consumers: true, Consumer: "work"}}},
	} {
		s := newJetStream()
		get(monitor.Handler(newPages(s), ""), tt.target)
		if !reflect.DeepEqual(s.queries, tt.want) {
			t.Errorf("%s: got queries %+v, want %+v", tt.target, s.queries, tt.want)
		}
	}
}

// TestJszAccount asks for one account, as a service on $SYS does.
func TestJszAccount(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options monitor.JszOptions
		want    string // the account with its streams, or the error
	}{
		{"account", monitor.JszOptions{Account: "A"}, "A()"},
		{"streams", monitor.JszOptions{Account: "A", Streams: true}, "A(BOTH COPY ORDERS)"},
		{"all", monitor.JszOptions{Account: "A", Consumers: true, Config: true}, "A(BOTH* COPY* ORDERS*,audit*,work*)"},
		{"no such account", monitor.JszOptions{Account: "Z"}, `account "Z" not found`},
		{"account without JetStream", monitor.JszOptions{Account: "SYS"}, `account "SYS" not jetstream enabled`},
	} {
		account, err := newPages(newJetStream()).JszAccount(tt.options)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = outline(&monitor.Jsz{Details: []monitor.JszAccount{*account}})
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if _, err := newPages(newSource()).JszAccount(monitor.JszOptions{Account: "A"}); err == nil || err.Error() != "jetstream not enabled" {
		t.Errorf("without JetStream: got %v", err)
	}
}

// TestJszSystemOptions reads the options as a request on $SYS has them.
func TestJszSystemOptions(t *testing.T) {
	var o monitor.JszOptions
	body := `{"account":"A","accounts":true,"streams":true,"consumer":true,"config":true,"leader_only":true,"raft":true,"offset":1,"limit":2}`
	if err := monitor.FromJSON([]byte(body), &o); err != nil {
		t.Fatal(err)
	}
	want := monitor.JszOptions{
		Account: "A", Accounts: true, Streams: true, Consumers: true, Config: true, LeaderOnly: true, RaftGroups: true, Offset: 1, Limit: 2,
	}
	if o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

// health is a probe in one line: status, then errors with their types, then what is degraded.
func health(h *monitor.Healthz) string {
	var line strings.Builder
	fmt.Fprintf(&line, "%d %s", h.StatusCode, h.Status)
	if h.Error != "" {
		line.WriteString(": " + h.Error)
	}
	for _, e := range h.Errors {
		fmt.Fprintf(&line, " [%s %s/%s/%s: %s]", e.Type, e.Account, e.Stream, e.Consumer, e.Error)
	}
	for _, e := range h.Degraded {
		fmt.Fprintf(&line, " (%s %s/%s/%s: %s)", e.Type, e.Account, e.Stream, e.Consumer, e.Error)
	}
	return line.String()
}

func TestHealthzJetStream(t *testing.T) {
	const (
		noAccount  = `JetStream account "Z" not found`
		noStream   = `JetStream stream "NO" not found on account "A"`
		noConsumer = `JetStream consumer "no" not found for stream "ORDERS" on account "A"`
	)
	for _, tt := range []struct {
		name    string
		options monitor.HealthzOptions
		want    string
	}{
		{"all", monitor.HealthzOptions{}, "200 ok"},
		{"account", monitor.HealthzOptions{Account: "A"}, "200 ok"},
		{"stream", monitor.HealthzOptions{Account: "A", Stream: "ORDERS"}, "200 ok"},
		{"consumer", monitor.HealthzOptions{Account: "A", Stream: "ORDERS", Consumer: "work"}, "200 ok"},
		{"no account", monitor.HealthzOptions{Account: "Z"}, "404 unavailable: " + noAccount},
		{"no account in detail", monitor.HealthzOptions{Account: "Z", Stream: "S", Details: true}, "404 error [ACCOUNT Z//: " + noAccount + "]"},
		{"no stream", monitor.HealthzOptions{Account: "A", Stream: "NO"}, "404 unavailable: " + noStream},
		{"no stream in detail", monitor.HealthzOptions{Account: "A", Stream: "NO", Details: true}, "404 error [STREAM A/NO/: " + noStream + "]"},
		{"no consumer", monitor.HealthzOptions{Account: "A", Stream: "ORDERS", Consumer: "no"}, "404 unavailable: " + noConsumer},
		{
			"no consumer in detail",
			monitor.HealthzOptions{Account: "A", Stream: "ORDERS", Consumer: "no", Details: true},
			"404 error [CONSUMER A/ORDERS/no: " + noConsumer + "]",
		},
		{"an account without streams", monitor.HealthzOptions{Account: "B", Stream: "ORDERS"}, `404 unavailable: JetStream stream "ORDERS" not found on account "B"`},
		{"the server only", monitor.HealthzOptions{JSServerOnly: true, Account: "Z"}, "200 ok"},
		{"stream without its account", monitor.HealthzOptions{Stream: "S"}, `400 error: "account" must not be empty when checking stream health`},
		{
			"consumer without its stream",
			monitor.HealthzOptions{Account: "A", Consumer: "c"},
			`400 error: "stream" must not be empty when checking consumer health`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := health(newPages(newJetStream()).Healthz(tt.options)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestHealthzProblems has a stream that is down, a consumer that is, and a stream that has lost something.
func TestHealthzProblems(t *testing.T) {
	const (
		lost    = `JetStream stream "ORDERS" on account "A": 2 messages were lost`
		down    = `JetStream stream "COPY" on account "A": cannot be read`
		stuck   = `JetStream consumer "work" of stream "ORDERS" on account "A": is stuck`
		warning = ` (STREAM A/ORDERS/: ` + lost + `)`
	)
	s := newJetStream()
	s.js.Problems = []monitor.Problem{
		{Account: "A", Stream: "ORDERS", Text: "2 messages were lost"},
		{Account: "A", Stream: "ORDERS", Consumer: "work", Text: "is stuck", Down: true},
		{Account: "A", Stream: "COPY", Text: "cannot be read", Down: true},
	}
	for _, tt := range []struct {
		name    string
		options monitor.HealthzOptions
		want    string
	}{
		{"all", monitor.HealthzOptions{}, "503 unavailable: " + down + " (and 1 more, details=1 lists them)" + warning},
		{
			"all in detail",
			monitor.HealthzOptions{Details: true},
			"503 error [STREAM A/COPY/: " + down + "] [CONSUMER A/ORDERS/work: " + stuck + "]" + warning,
		},
		{"another account", monitor.HealthzOptions{Account: "B"}, "200 ok"},
		{"a stream that is well", monitor.HealthzOptions{Account: "A", Stream: "BOTH"}, "200 ok"},
		{"a stream that is down", monitor.HealthzOptions{Account: "A", Stream: "COPY"}, "503 unavailable: " + down},
		{"a consumer that is well", monitor.HealthzOptions{Account: "A", Stream: "ORDERS", Consumer: "audit"}, "200 ok" + warning},
		{"a consumer that is down", monitor.HealthzOptions{Account: "A", Stream: "ORDERS", Consumer: "work"}, "503 unavailable: " + stuck + warning},
		{"the server only", monitor.HealthzOptions{JSServerOnly: true}, "200 ok"},
		{"whether it runs", monitor.HealthzOptions{JSEnabledOnly: true}, "200 ok"},
		{"the meta group", monitor.HealthzOptions{JSMetaOnly: true}, "200 ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := health(newPages(s).Healthz(tt.options)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	w := get(monitor.Handler(newPages(s), ""), "/healthz?account=A&stream=ORDERS&consumer=audit")
	if want := `"degraded":[{"type":"STREAM","account":"A","stream":"ORDERS"`; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 200 and %s", w.Code, w.Body, want)
	}
	page, err := newPages(s).Jsz(monitor.JszOptions{})
	if err != nil || len(page.Problems) != 3 || page.Problems[0].Stream != "COPY" || page.Problems[2].Down {
		t.Errorf("jsz: got %+v, %v, want the problems with the worst first", page.Problems, err)
	}
}

// TestHealthzFullDisk has a problem that is of no single stream: the server is well, and says so.
func TestHealthzFullDisk(t *testing.T) {
	s := newJetStream()
	s.js.Problems = []monitor.Problem{{Text: "the disk is full"}}
	for options, want := range map[monitor.HealthzOptions]string{
		{}:                   "200 ok (JETSTREAM //: JetStream: the disk is full)",
		{Account: "B"}:       "200 ok",
		{JSServerOnly: true}: "200 ok",
	} {
		if got := health(newPages(s).Healthz(options)); got != want {
			t.Errorf("%+v: got %s, want %s", options, got, want)
		}
	}
}

// TestHealthzDown has JetStream that does not run, or cannot work.
func TestHealthzDown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*fakeSource)
		want   string // of every probe of JetStream
	}{
		{"is not asked for", func(s *fakeSource) { s.js, s.server.Identity.JetStream = nil, false }, "200 ok"},
		{"does not run", func(s *fakeSource) { s.js = nil }, "503 unavailable: JetStream is enabled but does not run"},
		{"cannot write", func(s *fakeSource) { s.js.Err = errors.New("disk full") }, "503 unavailable: JetStream: disk full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newJetStream()
			tt.change(s)
			p := newPages(s)
			for _, o := range []monitor.HealthzOptions{{}, {JSEnabledOnly: true}, {JSServerOnly: true}, {JSMetaOnly: true}, {Account: "Z"}} {
				if got := health(p.Healthz(o)); got != tt.want {
					t.Errorf("%+v: got %s, want %s", o, got, tt.want)
				}
			}
			want := strings.Replace(tt.want, "unavailable: ", "error [JETSTREAM //: ", 1)
			if got := health(p.Healthz(monitor.HealthzOptions{Details: true})); !strings.HasPrefix(got, want) {
				t.Errorf("in detail: got %s, want %s", got, want)
			}
		})
	}
}

// TestHealthzIsBounded checks that a probe does not grow with what is wrong.
func TestHealthzIsBounded(t *testing.T) {
	s := newJetStream()
	for i := range 1000 {
		s.js.Problems = append(s.js.Problems, monitor.Problem{Account: "A", Stream: fmt.Sprint(i), Text: "x", Down: i%2 == 0})
	}
	h := newPages(s).Healthz(monitor.HealthzOptions{Details: true})
	if len(h.Errors) != 100 || len(h.Degraded) != 100 {
		t.Errorf("got %d errors and %d degraded, want 100 of each", len(h.Errors), len(h.Degraded))
	}
}
