package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// jsz is what a test looks at on the JetStream page.
type jsz struct {
	Disabled bool           `json:"disabled"`
	Streams  int            `json:"streams"`
	Messages int            `json:"messages"`
	Storage  int            `json:"storage"`
	Total    int            `json:"total"`
	Config   map[string]any `json:"config"`
	Details  []struct {
		Name     string `json:"name"`
		Reserved uint64 `json:"reserved_storage"`
		Streams  []struct {
			Name   string         `json:"name"`
			Config map[string]any `json:"config"`
			State  struct {
				Messages int `json:"messages"`
				Subjects int `json:"num_subjects"`
			} `json:"state"`
			Consumers []struct {
				Name    string         `json:"name"`
				Pending int            `json:"num_pending"`
				Config  map[string]any `json:"config"`
				Lag     struct {
					Messages int   `json:"messages"`
					Age      int64 `json:"age"`
				} `json:"lag"`
			} `json:"consumer_detail"`
		} `json:"stream_detail"`
	} `json:"account_details"`
}

// TestMonitorJetStream follows what a client makes through the pages.
func TestMonitorJetStream(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`http_port: -1
		jetstream { store_dir: %q, max_file: 1GB, max_mem: 1MB, domain: hub, sync: interval=50ms }
		accounts { A { jetstream { max_file: 1MB }, users: [{user: a, password: x}] }, B { users: [{user: b, password: x}] } }
		metrics { max_streams: 5, max_consumers: 0 }`, t.TempDir()))
	nc := servertest.Connect(t, s, nats.UserInfo("a", "x"))
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := js.Publish(fmt.Sprintf("orders.%d", i%2), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.AddConsumer("ORDERS", &nats.ConsumerConfig{Durable: "work", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	sub, err := js.PullSubscribe("", "", nats.Bind("ORDERS", "work"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sub.Fetch(1); err != nil || len(got) != 1 { // and not acknowledged
		t.Fatalf("got %v, %v", got, err)
	}
	servertest.Eventually(t, "the delivery shows", func() bool {
		return page[jsz](t, s, "/jsz?consumers=1").Details[0].Streams[0].Consumers[0].Pending == 2
	})
	figures := page[jsz](t, s, "/jsz")
	if figures.Disabled || figures.Streams != 1 || figures.Messages != 3 || figures.Storage == 0 || figures.Total != 1 || figures.Details != nil {
		t.Errorf("jsz: got %+v, want one stream with 3 messages in one account", figures)
	}
	if c := figures.Config; c["sync"] != "interval=50ms" || c["domain"] != "hub" || c["max_storage"] != float64(1<<30) {
		t.Errorf("jsz: got config %v", c)
	}
	details := page[jsz](t, s, "/jsz?consumers=1").Details
	if len(details) != 1 || details[0].Reserved != 1<<20 || len(details[0].Streams) != 1 || len(details[0].Streams[0].Consumers) != 1 {
		t.Fatalf("jsz with consumers: got %+v, want one of each", details)
	}
	stream, consumer := details[0].Streams[0], details[0].Streams[0].Consumers[0]
	if stream.Name != "ORDERS" || stream.State.Messages != 3 || stream.State.Subjects != 2 || stream.Config != nil {
		t.Errorf("got stream %+v", stream)
	}
	if consumer.Name != "work" || consumer.Pending != 2 || consumer.Lag.Messages != 3 || consumer.Lag.Age <= 0 || consumer.Config != nil {
		t.Errorf("got consumer %+v", consumer)
	}
	whole := page[jsz](t, s, "/jsz?acc=A&consumers=1&config=1").Details[0].Streams[0]
	if whole.Config["name"] != "ORDERS" || whole.Consumers[0].Config["durable_name"] != "work" {
		t.Errorf("with config: got %+v", whole)
	}
	_, text := get(t, s, "/metrics")
	for _, line := range []string{
		`runnel_stream_messages{account="A",stream="ORDERS"} 3`, "runnel_jetstream_unlisted_consumers 1", "runnel_jetstream_up 1",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("metrics: no line %q", line)
		}
	}
	for path, want := range map[string]int{
		"/healthz": 200, "/healthz?js-enabled-only=1": 200, "/healthz?account=A&stream=ORDERS&consumer=work": 200,
		"/healthz?account=A&stream=NO": 404, "/healthz?account=B": 404,
	} {
		if code, text := get(t, s, path); code != want {
			t.Errorf("%s: got %d %s, want %d", path, code, text, want)
		}
	}
	for account, want := range map[string]string{"A": `"jetstream_enabled": true`, "B": `"jetstream_enabled": false`} {
		if _, text := get(t, s, "/accountz?acc="+account); !strings.Contains(text, want) {
			t.Errorf("account %s: got %s, want %s", account, text, want)
		}
	}
}

// TestMonitorWithoutJetStream wants the pages to say that it is off.
func TestMonitorWithoutJetStream(t *testing.T) {
	s := servertest.Start(t, "http_port: -1")
	if got := page[jsz](t, s, "/jsz?consumers=1"); !got.Disabled || got.Details != nil {
		t.Errorf("jsz: got %+v, want it to be disabled", got)
	}
	if code, text := get(t, s, "/healthz?js-enabled-only=1"); code != http.StatusOK {
		t.Errorf("healthz: got %d %s", code, text)
	}
	if _, text := get(t, s, "/metrics"); strings.Contains(text, "runnel_jetstream") {
		t.Error("there are metrics of JetStream")
	}
}

// TestReloadJetStream changes what may change, and names what may not.
func TestReloadJetStream(t *testing.T) {
	dir := t.TempDir()
	block := func(more string) string {
		return fmt.Sprintf("http_port: -1\nserver_name: n\njetstream { store_dir: %q, max_mem: 1MB, %s }", dir, more)
	}
	s := servertest.Start(t, block("max_file: 1MB, limits { duplicate_window: 1m }"))
	js, err := servertest.Connect(t, s).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	stream := func(name string, bytes int64, window time.Duration) error {
		_, err := js.AddStream(&nats.StreamConfig{Name: name, MaxBytes: bytes, Duplicates: window})
		return err
	}
	if stream("A", 2<<20, 0) == nil || stream("B", 1000, time.Hour) == nil {
		t.Error("a stream above the limits was made")
	}
	changes, err := s.Reload(servertest.Options(t, block("max_file: 4MB, domain: hub, sync: os, limits { duplicate_window: 2h, batch { max_msgs: 3 } }")))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range changes {
		if !c.Reloadable {
			left = append(left, c.Key)
		}
	}
	if got, want := strings.Join(left, " "), "jetstream.sync jetstream.domain jetstream.limits.batch.max_msgs"; got != want {
		t.Errorf("left out: got %s, want %s", got, want)
	}
	if err := errors.Join(stream("A", 2<<20, 0), stream("B", 1000, time.Hour)); err != nil {
		t.Errorf("within the new limits: %v", err)
	}
	if c := page[jsz](t, s, "/jsz").Config; c["max_storage"] != float64(4<<20) || c["sync"] != "always" || c["domain"] != nil {
		t.Errorf("jsz: got config %v, want the new limit and the old rest", c)
	}
	if changes, err := s.Reload(servertest.Options(t, block("max_file: 2MB"))); err != nil || len(changes) == 0 || changes[0].Reloadable {
		t.Errorf("a smaller store: got %v, %v, want it to be left out", changes, err)
	}
}
