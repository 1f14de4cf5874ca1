package api_test

import (
	"reflect"
	"testing"
	"time"

	"runnel/headers"
	"runnel/server/jetstream/api"
)

// TestGetRequest says of combinations of members whether a direct get or a message get takes them.
func TestGetRequest(t *testing.T) {
	const at = `"2020-01-01T00:00:00Z"`
	tests := []struct {
		body    string
		direct  api.Status // StatusNone: taken
		message bool       // taken
	}{
		{`{}`, api.StatusEmptyRequest, false},
		{`{"seq":0}`, api.StatusEmptyRequest, false},
		{`{"seq":2}`, api.StatusNone, true},
		{`{"seq":2,"no_hdr":true}`, api.StatusNone, true},
		{`{"no_hdr":true}`, api.StatusEmptyRequest, false},
		{`{"start_time":` + at + `}`, api.StatusNone, true},
		{`{"seq":1,"start_time":` + at + `}`, api.StatusBadRequest, false},
		{`{"last_by_subj":"s.a"}`, api.StatusNone, true},
		{`{"seq":1,"last_by_subj":"s.a"}`, api.StatusBadRequest, false},
		{`{"last_by_subj":"s.a","next_by_subj":"s.a"}`, api.StatusBadRequest, false},
		{`{"last_by_subj":"s.a","start_time":` + at + `}`, api.StatusBadRequest, false},
		{`{"last_by_subj":"s.a","batch":2}`, api.StatusBadRequest, false},
		{`{"next_by_subj":"s.a"}`, api.StatusNone, true},
		{`{"next_by_subj":"s.a","seq":1}`, api.StatusNone, true},
		{`{"next_by_subj":"s.a","start_time":` + at + `}`, api.StatusNone, true},
		{`{"next_by_subj":"s.a","seq":1,"start_time":` + at + `}`, api.StatusBadRequest, false},
		{`{"seq":1,"batch":5,"max_bytes":100}`, api.StatusNone, false},
		{`{"seq":1,"batch":-5}`, api.StatusBadRequest, false},
		{`{"seq":1,"max_bytes":-5}`, api.StatusBadRequest, false},
		{`{"batch":2}`, api.StatusEmptyRequest, false},
		{`{"multi_last":["s.a"]}`, api.StatusNone, false},
		{`{"multi_last":["s.a"],"seq":4,"up_to_seq":9,"batch":1}`, api.StatusNone, false},
		{`{"multi_last":[]}`, api.StatusEmptyRequest, false},
		{`{"multi_last":["s.a"],"last_by_subj":"s.a"}`, api.StatusBadRequest, false},
		{`{"multi_last":["s.a"],"next_by_subj":"s.a"}`, api.StatusBadRequest, false},
		{`{"multi_last":["s.a"],"up_to_seq":1,"up_to_time":` + at + `}`, api.StatusBadRequest, false},
		{`{"up_to_seq":1}`, api.StatusEmptyRequest, false},
	}
	for _, tt := range tests {
		r, got := api.ParseDirectGet("", []byte(tt.body))
		if got != tt.direct {
			t.Errorf("direct get of %s: got %q, want %q", tt.body, got.Block(), tt.direct.Block())
		}
		if got != api.StatusNone && !reflect.DeepEqual(r, api.GetRequest{}) {
			t.Errorf("direct get of %s is refused, but says %+v", tt.body, r)
		}
		var m api.GetRequest
		if err := (&api.Decoder{}).Decode(api.CallStreamMessageGet, []byte(tt.body), &m); err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); (err == nil) != tt.message || err != nil && err.ErrCode != 10003 {
			t.Errorf("message get of %s: got %v, want it taken: %v", tt.body, err, tt.message)
		}
	}
}

// TestParseDirectGet checks what bodies of direct gets may be.
func TestParseDirectGet(t *testing.T) {
	tests := []struct {
		subject, body string
		want          api.GetRequest
		status        api.Status
	}{
		{"", "", api.GetRequest{}, api.StatusEmptyRequest},
		{"", "null", api.GetRequest{}, api.StatusEmptyRequest},
		{"", "x", api.GetRequest{}, api.StatusMalformedRequest},
		{"", `{"seq":1`, api.GetRequest{}, api.StatusMalformedRequest},
		{"", `{"seq":-1}`, api.GetRequest{}, api.StatusMalformedRequest},
		{"", `{"seq":1,"seq":2}`, api.GetRequest{}, api.StatusMalformedRequest},
		{"", ` {"seq":1,"foo":2}`, api.GetRequest{Sequence: 1}, api.StatusNone},
		{"s.a", "", api.GetRequest{LastBySubject: "s.a"}, api.StatusNone},
		{"s.a", "{}", api.GetRequest{LastBySubject: "s.a"}, api.StatusNone},
		{"s.a", `{"no_hdr":true,"foo":1}`, api.GetRequest{LastBySubject: "s.a", NoHeader: true}, api.StatusNone},
		{"s.a", `{"seq":1}`, api.GetRequest{}, api.StatusBadRequest},
		{"s.a", `{"batch":1}`, api.GetRequest{}, api.StatusBadRequest},
		{"s.a", "x", api.GetRequest{}, api.StatusMalformedRequest},
	}
	for _, tt := range tests {
		got, status := api.ParseDirectGet(tt.subject, []byte(tt.body))
		if status != tt.status || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %s: got %+v %q, want %+v %q", tt.subject, tt.body, got, status.Block(), tt.want, tt.status.Block())
		}
		if got.Several() {
			t.Errorf("%s %s: is taken to want several", tt.subject, tt.body)
		}
	}
	if r, _ := api.ParseDirectGet("", []byte(`{"multi_last":["a"]}`)); !r.Several() {
		t.Error("several are not seen in multi_last")
	}
	if r, _ := api.ParseDirectGet("", []byte(`{"seq":1,"batch":1}`)); !r.Several() {
		t.Error("several are not seen in batch")
	}
}

