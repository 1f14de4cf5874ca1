package api_test

import (
	"encoding/json"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// TestPubAck pins what publishers are answered.
func TestPubAck(t *testing.T) {
	tests := []struct {
		name string
		ack  api.PubAck
		want string
	}{
		{"stored", api.PubAck{Stream: "S", Sequence: 2}, `{"stream":"S","seq":2}`},
		{"duplicate", api.PubAck{Stream: "S", Sequence: 3, Duplicate: true}, `{"stream":"S","seq":3,"duplicate":true}`},
		{"counter in a domain", api.PubAck{Stream: "S", Sequence: 3, Domain: "hub", Value: "-12"}, `{"stream":"S","seq":3,"domain":"hub","val":"-12"}`},
		{"batch", api.PubAck{Stream: "S", Sequence: 9, Batch: "b<1>", Count: 5}, `{"stream":"S","seq":9,"batch":"b\u003c1\u003e","count":5}`},
		{
			"refused",
			api.PubAck{Stream: "S", Error: api.NewError(config.WrongLastSequence, "2")},
			`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 2"},"stream":"S","seq":0}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(api.AppendPubAck([]byte("x"), &tt.ack)); got != "x"+tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestFlowNotes pins what publishers of fast batches hear on the way.
func TestFlowNotes(t *testing.T) {
	tests := []struct{ got, want string }{
		{string(api.AppendFlowAck(nil, 7, 10)), `{"type":"ack","seq":7,"msgs":10}`},
		{string(api.AppendFlowGap(nil, 3, 5)), `{"type":"gap","last_seq":3,"seq":5}`},
		{
			string(api.AppendFlowError(nil, 4, api.NewError(api.BatchUnknown))),
			`{"type":"err","seq":4,"error":{"code":400,"err_code":10208,"description":"batch publish ID unknown"}}`,
		},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// TestPubAckAllocations checks that answers cost no garbage.
func TestPubAckAllocations(t *testing.T) {
	out := make([]byte, 0, 300)
	a := api.PubAck{Stream: "ORDERS", Sequence: 1 << 40, Domain: "hub", Batch: "b", Count: 4, Error: api.NewError(config.Sealed)}
	if got := testing.AllocsPerRun(100, func() { out = api.AppendPubAck(out[:0], &a) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// FuzzPubAck checks that the answer is what encoding/json would have made of it.
func FuzzPubAck(f *testing.F) {
	f.Add("S", uint64(1), "hub", true, "12", "b", 3, "text")
	f.Add("\xff\"\\<\u2028", uint64(0), "é", false, "\n", "\x7f", -1, "&")
	f.Fuzz(func(t *testing.T, stream string, sequence uint64, domain string, duplicate bool, value, batch string, count int, text string) {
		a := api.PubAck{Stream: stream, Sequence: sequence, Domain: domain, Duplicate: duplicate, Value: value, Batch: batch, Count: count}
		if text != "" {
			a.Error = &api.Error{Code: 400, ErrCode: count, Description: text}
		}
		want, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if got := api.AppendPubAck(nil, &a); string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func BenchmarkPubAck(b *testing.B) {
	a := api.PubAck{Stream: "ORDERS", Sequence: 123456789}
	out := make([]byte, 0, 100)
	b.ReportAllocs()
	for b.Loop() {
		out = api.AppendPubAck(out[:0], &a)
	}
}
