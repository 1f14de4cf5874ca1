package ahead_test

import (
	"testing"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery/ahead"
)

// TestPasses: a message for one consumer alone is passed over by all others, whatever else is in its header.
func TestPasses(t *testing.T) {
	block := func(name, value string) []byte {
		return headers.Build(headers.Field{Name: "My", Value: "own"}, headers.Field{Name: name, Value: value})
	}
	for _, c := range []struct {
		name   string
		header []byte
		want   bool
	}{
		{"no header", nil, false},
		{"others", block("Runnel-Redrive", "d"), false},
		{"for it", block(api.RedriveTo, "c"), false},
		{"for another one", block(api.RedriveTo, "cc"), true},
		{"for nobody", block(api.RedriveTo, ""), true},
		{"a value that is called like it", block("My", api.RedriveTo+": d"), false},
	} {
		if got := ahead.Passes(&jetlog.Message{Header: c.header}, "c"); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

// BenchmarkPasses is what it costs a message without headers, and one with some.
func BenchmarkPasses(b *testing.B) {
	for name, header := range map[string][]byte{
		"none": nil,
		"some": headers.Build(headers.Field{Name: "Nats-Msg-Id", Value: "order-4711"}, headers.Field{Name: "Traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			m := &jetlog.Message{Header: header}
			for b.Loop() {
				if ahead.Passes(m, "c") {
					b.Fatal("it is passed over")
				}
			}
		})
	}
}