// TestDirectHeader pins the header blocks of what a direct get answers.
func TestDirectHeader(t *testing.T) {
	at := time.Date(2026, 11, 30, 0, 12, 25, 858856308, time.UTC).UnixNano()
	const own = "Nats-Stream: S\r\nNats-Subject: s.b\r\nNats-Sequence: 2\r\nNats-Time-Stamp: 2026-11-30T00:12:25.858856308Z\r\n"
	tests := []struct {
		name   string
		header string
		want   string
	}{
		{"no header", "", "NATS/1.0\r\n" + own},
		{"header", "NATS/1.0\r\nFoo: bar\r\n\r\n", "NATS/1.0\r\nFoo: bar\r\n" + own},
		{"empty header", "NATS/1.0\r\n\r\n", "NATS/1.0\r\n" + own},
		{"no header block", "Foo: bar", "NATS/1.0\r\n" + own},
		{
			"republished", "NATS/1.0\r\nNats-Stream: O\r\nFoo: bar\r\nNats-Sequence: 77\r\nNats-Last-Sequence: 5\r\n\r\n",
			"NATS/1.0\r\nFoo: bar\r\n" + own,
		},
		{"nothing but republished", "NATS/1.0\r\nNats-Stream: O\r\n\r\n", "NATS/1.0\r\n" + own},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := api.Direct{Stream: "S", Subject: "s.b", Header: []byte(tt.header), Sequence: 2, Time: at}
			if got := string(api.AppendDirectHeader(nil, &m)); got != tt.want+"\r\n" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			want := tt.want + "Nats-Num-Pending: 4\r\nNats-Last-Sequence: 1\r\n\r\n"
			got := api.AppendBatchHeader(nil, &m, 4, 1)
			if string(got) != want || !headers.Valid(got) {
				t.Errorf("one of several: got %q, want %q", got, want)
			}
			if string(m.Header) != tt.header {
				t.Errorf("the stored header is changed: %q", m.Header)
			}
		})
	}
	const end = "NATS/1.0 204 EOB\r\nNats-Num-Pending: 1\r\nNats-Last-Sequence: 2\r\n"
	if got := string(api.AppendBatchEnd(nil, 1, 2, 0)); got != end+"\r\n" {
		t.Errorf("end: got %q", got)
	}
	if got := string(api.AppendBatchEnd(nil, 1, 2, 9)); got != end+"Nats-UpTo-Sequence: 9\r\n\r\n" {
		t.Errorf("end of last messages: got %q", got)
	}
}

// TestDirectAllocations checks that answers cost no garbage.
func TestDirectAllocations(t *testing.T) {
	out := make([]byte, 0, 400)
	m := api.Direct{Stream: "S", Subject: "s.b", Header: []byte("NATS/1.0\r\nFoo: bar\r\n\r\n"), Sequence: 2, Time: 1795997545858594015}
	if got := testing.AllocsPerRun(100, func() { out = api.AppendBatchHeader(out[:0], &m, 4, 1) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// FuzzDirectGet gives any body and header. What is answered has to be a header block, with our sequence first.
func FuzzDirectGet(f *testing.F) {
	f.Add("", []byte(`{"seq":1,"batch":5}`), []byte("NATS/1.0\r\nFoo: bar\r\n\r\n"))
	f.Add("s.a", []byte(""), []byte("NATS/1.0 503 x\r\nNats-Sequence: 4\r\n\r\n"))
	f.Fuzz(func(t *testing.T, subject string, body, header []byte) {
		if r, status := api.ParseDirectGet(subject, body); status == api.StatusNone && (r.Batch < 0 || r.MaxBytes < 0) {
			t.Errorf("got %+v", r)
		}
		got := api.AppendDirectHeader(nil, &api.Direct{Stream: "S", Subject: "s", Header: header, Sequence: 2})
		if value, _ := headers.Get(got, "Nats-Sequence"); !headers.Valid(got) || string(value) != "2" {
			t.Errorf("got %q of %q", got, header)
		}
	})
}

func BenchmarkDirectHeader(b *testing.B) {
	out := make([]byte, 0, 400)
	m := api.Direct{Stream: "KV_B", Subject: "$KV.B.key", Sequence: 123456, Time: 1795997545858594015}
	b.ReportAllocs()
	for b.Loop() {
		out = api.AppendDirectHeader(out[:0], &m)
	}
}

func BenchmarkParseDirectGet(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, status := api.ParseDirectGet("$KV.B.key", nil); status != api.StatusNone {
			b.Fatal(status)
		}
	}
}
