package api_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
)

// TestAckPayload pins what clients can say to a delivery.
func TestAckPayload(t *testing.T) {
	none := api.AckBody{}
	tests := []struct {
		payload string
		want    api.AckBody // zero: not one
	}{
		{"", api.AckBody{Kind: api.AckDone}},
		{"+ACK", api.AckBody{Kind: api.AckDone}},
		{"+OK", api.AckBody{Kind: api.AckDone}},
		{"+ACK ", none},
		{"+ack", none},
		{"OK", none},
		{"+WPI", api.AckBody{Kind: api.AckInProgress}},
		{"+WPI please", none},
		{"-NAK", api.AckBody{Kind: api.AckNak}},
		{"-NAK 1m30s", api.AckBody{Kind: api.AckNak, Delay: 90 * time.Second}},
		{"-NAK1s", api.AckBody{Kind: api.AckNak, Delay: time.Second}},
		{`-NAK {"delay":5000000}`, api.AckBody{Kind: api.AckNak, Delay: 5 * time.Millisecond}},
		{`-NAK {"delay": 5000000, "more": 1}`, api.AckBody{Kind: api.AckNak, Delay: 5 * time.Millisecond}},
		{`-NAK {"delay":1.5}`, api.AckBody{Kind: api.AckNak}},
		{`-NAK {"delay":-5}`, api.AckBody{Kind: api.AckNak}},
		{`-NAK {"delay"`, api.AckBody{Kind: api.AckNak}},
		{"-NAK -5s", api.AckBody{Kind: api.AckNak}},
		{"-NAK soon", api.AckBody{Kind: api.AckNak}},
		{"-NAK " + strings.Repeat("1", 100000) + "s", api.AckBody{Kind: api.AckNak}},
		{"+NXT", api.AckBody{Kind: api.AckNext}},
		{"+NXT 5", api.AckBody{Kind: api.AckNext, Request: []byte("5")}},
		{`+NXT {"batch":5}`, api.AckBody{Kind: api.AckNext, Request: []byte(`{"batch":5}`)}},
		{"+TERM", api.AckBody{Kind: api.AckTerminate}},
		{"+TERM it is broken ", api.AckBody{Kind: api.AckTerminate, Reason: "it is broken"}},
		{"+TERM \xff", api.AckBody{Kind: api.AckTerminate, Reason: "\ufffd"}},
		{"+TER", none},
		{"hello", none},
	}
	for _, tt := range tests {
		got, ok := api.ParseAckPayload([]byte(tt.payload))
		if !reflect.DeepEqual(got, tt.want) || ok != (tt.want.Kind != 0) {
			t.Errorf("%.40q: got %+v %v, want %+v", tt.payload, got, ok, tt.want)
		}
	}
}

// FuzzAckPayload checks that nothing makes a delay negative or a kind of nothing.
func FuzzAckPayload(f *testing.F) {
	f.Add([]byte(`-NAK {"delay":5}`))
	f.Add([]byte("+NXT 5"))
	f.Add([]byte("+TERM x"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		before := bytes.Clone(payload)
		got, ok := api.ParseAckPayload(payload)
		if ok != (got.Kind != 0) || got.Delay < 0 || !bytes.Equal(before, payload) {
			t.Errorf("%q: got %+v %v", before, got, ok)
		}
		if got.Kind == api.AckNext {
			if r, err := api.ParsePull(got.Request); err == nil && r.Batch < 1 {
				t.Errorf("%q: got %+v", before, r)
			}
		}
	})
}
