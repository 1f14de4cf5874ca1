package bench_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/bench"
	"runnel/bench/verify"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update rewrites it)\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

// results are one of each kind.
func results() []bench.Result {
	started := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	return []bench.Result{
		{
			Case: "pubsub-128", Server: "s1 2.15.2", Started: started,
			Params:   bench.Params{Messages: 1e6, SizeBytes: 128, Publishers: 1, Subscribers: 1},
			Messages: 1e6, Deliveries: 1e6, Seconds: 2, MessagesPerSecond: 5e5, DeliveriesPerSecond: 5e5, BytesPerSecond: 128e6,
			CPUSeconds: new(0.75), CPUPerMessage: new(0.75), RSSBefore: new(int64(10 << 20)), RSSPeak: new(int64(12345678)),
			Verdict: bench.VerdictPassed, Tally: verify.Tally{Delivered: 1050000},
		},
		{
			Case: "fanout10-1k", Server: "s1 2.15.2", Started: started,
			Params:   bench.Params{Messages: 1000, SizeBytes: 1024, Publishers: 1, Subscribers: 10},
			Messages: 1000, Deliveries: 9999, Seconds: 0.5, MessagesPerSecond: 2000, DeliveriesPerSecond: 19998, BytesPerSecond: 22525952,
			Verdict: bench.VerdictFailed, Tally: verify.Tally{Delivered: 9999, Lost: 1, Notes: []string{"subscriber 3: publisher 0: 1 lost, the first is sequence 17"}},
			Partial: true, Error: "stalled: nothing moved for 10s",
		},
		{
			Case: "request1-128", Server: "s1 2.15.2", Started: started,
			Params:   bench.Params{Messages: 100, SizeBytes: 128, Publishers: 1, Subscribers: 1, Inflight: 1, Rate: 0.5},
			Messages: 100, Deliveries: 100, Seconds: 1, MessagesPerSecond: 100, DeliveriesPerSecond: 100, BytesPerSecond: 25600,
			Latency: &bench.Latency{Count: 100, Mean: 120.5, P50: 99.4, P90: 999.7, P99: 12_345, P999: 2_000_000, Max: 2_000_000},
			Verdict: bench.VerdictPassed, Tally: verify.Tally{Delivered: 105},
		},
		{
			Case: "connections1000", Server: "s1 2.15.2", Started: started,
			Params:   bench.Params{Connections: 1000},
			Messages: 400, Seconds: 1, MessagesPerSecond: 400,
			CPUSeconds: new(0.04), CPUPerMessage: new(100.0), RSSBefore: new(int64(1 << 20)), RSSPeak: new(int64(2 << 20)), RSSPerConnection: new(2621.44),
			Verdict: bench.VerdictOff, Partial: true, Error: "interrupted",
		},
	}
}

func TestReports(t *testing.T) {
	for _, format := range []bench.Format{bench.Human, bench.CSV, bench.JSON} {
		var out bytes.Buffer
		if err := bench.WriteResults(&out, format, results()); err != nil {
			t.Fatal(err)
		}
		golden(t, "results."+string(format), out.Bytes())
	}
}

func TestReportShowsOnlyColumnsWithValues(t *testing.T) {
	var out bytes.Buffer
	if err := bench.WriteResults(&out, bench.Human, results()[:1]); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"p50", "memory/conn", "delivered/s", "PARTIAL"} {
		if strings.Contains(out.String(), absent) {
			t.Errorf("%q stands in\n%s", absent, out.String())
		}
	}
}

func TestNoResultsAreAReport(t *testing.T) {
	for _, format := range []bench.Format{bench.Human, bench.CSV, bench.JSON} {
		var out bytes.Buffer
		if err := bench.WriteResults(&out, format, nil); err != nil || out.Len() == 0 {
			t.Errorf("%s: got %q, %v", format, out.String(), err)
		}
	}
}

// schema is what machines rely on: names may be added, never go.
func TestCSVSchema(t *testing.T) {
	var out bytes.Buffer
	if err := bench.WriteResults(&out, bench.CSV, results()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`case server started size_bytes publishers subscribers subjects inflight connections rate
		messages deliveries seconds messages_per_second deliveries_per_second bytes_per_second cpu_seconds cpu_us_per_message
		rss_before_bytes rss_peak_bytes rss_bytes_per_connection latency_mean_us latency_p50_us latency_p90_us latency_p99_us
		latency_p99_9_us latency_max_us verdict lost duplicated reordered corrupted foreign partial error`)
	if len(rows) != 5 || len(rows[0]) < len(want) || !slices.Equal(rows[0][:len(want)], want) {
		t.Errorf("got %d rows, header %v, want 5, %v", len(rows), rows[0], want)
	}
}

