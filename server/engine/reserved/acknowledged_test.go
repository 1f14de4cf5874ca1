package reserved_test

import (
	"testing"

	"runnel/headers"
	"runnel/server/engine/reserved"
)

func TestAcknowledged(t *testing.T) {
	block := func(name, value string) []byte { return headers.Build(headers.Field{Name: name, Value: value}) }
	for _, tt := range []struct {
		about  string
		header []byte
		want   string
		none   bool
	}{
		{"nothing", nil, "", true},
		{"another header", block("A", "Runnel-Ack"), "", true},
		{"a longer name", block("Runnel-Acknowledge", "x"), "", true},
		{"one", block("Runnel-Ack", "$JS.ACK.S.C.1.2.3.4.5"), "$JS.ACK.S.C.1.2.3.4.5", false},
		{"an empty one", block("Runnel-Ack", ""), "", false},
	} {
		if got := reserved.Acknowledged(tt.header); string(got) != tt.want || (got == nil) != tt.none {
			t.Errorf("%s: got %q, want %q", tt.about, got, tt.want)
		}
	}
}
