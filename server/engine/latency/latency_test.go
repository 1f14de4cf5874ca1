package latency_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"runnel/server/engine/latency"
)

func TestAsked(t *testing.T) {
	const trace, span = "80f198ee56343ba864fe8b2a57d3eff7", "e457b5a2e4d86bd1"
	tests := []struct {
		lines string // of the header block
		want  string // name of the header that decides, empty when none does
		asks  bool
	}{
		{"", "", false},
		{"X: y", "", false},
		{"X-B3-Flags: 1", "", false},
		{"Uber-Trace-Id: a:b:0:1", "Uber-Trace-Id", true},
		{"Uber-Trace-Id: a:b:0:3", "Uber-Trace-Id", true},
		{"Uber-Trace-Id: a:b:0:0", "Uber-Trace-Id", false},
		{"Uber-Trace-Id: a:b:0:2", "Uber-Trace-Id", false},
		{"Uber-Trace-Id: a:b:1", "Uber-Trace-Id", false},
		{"Uber-Trace-Id: a:b:0:x", "Uber-Trace-Id", false},
		{"X-B3-Sampled: 1", "X-B3-Sampled", true},
		{"X-B3-Sampled: 0", "X-B3-Sampled", false},
		{"X-B3-Sampled: true", "X-B3-Sampled", false},
		{"X-B3-TraceId: abc", "X-B3-Traceid", true},
		{"X-B3-TraceId: abc\r\nX-B3-Sampled: 0", "X-B3-Sampled", false},
		{"B3: 0", "B3", false},
		{"B3: 1", "B3", true},
		{"B3: d", "B3", true},
		{"B3: " + trace + "-" + span, "B3", true},
		{"B3: " + trace + "-" + span + "-1-05e3ac9a4f6e3b90", "B3", true},
		{"B3: " + trace + "-" + span + "-d", "B3", true},
		{"B3: " + trace + "-" + span + "-0", "B3", false},
		{"Traceparent: 00-" + trace + "-" + span + "-01", "Traceparent", true},
		{"traceparent: 00-" + trace + "-" + span + "-01", "Traceparent", true},
		{"Traceparent: 00-" + trace + "-" + span + "-00", "Traceparent", false},
		{"Traceparent: junk", "Traceparent", false},
	}
	for _, tt := range tests {
		t.Run(tt.lines, func(t *testing.T) {
			var block []byte
			if tt.lines != "" {
				block = []byte("NATS/1.0\r\n" + tt.lines + "\r\n\r\n")
			}
			header, asks := latency.Asked(block)
			if asks != tt.asks || len(header[tt.want]) != min(len(tt.want), 1) {
				t.Errorf("got %v, %v, want %v by %q", header, asks, tt.asks, tt.want)
			}
		})
	}
}

// TestStrip: nothing of a header block can pass for what the server says about a client, or hide it.
func TestStrip(t *testing.T) {
	const first, end = "NATS/1.0\r\n", "\r\n\r\n"
	for _, tt := range []struct{ block, want string }{
		{"", ""},
		{"\n", ""},
		{"\r\n\r\n", ""},
		{"NATS/1.0 503\r\n\r\n", "NATS/1.0 503\r\n\r\n"},
		{first + "X: y" + end, first + "X: y" + end},
		{first + "X: y\r\nZ:" + end, first + "X: y\r\nZ:" + end},
		{first + "Nats-Request-Info: f" + end, ""},
		{first + "X: y\r\nNats-Request-Info: f\r\nNats-Request-Info:g" + end, first + "X: y" + end},
		{first + "nats-REQUEST-info: f\r\nX: y" + end, first + "X: y" + end},
		{first + "Nats-Request-Info : f\r\nX: y" + end, first + "X: y" + end},
		{first + " Nats-Request-Info: f\r\nX: y" + end, first + "X: y" + end},
		{first + "X: y\nNats-Request-Info: f" + end, first + "X: y" + end},
		{first + "X: y\rNats-Request-Info: f" + end, first + "X: y" + end},
		{"NATS/1.0\nNats-Request-Info: f\r\nX: y" + end, first + "X: y" + end},
		{first + "X: y\n\nZ: z" + end, first + "X: y\r\nZ: z" + end},
		{first + "X: y" + end + "Nats-Request-Info: f" + end, first + "X: y" + end},
		{first + end, ""},
		{first + "X: y" + end + "\r\n", first + "X: y" + end},
		{first + "X: y", first + "X: y" + end},
		{first + "X: Nats-Request-Info: f" + end, first + "X: Nats-Request-Info: f" + end},
	} {
		if got := string(latency.Strip([]byte(tt.block))); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.block, got, tt.want)
		}
	}
}

