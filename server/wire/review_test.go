package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"runnel/server/wire"
)

// TestNumbersBeyondAnInt: sizes that no int of 32 bits holds are too large, and not negative or small, where an int
// has 32 bits as well (GOARCH=386). Every digit is tried, since some overflow to a number that looks right.
func TestNumbersBeyondAnInt(t *testing.T) {
	const limit = 1 << 20
	for n := uint64(1); n < 1<<63; n = n*3 + 1 {
		p := wire.Parser{Limits: wire.Limits{ControlLineBytes: 4096, PayloadBytes: limit}}
		var f wire.Frame
		for _, line := range []string{"PUB a  %d\r\nxx\r\n", "PUB a 0%d\r\nxx\r\n", "HPUB a 0%[1]d %[1]d\r\nxx\r\n"} {
			line = fmt.Sprintf(line, n)
			if _, err := p.Next([]byte(line), &f); n > limit != errors.Is(err, wire.ErrPayload) {
				t.Errorf("%q: error = %v", line, err)
			}
		}
		line := fmt.Sprintf("UNSUB 1 %d\r\n", n)
		want := int(min(n, 1<<30))
		if _, err := p.Next([]byte(line), &f); err != nil || f.Max != want {
			t.Errorf("%q: max = %d, %v, want %d", line, f.Max, err, want)
		}
	}
}
