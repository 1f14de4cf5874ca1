package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/bench"
	"runnel/server/servertest"
)

// TestStreamScenariosAgainstRunnel runs every scenario on a server with real streams.
func TestStreamScenariosAgainstRunnel(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	url := s.ClientURL()
	for _, scenario := range bench.Streams().Scenarios() {
		name := scenario.CaseNames()[0]
		t.Run(name, func(t *testing.T) {
			o := bench.Overrides{Params: bench.Params{Messages: 500, Subscribers: 2, Publishers: 2, Subjects: 50, Batch: 100}}
			if scenario.Name == "objput" || scenario.Name == "objget" {
				o.Messages, o.Sizes = 9, []int{300_000}
			}
			if scenario.Name == "paced" {
				o.Messages, o.Duration = 0, 100*time.Millisecond
			}
			cases, err := bench.Streams().Select([]string{name}, o)
			if err != nil {
				t.Fatal(err)
			}
			r := cases[0].Run(t.Context(), bench.Target{URL: url, Verify: true})
			if !r.OK() || r.Verdict != bench.VerdictPassed {
				t.Fatalf("got error %q, verdict %s, notes %q", r.Error, r.Verdict, r.Tally.Notes)
			}
			if want := o.Messages; want != 0 && r.Messages != want && r.Messages != 2*want {
				t.Errorf("got %d messages, want %d", r.Messages, want)
			}
			if r.MessagesPerSecond <= 0 {
				t.Errorf("got %v messages a second", r.MessagesPerSecond)
			}
		})
	}
	left(t, url)
}

// left fails if the runs have left a stream behind.
func left(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		t.Errorf("stream %s is left", name)
	}
	if err := names.Err(); err != nil {
		t.Error(err)
	}
}

// TestWatchersFallBehind has fewer keys than puts that a watcher may be behind.
func TestWatchersFallBehind(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	c := smallStream(t, "kvwatch", func(o *bench.Overrides) { o.Subjects, o.Subscribers, o.Messages = 3, 4, 300 })
	r := c.Run(t.Context(), bench.Target{URL: s.ClientURL(), Verify: true})
	if !r.OK() || r.Messages != 300 || r.Deliveries != 1200 {
		t.Errorf("got %d puts, %d seen, error %q, notes %q", r.Messages, r.Deliveries, r.Error, r.Tally.Notes)
	}
	if r.Latency == nil || r.Latency.Count != 1200 {
		t.Errorf("got latency %+v, want one of 1200 updates", r.Latency)
	}
}
