package wire_test

import (
	"testing"

	"runnel/server/wire"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct{ sent, want string }{
		{"PUB a 1\r\nx\r\n", "PUB a 1"},
		{"PUB a r 1\r\nx\r\n", "PUB a r 1"},
		{"HPUB a r 12 13\r\nNATS/1.0\r\n\r\nx\r\n", "HPUB a r 12 13"},
		{"SUB a 1\r\n", "SUB a 1"},
		{"SUB a q 1\r\n", "SUB a q 1"},
		{"UNSUB 1\r\n", "UNSUB 1"},
		{"UNSUB 1 5\r\n", "UNSUB 1 5"},
		{"CONNECT {\"pass\":1}\r\n", "CONNECT"},
		{"PING\r\n", "PING"},
	} {
		p := wire.Parser{Limits: limits}
		var f wire.Frame
		if n, err := p.Next([]byte(tt.sent), &f); n != len(tt.sent) || err != nil {
			t.Fatalf("%q: %v, %v", tt.sent, n, err)
		}
		if got := f.Line(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.sent, got, tt.want)
		}
	}
}