// FuzzStrip: what is left is what a strict reader reads, and stays as it is.
func FuzzStrip(f *testing.F) {
	f.Add("NATS/1.0\r\nX: y\r\nNats-Request-Info: f\r\n\r\n")
	f.Add("NATS/1.0\nNats-Request-Info : f\r\n\r\nX: y")
	f.Fuzz(func(t *testing.T, block string) {
		got := string(latency.Strip([]byte(block)))
		if again := string(latency.Strip([]byte(got))); again != got {
			t.Errorf("%q becomes %q, and that %q", block, got, again)
		}
		if got == "" {
			return
		}
		text, ok := strings.CutSuffix(got, "\r\n\r\n")
		for line := range strings.SplitSeq(text, "\r\n") {
			name, _, _ := strings.Cut(line, ":")
			if line == "" || strings.ContainsAny(line, "\r\n") || strings.EqualFold(strings.TrimSpace(name), latency.InfoHeader) && line != name {
				ok = false
			}
		}
		if !ok {
			t.Errorf("%q becomes %q", block, got)
		}
	})
}

// TestMeasurementBytes: the headers that had it measured count.
func TestMeasurementBytes(t *testing.T) {
	m := &latency.Measurement{}
	small := m.Bytes()
	m.Header = map[string][]string{"B3": {strings.Repeat("x", 5000)}}
	if got := m.Bytes(); small <= 0 || got != small+5002 {
		t.Errorf("got %d and %d", small, got)
	}
}

func TestBriefIsAClient(t *testing.T) {
	for _, account := range []string{"A", `with "quotes"`, "ü"} {
		for _, rtt := range []time.Duration{0, 1234} {
			want := (&latency.Client{Account: account, RTT: rtt}).JSON()
			if got := latency.AppendRTT(latency.Brief(account), rtt); string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

func TestMetric(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asker := &latency.Client{Account: "A", RTT: time.Second}
	m := latency.Measurement{Requester: asker, Start: start, Header: map[string][]string{"B3": {"1"}}}
	server := latency.Measurement{Start: start}
	responder := &latency.Client{Account: "B", User: "u", RTT: 2 * time.Second}
	answer := start.Add(10 * time.Second)
	tests := []struct {
		name string
		text []byte
		want latency.Metric
	}{
		{"answered", m.Answered(responder, answer, answer.Add(time.Millisecond)), latency.Metric{
			Status: 200, Service: 8 * time.Second, System: time.Millisecond, Total: 11*time.Second + time.Millisecond,
		}},
		{"answered sooner than can be", m.Answered(responder, start.Add(time.Second), start.Add(time.Second)), latency.Metric{
			Status: 200, Total: 2 * time.Second,
		}},
		{"by the server", server.Answered(nil, answer, answer), latency.Metric{
			Status: 200, Service: 10 * time.Second, Total: 10 * time.Second,
		}},
		{"bad request", m.Failed(latency.BadRequest, answer), latency.Metric{Status: 400, Description: "Bad Request"}},
		{"nobody", m.Failed(latency.Unavailable, answer), latency.Metric{Status: 503, Description: "Service Unavailable"}},
		{"timeout", server.Failed(latency.Timeout, answer), latency.Metric{Status: 504, Description: "Service Timeout"}},
	}
	ids := make(map[string]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got latency.Metric
			if err := json.Unmarshal(tt.text, &got); err != nil {
				t.Fatal(err)
			}
			if got.Type != "io.nats.server.metric.v1.service_latency" || len(got.ID) != 22 || ids[got.ID] {
				t.Errorf("type %q and id %q", got.Type, got.ID)
			}
			ids[got.ID] = true
			if got.Status != tt.want.Status || got.Description != tt.want.Description || got.Service != tt.want.Service ||
				got.System != tt.want.System || got.Total != tt.want.Total {
				t.Errorf("got %s, want %+v", tt.text, tt.want)
			}
			begin := start
			if got.Requester != nil {
				begin = start.Add(-time.Second)
			}
			if !got.Start.Equal(begin) {
				t.Errorf("start %v, want %v", got.Start, begin)
			}
		})
	}
	if text := string(m.Failed(latency.Timeout, answer)); !strings.Contains(text, `"requestor":{"acc":"A","rtt":1000000000}`) ||
		!strings.Contains(text, `"header":{"B3":["1"]}`) || strings.Contains(text, "responder") {
		t.Errorf("got %s", text)
	}
}

// FuzzAsked: any header block is read without harm.
func FuzzAsked(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nB3: 1\r\n\r\n"))
	f.Add([]byte("NATS/1.0\r\nTraceparent: 00-1-2-01\r\n\r\n"))
	f.Fuzz(func(t *testing.T, block []byte) {
		header, asks := latency.Asked(block)
		if asks && len(header) != 1 {
			t.Errorf("%q asks by %v", block, header)
		}
		for name, values := range header {
			if !strings.Contains(strings.ToLower(string(block)), strings.ToLower(name)) || !strings.Contains(string(block), values[0]) {
				t.Errorf("%q: %v is not a header of it", block, header)
			}
		}
	})
}
