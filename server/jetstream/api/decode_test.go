package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// TestDecodeRules checks what each kind of endpoint makes of empty, odd and unknown.
func TestDecodeRules(t *testing.T) {
	const unknown = `invalid JSON: json: unknown field "x" (10025)`
	tests := []struct {
		name     string
		endpoint api.Endpoint
		body     string
		request  any
		want     string // the error, empty for none
	}{
		{"create, empty", api.CallStreamCreate, "", &api.StreamConfigRequest{}, ""},
		{"create, blank", api.CallStreamCreate, " \r\n", &api.StreamConfigRequest{}, ""},
		{"create, null", api.CallStreamCreate, "null", &api.StreamConfigRequest{}, ""},
		{"create, unknown", api.CallStreamCreate, `{"name":"S","x":1}`, &api.StreamConfigRequest{}, unknown},
		{"create, unknown inside", api.CallConsumerCreate, `{"config":{"x":1}}`, &api.ConsumerRequest{}, unknown},
		{"create, cut off", api.CallStreamCreate, `{"name":"S","subjects":["s.>"`, &api.StreamConfigRequest{}, "invalid JSON: unexpected EOF (10025)"},
		{"create, syntax", api.CallStreamCreate, `{"name":"S","subjects":["s.>"}`, &api.StreamConfigRequest{}, "invalid JSON: invalid character '}' after array element at offset 30 (10025)"},
		{"create, no JSON", api.CallStreamCreate, "abc", &api.StreamConfigRequest{}, "invalid JSON: invalid character 'a' looking for beginning of value at offset 1 (10025)"},
		{"create, more after it", api.CallStreamCreate, `{"name":"S"} x`, &api.StreamConfigRequest{}, "invalid JSON: invalid character 'x' after top-level value at offset 14 (10025)"},
		{"message delete, two", api.CallStreamMessageDelete, `{"seq":1} {"seq":2}`, &api.MessageDeleteRequest{}, "invalid JSON: invalid character '{' after top-level value at offset 11 (10025)"},
		{"create, array", api.CallStreamCreate, "[]", &api.StreamConfigRequest{}, "invalid JSON: json: cannot unmarshal array into a request of type object (10025)"},
		{"message get, empty", api.CallStreamMessageGet, "", &api.GetRequest{}, "bad request (10003)"},
		{"message get, blank", api.CallStreamMessageGet, " ", &api.GetRequest{}, "bad request (10003)"},
		{"message get, unknown", api.CallStreamMessageGet, `{"x":1}`, &api.GetRequest{}, unknown},
		{"delete, empty", api.CallStreamDelete, "", nil, ""},
		{"delete, empty object", api.CallStreamDelete, " { } ", nil, ""},
		{"delete, member", api.CallStreamDelete, `{"a":1}`, nil, "expected an empty request payload (10038)"},
		{"delete, null", api.CallConsumerDelete, "null", nil, "expected an empty request payload (10038)"},
		{"delete, blank", api.CallConsumerDelete, " ", nil, "expected an empty request payload (10038)"},
		{"delete, brace", api.CallConsumerDelete, "{", nil, "expected an empty request payload (10038)"},
		{"names, empty", api.CallStreamNames, "", &api.StreamsRequest{}, ""},
		{"names, anything", api.CallStreamNames, "foo", &api.StreamsRequest{}, ""},
		{"names, array", api.CallStreamNames, "[1", &api.StreamsRequest{}, "invalid JSON: unexpected EOF (10025)"},
		{"names, unknown", api.CallStreamNames, ` {"x":1}`, &api.StreamsRequest{}, unknown},
		{"reset, unknown", api.CallConsumerReset, `{"x":1}`, &api.ResetRequest{}, ""},
		{"reset, no JSON", api.CallConsumerReset, "foo", &api.ResetRequest{}, "invalid JSON: invalid character 'o' in literal false (expecting 'a') at offset 2 (10025)"},
		{"unpin, unknown", api.CallConsumerUnpin, `{"group":"a","x":1}`, &api.UnpinRequest{}, ""},
		{"info, anything", api.CallConsumerInfo, "foo", nil, ""},
		{"pull, anything", api.CallConsumerNext, "foo", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := (&api.Decoder{}).Decode(tt.endpoint, []byte(tt.body), tt.request); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestDecodeValues checks what is said about values that do not fit, of which nothing may pass.
func TestDecodeValues(t *testing.T) {
	long := `"` + strings.Repeat("y", 2000) + `"`
	tests := []struct{ name, body, want string }{
		{"number for text", `{"name":5}`, "json: cannot unmarshal number into field name of type string"},
		{"fraction", `{"max_age":1.5}`, "json: cannot unmarshal number 1.5 into field max_age of type integer"},
		{"exponent", `{"max_msgs":1e3}`, "json: cannot unmarshal number 1e3 into field max_msgs of type integer"},
		{"text for number", `{"max_age":"1h"}`, "json: cannot unmarshal string into field max_age of type integer"},
		{"beyond int64", `{"max_msgs":99999999999999999999}`, "json: cannot unmarshal number 99999999999999999999 into field max_msgs of type integer"},
		{"beyond int32", `{"max_msg_size":9999999999}`, "json: cannot unmarshal number 9999999999 into field max_msg_size of type integer"},
		{"negative", `{"first_seq":-1}`, "json: cannot unmarshal number -1 into field first_seq of type unsigned integer"},
		{"inside", `{"consumer_limits":{"max_ack_pending":1.5}}`, "json: cannot unmarshal number 1.5 into field consumer_limits.max_ack_pending of type integer"},
		{"in a list", `{"sources":[{"opt_start_seq":-4}]}`, "json: cannot unmarshal number -4 into field sources.opt_start_seq of type unsigned integer"},
		{"truth", `{"sealed":1}`, "json: cannot unmarshal number into field sealed of type boolean"},
		{"unknown policy", `{"retention":"foo"}`, `there is no retention "foo"`},
		{"number for policy", `{"storage":1}`, "json: cannot unmarshal number into field storage of type string"},
		{"time", `{"mirror":{"opt_start_time":"foo"}}`, `parsing time "foo" as "2006-01-02T15:04:05Z07:00": cannot parse "foo" as "2006"`},
		{"duplicate", `{"name":"a","name":"a"}`, `json: duplicate field "name" at offset 13`},
		{"duplicate in another case", `{"name":"a","NAME":"a"}`, `json: duplicate field "NAME" at offset 13`},
		{"duplicate in another alphabet", `{"subjects":[],"ſubjects":[]}`, "json: duplicate field \"ſubjects\" at offset 16"},
		{"duplicate with an escape", `{"name":"a","n\u0061me":"a"}`, `json: duplicate field "name" at offset 13`},
		{"duplicate inside", `{"mirror":{"name":"a","name":"b"}}`, `json: duplicate field "name" at offset 23`},
		{"duplicate in metadata", `{"metadata":{"a":"b","a":"c"}}`, `json: duplicate field "a" at offset 22`},
		{"invalid UTF-8", "{\"name\":\"a\xff\"}", "json: invalid UTF-8 at offset 11"},
		{"half a pair", `{"name":"\ud83d"}`, "json: half a surrogate pair at offset 10"},
		{"half a pair and a letter", `{"description":"\ud83d\u0041"}`, "json: half a surrogate pair at offset 17"},
		{"second half alone", `{"metadata":{"\udc00":"a"}}`, "json: half a surrogate pair at offset 15"},
		{"deep", strings.Repeat("[", 100), "json: too deeply nested or too many members at offset 33"},
		{"many objects", `{"sources":[` + strings.Repeat("{},", 30000) + "{}]}", "json: too deeply nested or too many members at offset 60007"},
		{"many members", manyMembers(300000), "json: too deeply nested or too many members at offset 2288886"},
		{"long", `{"retention":` + long + "}", `there is no retention "` + strings.Repeat("y", 489) + "..."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r api.StreamConfigRequest
			err := (&api.Decoder{}).Decode(api.CallStreamCreate, []byte(tt.body), &r)
			if err == nil || err.ErrCode != int(api.InvalidJSON) || err.Code != 400 {
				t.Fatalf("got %v, want an error", err)
			}
			if got := strings.TrimPrefix(err.Description, "invalid JSON: "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// manyMembers returns an object with metadata of n members.
func manyMembers(n int) string {
	var b strings.Builder
	b.WriteString(`{"metadata":{"":""`)
	for i := range n {
		fmt.Fprintf(&b, `,"%d":""`, i)
	}
	b.WriteString("}}")
	return b.String()
}

// TestDecodeGood checks what has to pass.
func TestDecodeGood(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	tests := []struct {
		name     string
		endpoint api.Endpoint
		body     string
		want     any
	}{
		{
			"stream", api.CallStreamCreate, `{"NAME":"S","subjects":["a.>"],"max_age":3600000000000,"storage":"memory","pedantic":true,"retention":null}`,
			&api.StreamConfigRequest{Stream: config.Stream{Name: "S", Subjects: []string{"a.>"}, MaxAge: time.Hour, Storage: config.MemoryStorage}, Pedantic: true},
		},
		{
			"metadata that differs in case", api.CallStreamCreate, `{"metadata":{"a":"1","A":"2","name":"3"},"name":"S"}`,
			&api.StreamConfigRequest{Stream: config.Stream{Name: "S", Metadata: map[string]string{"a": "1", "A": "2", "name": "3"}}},
		},
		{
			"the same name in several sources", api.CallStreamCreate, `{"sources":[{"name":"a"},{"name":"b"}],"description":"\"name\":{"}`,
			&api.StreamConfigRequest{Stream: config.Stream{Description: `"name":{`, Sources: []*config.Source{{Name: "a"}, {Name: "b"}}}},
		},
		{
			"escapes", api.CallStreamCreate, `{"description":"\\ud83d \ud83d\ude00 \u00e9\n"}`,
			&api.StreamConfigRequest{Stream: config.Stream{Description: "\\ud83d \U0001F600 é\n"}},
		},
		{
			"consumer", api.CallConsumerCreate, `{"stream_name":"S","action":"update","config":{"name":"C","ack_policy":"explicit","backoff":[1,2],"opt_start_time":"2030-01-02T03:04:05.000000006Z"}}`,
			&api.ConsumerRequest{Stream: "S", Action: api.UpdateOnly, Config: config.Consumer{
				Name: "C", Ack: config.AckExplicit, Backoff: []time.Duration{1, 2}, StartTime: &at,
			}},
		},
		{"pause", api.CallConsumerPause, `{"pause_until":"2030-01-02T03:04:05.000000006Z"}`, &api.PauseRequest{Until: at}},
		{"purge", api.CallStreamPurge, `{"filter":"a.b","seq":5}`, &api.PurgeRequest{Filter: "a.b", Sequence: 5}},
		{
			"restore", api.CallStreamRestore, `{"config":{"name":"S"},"state":{"messages":1,"first_ts":"0001-01-01T00:00:00Z","subjects":{"a":1,"A":2},"deleted":[3],"lost":null,"consumer_count":1}}`,
			&api.RestoreRequest{Config: config.Stream{Name: "S"}, State: api.StreamState{
				Messages: 1, Subjects: map[string]uint64{"a": 1, "A": 2}, Deleted: []uint64{3}, Consumers: 1,
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := reflect.New(reflect.TypeOf(tt.want).Elem()).Interface()
			if err := (&api.Decoder{}).Decode(tt.endpoint, []byte(tt.body), got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestDecodeLenient checks that the server can be told to let unknown members pass, and nothing else.
func TestDecodeLenient(t *testing.T) {
	var told []string
	d := api.Decoder{Lenient: true, Ignored: func(e api.Endpoint, err error) { told = append(told, e.String()+": "+err.Error()) }}
	var r api.StreamConfigRequest
	if err := d.Decode(api.CallStreamCreate, []byte(`{"x":1,"name":"S"}`), &r); err != nil || r.Name != "S" {
		t.Errorf("got %v and %q, want S", err, r.Name)
	}
	if want := []string{`STREAM.CREATE: json: unknown field "x"`}; !reflect.DeepEqual(told, want) {
		t.Errorf("told: got %q, want %q", told, want)
	}
	d.Ignored = nil
	if err := d.Decode(api.CallStreamCreate, []byte(`{"x":1,"name":5}`), &r); err == nil {
		t.Error("a number passed for a name")
	}
	if err := d.Decode(api.CallStreamCreate, []byte(`{"x":1,"x":2}`), &r); err == nil {
		t.Error("a duplicate passed")
	}
}

// TestAction checks the names of actions.
func TestAction(t *testing.T) {
	for name, want := range map[string]api.Action{"": api.CreateOrUpdate, "create": api.CreateOnly, "update": api.UpdateOnly} {
		var got api.Action
		if err := got.UnmarshalText([]byte(name)); err != nil || got != want {
			t.Errorf("%q: got %v %v, want %v", name, got, err, want)
		}
		if text, err := want.MarshalText(); string(text) != name || err != nil {
			t.Errorf("%v: got %q %v, want %q", want, text, err, name)
		}
	}
	if err := new(api.Action).UnmarshalText([]byte("drop")); err == nil {
		t.Error("drop passed")
	}
}

// FuzzDecode gives anything to every request. What passes must be JSON that encoding/json accepts too.
func FuzzDecode(f *testing.F) {
	f.Add(`{"name":"S","subjects":["a.>"],"metadata":{"a":"b"}}`)
	f.Add(`{"stream_name":"S","config":{"ack_policy":"all","backoff":[1]},"action":"create"}`)
	f.Add(`{"seq":1,"last_by_subj":"a","batch":5,"multi_last":["a"],"up_to_time":"2030-01-02T03:04:05Z"}`)
	f.Add(`[{"a":"\"},{`)
	f.Add(`{"\u0000":{"a":[{"a":1,"\ud800":2}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		d := api.Decoder{}
		for e := api.CallUnknown; e <= api.CallAccountStreamCancelMove; e++ {
			d.Decode(e, []byte(body), &api.StreamConfigRequest{}) // any request with any rule
		}
		requests := map[api.Endpoint]any{
			api.CallStreamCreate: &api.StreamConfigRequest{}, api.CallStreamInfo: &api.StreamInfoRequest{},
			api.CallStreamNames: &api.StreamsRequest{}, api.CallConsumerNames: &api.ConsumersRequest{},
			api.CallStreamPurge: &api.PurgeRequest{}, api.CallStreamMessageDelete: &api.MessageDeleteRequest{},
			api.CallStreamMessageGet: &api.GetRequest{}, api.CallStreamSnapshot: &api.SnapshotRequest{},
			api.CallStreamRestore: &api.RestoreRequest{}, api.CallStreamPeerRemove: &api.PeerRequest{},
			api.CallStreamStepDown: &api.StepDownRequest{}, api.CallConsumerCreate: &api.ConsumerRequest{},
			api.CallConsumerPause: &api.PauseRequest{}, api.CallConsumerReset: &api.ResetRequest{},
			api.CallConsumerUnpin: &api.UnpinRequest{}, api.CallMetaRescue: &api.RescueRequest{},
			api.CallAccountStreamMove: &api.MoveRequest{}, api.CallServerRemove: &api.ServerRequest{},
			api.CallLag: &api.LagRequest{},
		}
		for e, request := range requests {
			err := d.Decode(e, []byte(body), request)
			if err != nil && (len(err.Description) > 600 || err.Code < 400) {
				t.Errorf("%s: got %+v", e, err)
			}
			if get, ok := request.(*api.GetRequest); ok && err == nil {
				get.Check()
			}
		}
		if d.Decode(api.CallStreamCreate, []byte(body), &api.StreamConfigRequest{}) == nil && strings.TrimSpace(body) != "" {
			var r api.StreamConfigRequest
			var syntax *json.SyntaxError
			if err := json.Unmarshal([]byte(body), &r); errors.As(err, &syntax) {
				t.Errorf("passed, but is no JSON: %v", err)
			}
		}
	})
}

func BenchmarkDecodeConsumer(b *testing.B) {
	body := []byte(`{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit","deliver_policy":"all","filter_subject":"a.b"},"action":"create"}`)
	b.ReportAllocs()
	for b.Loop() {
		var r api.ConsumerRequest
		if err := (&api.Decoder{}).Decode(api.CallConsumerCreate, body, &r); err != nil {
			b.Fatal(err)
		}
	}
}
