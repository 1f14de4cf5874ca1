package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
	"runnel/server/monitor"
)

func TestMetricsJetStream(t *testing.T) {
	s := newJetStream()
	s.js.Problems = []monitor.Problem{{Account: "A", Stream: "ORDERS", Text: "lost"}}
	text := scrape(t, monitor.Handler(newPages(s), ""))
	for _, line := range []string{
		"runnel_jetstream_up 1",
		"runnel_jetstream_streams 3",
		"runnel_jetstream_consumers 2",
		"runnel_jetstream_messages 21",
		"runnel_jetstream_bytes 767",
		"runnel_jetstream_memory_used_bytes 7",
		"runnel_jetstream_memory_limit_bytes 6.7108864e+07",
		"runnel_jetstream_storage_used_bytes 760",
		"runnel_jetstream_storage_reserved_bytes 2000",
		"runnel_jetstream_problems 1",
		"runnel_jetstream_api_requests_total 14",
		"runnel_jetstream_api_errors_total 2",
		"runnel_jetstream_unlisted_streams 0",
		"runnel_jetstream_unlisted_consumers 0",
		`runnel_stream_messages{account="A",stream="ORDERS"} 10`,
		`runnel_stream_bytes{account="A",stream="ORDERS"} 380`,
		`runnel_stream_first_sequence{account="A",stream="ORDERS"} 3`,
		`runnel_stream_last_sequence{account="A",stream="ORDERS"} 12`,
		`runnel_stream_consumers{account="A",stream="ORDERS"} 2`,
		`runnel_stream_lost_messages{account="A",stream="ORDERS"} 2`,
		`runnel_stream_lost_messages{account="A",stream="COPY"} 0`,
		`runnel_stream_source_lag_messages{account="A",stream="COPY"} 4`,
		`runnel_stream_source_lag_messages{account="A",stream="BOTH"} 9`,
		`runnel_consumer_pending_messages{account="A",consumer="work",stream="ORDERS"} 8`,
		`runnel_consumer_ack_pending_messages{account="A",consumer="work",stream="ORDERS"} 2`,
		`runnel_consumer_redelivered_messages{account="A",consumer="work",stream="ORDERS"} 1`,
		`runnel_consumer_waiting_requests{account="A",consumer="work",stream="ORDERS"} 3`,
		`runnel_consumer_delivered_sequence{account="A",consumer="work",stream="ORDERS"} 4`,
		`runnel_consumer_lag_seconds{account="A",consumer="work",stream="ORDERS"} 90`,
		`runnel_consumer_lag_seconds{account="A",consumer="audit",stream="ORDERS"} 0`,
		`runnel_consumer_undelivered_seconds{account="A",consumer="work",stream="ORDERS"} 0`,
		`runnel_consumer_unacked_seconds{account="A",consumer="work",stream="ORDERS"} 90`,
		`runnel_consumer_served_per_second{account="A",consumer="work",stream="ORDERS"} 2.5`,
		`runnel_consumer_stalled{account="A",consumer="work",reason="paused",stream="ORDERS"} 1`,
		"# TYPE runnel_jetstream_api_requests_total counter",
		"# TYPE runnel_consumer_lag_seconds gauge",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, line := range []string{`runnel_stream_source_lag_messages{account="A",stream="ORDERS"}`, `runnel_consumer_stalled{account="A",consumer="audit"`} {
		if strings.Contains(text, line) {
			t.Errorf("there is a line %q", line)
		}
	}
}

// TestMetricsOfOthers: a server has no series of consumers whose stream another one leads.
func TestMetricsOfOthers(t *testing.T) {
	s := newJetStream()
	streams := s.jsStreams["A"]
	streams[0].Cluster = &api.Cluster{Leader: "other", Replicas: []*api.Peer{{Name: "me"}, {Name: "third"}}}
	text := scrape(t, monitor.Handler(newPages(s), ""))
	if n := series(text, "runnel_consumer_lag_seconds"); n != 0 {
		t.Errorf("got series of %d consumers, want none", n)
	}
	if line := "runnel_jetstream_unlisted_consumers 0\n"; !strings.Contains(text, line) {
		t.Errorf("no line %q", line)
	}
	streams[0].Cluster.Leader = s.server.Identity.Name
	if n := series(scrape(t, monitor.Handler(newPages(s), "")), "runnel_consumer_lag_seconds"); n != 2 {
		t.Errorf("as leader: got series of %d consumers, want 2", n)
	}
}

// TestMetricsOfDeadLetters: what waits between streams has series where it is led, as long as there is something.
func TestMetricsOfDeadLetters(t *testing.T) {
	s := newJetStream()
	if text := scrape(t, monitor.Handler(newPages(s), "")); strings.Contains(text, "\nrunnel_dead_letter_") ||
		strings.Contains(text, "\nrunnel_consumer_dead_letters_") || strings.Contains(text, "\nrunnel_stream_owed_") {
		t.Error("there are series although nothing waits")
	}
	streams := s.jsStreams["A"]
	streams[1].Dead = &api.DeadStreamInfo{Stream: "COPY", Messages: 7, Seconds: 3600}
	streams[2].Dead = &api.DeadStreamInfo{Stream: "BOTH", Messages: 8, Seconds: 60}
	streams[2].Owed = &api.Owed{Acks: 3, Seconds: 90}
	streams[0].Consumers[0].Letters = &api.Letters{Waiting: 5, Oldest: epoch.Add(-time.Minute)}
	lines := []string{
		`runnel_dead_letter_messages{account="A",stream="COPY"} 7`,
		`runnel_dead_letter_oldest_seconds{account="A",stream="COPY"} 3600`,
		`runnel_stream_owed_acks{account="A",stream="BOTH"} 3`,
		`runnel_stream_owed_acks_seconds{account="A",stream="BOTH"} 90`,
		`runnel_consumer_dead_letters_waiting{account="A",consumer="work",stream="ORDERS"} 5`,
		`runnel_consumer_dead_letters_waiting_seconds{account="A",consumer="work",stream="ORDERS"} 60`,
	}
	for _, tt := range []struct {
		name            string
		leader          string
		most            monitor.Series
		dead, all, unli int
	}{
		{"led", "srv1", monitor.Series{Streams: 10, Consumers: 10}, 2, len(lines), 0},
		{"led by another server", "other", monitor.Series{Streams: 10, Consumers: 10}, 0, 0, 0},
		{"bounded", "srv1", monitor.Series{Streams: 1}, 1, 2, 1},
		{"none wanted", "srv1", monitor.Series{}, 0, 0, 0},
	} {
		for i := range streams {
			streams[i].Cluster = &api.Cluster{Leader: tt.leader, Replicas: []*api.Peer{{Name: "b"}, {Name: "c"}}}
		}
		s.server.Series = tt.most
		text, found := scrape(t, monitor.Handler(newPages(s), "")), 0
		for _, line := range lines {
			if strings.Contains(text, line+"\n") {
				found++
			}
		}
		if n := series(text, "runnel_dead_letter_messages"); n != tt.dead || found != tt.all {
			t.Errorf("%s: got %d dead-letter streams and %d of %d lines, want %d and %d", tt.name, n, found, len(lines), tt.dead, tt.all)
		}
		if line := fmt.Sprintf("runnel_jetstream_unlisted_dead_letter_streams %d\n", tt.unli); !strings.Contains(text, line) {
			t.Errorf("%s: no line %q", tt.name, line)
		}
	}
}

func TestMetricsWithoutJetStream(t *testing.T) {
	s := newJetStream()
	s.js = nil
	text := scrape(t, monitor.Handler(newPages(s), ""))
	for _, prefix := range []string{"runnel_jetstream_", "runnel_stream_", "runnel_consumer_"} {
		if strings.Contains(text, "\n"+prefix) {
			t.Errorf("there are series %s although JetStream is off", prefix)
		}
	}
}

// manyStreams makes n streams with a consumer each, the later the larger and the further behind.
func manyStreams(s *fakeSource, n int) {
	var streams []monitor.StreamDetail
	for i := range n {
		name := fmt.Sprintf("S%04d", i)
		c := api.ConsumerInfo{Stream: name, Name: "c", Pending: uint64(i), Lag: &api.Lag{Age: time.Duration(i) * time.Second}}
		streams = append(streams, monitor.StreamDetail{
			Name: name, State: api.StreamState{Bytes: uint64(i)}, Consumers: []monitor.ConsumerDetail{{ConsumerInfo: c}},
		})
	}
	s.jsStreams = map[string][]monitor.StreamDetail{"A": streams}
	s.js.Streams, s.js.Consumers = n, n
}

func TestMetricsOfManyStreams(t *testing.T) {
	for _, tt := range []struct {
		most               monitor.Series
		streams, consumers int
	}{
		{monitor.Series{Streams: 10, Consumers: 20}, 10, 20},
		{monitor.Series{Streams: 1000, Consumers: 1000}, 500, 500},
		{monitor.Series{Streams: 5}, 5, 0},
		{monitor.Series{Consumers: 5}, 0, 5},
		{monitor.Series{}, 0, 0},
	} {
		s := newJetStream()
		manyStreams(s, 500)
		s.server.Series = tt.most
		text := scrape(t, monitor.Handler(newPages(s), ""))
		streams, consumers := series(text, "runnel_stream_bytes"), series(text, "runnel_consumer_lag_seconds")
		if streams != tt.streams || consumers != tt.consumers {
			t.Errorf("%+v: got series of %d streams and %d consumers, want %d and %d", tt.most, streams, consumers, tt.streams, tt.consumers)
		}
		for _, line := range []string{
			"runnel_jetstream_streams 500",
			fmt.Sprintf("runnel_jetstream_unlisted_streams %d", 500-tt.streams),
			fmt.Sprintf("runnel_jetstream_unlisted_consumers %d", 500-tt.consumers),
		} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("%+v: no line %q", tt.most, line)
			}
		}
		if tt.most == (monitor.Series{}) && len(s.queries) > 0 {
			t.Errorf("asked for streams although none are shown: %+v", s.queries)
		}
		largest, behind := `runnel_stream_bytes{account="A",stream="S0499"} 499`, `runnel_consumer_lag_seconds{account="A",consumer="c",stream="S0499"} 499`
		if tt.streams > 0 != strings.Contains(text, largest) || tt.consumers > 0 != strings.Contains(text, behind) {
			t.Errorf("%+v: not the largest streams, or not the consumers furthest behind, are listed", tt.most)
		}
	}
}