func TestJSONSchema(t *testing.T) {
	var out bytes.Buffer
	if err := bench.WriteResults(&out, bench.JSON, results()); err != nil {
		t.Fatal(err)
	}
	var document struct {
		Schema  int
		Results []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.Schema != bench.SchemaVersion || len(document.Results) != 4 {
		t.Fatalf("got schema %d with %d results", document.Schema, len(document.Results))
	}
	for key := range strings.FieldsSeq(`case server started params messages deliveries seconds messages_per_second
		deliveries_per_second bytes_per_second cpu_seconds cpu_us_per_message rss_before_bytes rss_peak_bytes
		rss_bytes_per_connection latency_us verdict tally partial`) {
		for i, result := range document.Results {
			if _, has := result[key]; !has {
				t.Errorf("result %d has no %q", i, key)
			}
		}
	}
	if got := document.Results[1]["cpu_us_per_message"]; got != nil {
		t.Errorf("CPU that was not measured: got %v, want null", got)
	}
	var back struct{ Results []bench.Result }
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || *back.Results[0].CPUPerMessage != 0.75 {
		t.Errorf("read back: got %+v, %v", back, err)
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := bench.Core().WriteList(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "list.human", out.Bytes())
}

func TestBrief(t *testing.T) {
	want := []string{
		"pubsub-128: 1.00M messages, 500k/s, server cpu 0.75 µs each",
		"fanout10-1k: 1.00k messages, 2.00k/s: FAILED stalled: nothing moved for 10s",
		"request1-128: 100 messages, 100/s, p50 99.4 µs, p99 12.3 ms",
		"connections1000: 400 messages, 400/s, server cpu 100 µs each: PARTIAL interrupted",
	}
	for i, r := range results() {
		if got := bench.Brief(&r); got != want[i] {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, name := range []string{"human", "csv", "json"} {
		if got, err := bench.ParseFormat(name); err != nil || string(got) != name {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if got, err := bench.ParseFormat("xml"); err == nil {
		t.Errorf("xml: got %q, want an error", got)
	}
}

func TestNumbersForPeople(t *testing.T) {
	tests := []struct {
		format func(float64) string
		value  float64
		want   string
	}{
		{bench.FormatCount, 0, "0"},
		{bench.FormatCount, 999, "999"},
		{bench.FormatCount, 2.5, "2.50"},
		{bench.FormatCount, 1000, "1.00k"},
		{bench.FormatCount, 12_345, "12.3k"},
		{bench.FormatCount, 999_600, "1.00M"},
		{bench.FormatCount, 123.4e6, "123M"},
		{bench.FormatCount, 5e9, "5.00G"},
		{bench.FormatBytes, 0, "0 B"},
		{bench.FormatBytes, -2048, "-2.00 KiB"},
		{bench.FormatBytes, 1536, "1.50 KiB"},
		{bench.FormatBytes, 20 << 20, "20.0 MiB"},
		{bench.FormatBytes, 3 << 30, "3.00 GiB"},
		{bench.FormatMicroseconds, 0.064, "0.06 µs"},
		{bench.FormatMicroseconds, 999.7, "1.00 ms"},
		{bench.FormatMicroseconds, 1.5e6, "1.50 s"},
	}
	for _, test := range tests {
		if got := test.format(test.value); got != test.want {
			t.Errorf("%v: got %q, want %q", test.value, got, test.want)
		}
	}
}

func TestRedacted(t *testing.T) {
	tests := []struct{ in, want string }{
		{"nats://h:1", "nats://h:1"},
		{"nats://u:p@h:1,tls://t@i:2", "nats://***@h:1,tls://***@i:2"},
		{"u:p@h", "***@h"},
		{"nats://u:p@ss@h", "nats://***@h"},
	}
	for _, test := range tests {
		if got := bench.Redacted(test.in); got != test.want {
			t.Errorf("%s: got %s, want %s", test.in, got, test.want)
		}
	}
}
