package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
)

// TestParsePull gives bodies that are fine.
func TestParsePull(t *testing.T) {
	all := api.PullRequest{
		Batch: 5, MaxBytes: 100, Expires: time.Second, NoWait: true, Heartbeat: 500 * time.Millisecond, Group: "a",
		MinPending: 7, MinAckPending: 8, ID: "x", Priority: 3,
	}
	tests := []struct {
		name, body string
		want       api.PullRequest
	}{
		{"nothing", "", api.PullRequest{Batch: 1}},
		{"blanks", " \r\n", api.PullRequest{Batch: 1}},
		{"number", "5", api.PullRequest{Batch: 5}},
		{"zero", "0", api.PullRequest{Batch: 1}},
		{"empty object", "{}", api.PullRequest{Batch: 1}},
		{"batch of none", ` { "batch" : 0 , "no_wait" : false } `, api.PullRequest{Batch: 1}},
		{
			"everything", `{"batch":5,"max_bytes":100,"expires":1000000000,"no_wait":true,"idle_heartbeat":500000000,"group":"a",` +
				`"min_pending":7,"min_ack_pending":8,"id":"x","priority":3}`, all,
		},
		{"unknown", `{"foo":{"a":[1]},"no_wait":true}`, api.PullRequest{Batch: 1, NoWait: true}},
		{"another case", `{"BATCH":2}`, api.PullRequest{Batch: 2}},
		{"escape", `{"group":"\u0061"}`, api.PullRequest{Batch: 1, Group: "a"}},
		{"negative priority", `{"priority":-1}`, api.PullRequest{Batch: 1, Priority: -1}},
		{"null", `{"batch":null}`, api.PullRequest{Batch: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := api.ParsePull([]byte(tt.body)); err != nil || got != tt.want {
				t.Errorf("got %+v %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// TestParsePullRefused gives bodies that make no sense, and the status that says so.
func TestParsePullRefused(t *testing.T) {
	tests := []struct{ body, want string }{
		{"{", "unexpected EOF"},
		{`{"batch":1}x`, "invalid character 'x' after top-level value at offset 12"},
		{`{"batch":1.5}`, "json: cannot unmarshal number 1.5 into field batch of type integer"},
		{`{"batch":"1"}`, "json: cannot unmarshal string into field batch of type integer"},
		{`{"expires":"5s"}`, "json: cannot unmarshal string into field expires of type integer"},
		{`{"batch":99999999999999999999}`, "json: cannot unmarshal number 99999999999999999999 into field batch of type integer"},
		{`{"batch":01}`, "invalid character '1' after object key:value pair at offset 11"},
		{`{"batch":1,"batch":2}`, `json: duplicate field "batch" at offset 12`},
		{`{"batch":1,}`, "invalid character '}' looking for beginning of object key string at offset 12"},
		{`{"batch":-1}`, "batch is out of range"},
		{`{"batch":3000000000}`, "batch is out of range"},
		{`{"max_bytes":-1}`, "max_bytes is negative"},
		{`{"expires":-5}`, "expires is negative"},
		{`{"idle_heartbeat":-5}`, "idle_heartbeat is negative"},
		{`{"min_pending":-1}`, "min_pending or min_ack_pending is negative"},
		{`{"idle_heartbeat":90000000}`, "heartbeat value too large"},
		{`{"expires":100000000,"idle_heartbeat":90000000}`, "heartbeat value too large"},
		{"{\"group\":\"\xff\"}", "json: invalid UTF-8 at offset 11"},
		{"-5", `batch is not a number: "-5"`},
		{"abc", `batch is not a number: "abc"`},
		{"2.5", `batch is not a number: "2.5"`},
		{"9999999999", "batch is out of range"},
		{"99999999999999999999999", `batch is not a number: "99999999999999999999999"`},
		{"[1]", `batch is not a number: "[1]"`},
	}
	for _, tt := range tests {
		_, err := api.ParsePull([]byte(tt.body))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.body, err, tt.want)
			continue
		}
		want := "NATS/1.0 400 Bad Request - " + tt.want + "\r\n\r\n"
		if got := string(api.BadRequest(err.Error())); got != want {
			t.Errorf("%s: got %q, want %q", tt.body, got, want)
		}
	}
	if got := api.BadRequest(strings.Repeat("x\r\n", 1000)); len(got) > 600 || strings.Count(string(got), "\n") != 2 {
		t.Errorf("a long reason: got %q", got)
	}
}

// TestParsePullAllocations checks that what clients usually send costs no garbage.
func TestParsePullAllocations(t *testing.T) {
	for _, body := range []string{"", "100", `{"batch":500,"expires":30000000000,"idle_heartbeat":5000000000,"no_wait":true}`} {
		data := []byte(body)
		if got := testing.AllocsPerRun(100, func() { api.ParsePull(data) }); got != 0 {
			t.Errorf("%s: got %v allocations, want none", body, got)
		}
	}
}

// FuzzParsePull checks that the quick way reads objects as encoding/json does.
func FuzzParsePull(f *testing.F) {
	f.Add(`{"batch":5,"max_bytes":100,"expires":1000000000,"no_wait":true,"idle_heartbeat":500000000,"group":"a"}`)
	f.Add(`{"min_pending":7 , "min_ack_pending":8,"id":"x","priority":3}`)
	f.Add("5")
	f.Add(`{"batch":1,"b":[{}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := api.ParsePull([]byte(body))
		if err != nil {
			return
		}
		if got.Batch < 1 || got.MaxBytes < 0 || got.Expires < 0 || got.Heartbeat < 0 || got.Heartbeat > got.Expires/2 || got.MinPending < 0 || got.MinAckPending < 0 {
			t.Errorf("got %+v", got)
		}
		if !strings.HasPrefix(strings.TrimSpace(body), "{") {
			return
		}
		var want api.PullRequest
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		want.Batch = max(want.Batch, 1)
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func BenchmarkParsePull(b *testing.B) {
	body := []byte(`{"batch":500,"expires":30000000000,"idle_heartbeat":5000000000}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.ParsePull(body); err != nil {
			b.Fatal(err)
		}
	}
}