// TestMetricsOfStreamsStay checks that series do not move with the ranking, and that a reload may take some away.
func TestMetricsOfStreamsStay(t *testing.T) {
	s := newJetStream()
	manyStreams(s, 20)
	s.server.Series = monitor.Series{Streams: 5, Consumers: 5}
	h := monitor.Handler(newPages(s), "")
	scrape(t, h)
	streams := s.jsStreams["A"]
	streams[0].State.Bytes, streams[0].Consumers[0].Pending = 1<<40, 1<<40
	const stream, consumer = `runnel_stream_bytes{account="A",stream="S0000"}`, `runnel_consumer_pending_messages{account="A",consumer="c",stream="S0000"}`
	if text := scrape(t, h); strings.Contains(text, stream) || strings.Contains(text, consumer) {
		t.Error("series moved with the ranking")
	}
	s.jsStreams["A"] = streams[:19] // the largest is deleted
	if text := scrape(t, h); !strings.Contains(text, stream) || !strings.Contains(text, consumer) {
		t.Error("the place of a stream that is gone was not given to the largest")
	}
	s.server.Series = monitor.Series{Streams: 2, Consumers: 1}
	if text := scrape(t, h); series(text, "runnel_stream_bytes") != 2 || series(text, "runnel_consumer_pending_messages") != 1 {
		t.Error("a lower bound does not take series away")
	}
}

// TestMetricsOddStreams has names that are no text.
func TestMetricsOddStreams(t *testing.T) {
	s := newJetStream()
	s.jsStreams = map[string][]monitor.StreamDetail{"A": {{Name: "bad\xff"}, {Name: `q"\`}}}
	text := scrape(t, monitor.Handler(newPages(s), ""))
	for _, line := range []string{`runnel_stream_messages{account="A",stream="bad?"} 0`, `runnel_stream_messages{account="A",stream="q\"\\"} 0`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

func BenchmarkMetricsOfManyStreams(b *testing.B) {
	s := newJetStream()
	manyStreams(s, 10000)
	s.server.Series = monitor.Series{Streams: 200, Consumers: 1000}
	h := monitor.Handler(newPages(s), "")
	b.ReportAllocs()
	for b.Loop() {
		get(h, "/metrics")
	}
}
