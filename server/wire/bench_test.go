package wire_test

import (
	"strings"
	"testing"

	"runnel/server/wire"
)

// lines are what the parser meets all day.
var lines = []struct{ name, text string }{
	{"PUB-16", "PUB telemetry.device.42 16\r\n" + strings.Repeat("x", 16) + "\r\n"},
	{"PUB-128", "PUB telemetry.device.42 128\r\n" + strings.Repeat("x", 128) + "\r\n"},
	{"PUB-reply", "PUB orders.get _INBOX.Ab3dEf9hIjKlMnOpQrStUv.Xy12Zw34 128\r\n" + strings.Repeat("x", 128) + "\r\n"},
	{"HPUB", "HPUB telemetry.device.42 31 159\r\nNATS/1.0\r\nTraceparent: 00-1\r\n\r\n" + strings.Repeat("x", 128) + "\r\n"},
	{"SUB", "SUB telemetry.device.* workers 17\r\n"},
	{"UNSUB", "UNSUB 17 5\r\n"},
	{"PING", "PING\r\n"},
}

var serverLimits = wire.Limits{ControlLineBytes: 4096, PayloadBytes: 1 << 20}

// TestParseAllocatesNothing covers every frame in canonical form.
func TestParseAllocatesNothing(t *testing.T) {
	for _, l := range lines {
		b := []byte(l.text)
		p := wire.Parser{Limits: serverLimits}
		var f wire.Frame
		var n int
		var err error
		if got := testing.AllocsPerRun(100, func() { n, err = p.Next(b, &f) }); got != 0 {
			t.Errorf("%s: %v allocations, want 0", l.name, got)
		}
		if n != len(b) || err != nil {
			t.Errorf("%s: parsed %d of %d bytes, %v", l.name, n, len(b), err)
		}
	}
}

// BenchmarkParse reads a buffer of 64 KiB full of equal frames; an operation is one frame.
func BenchmarkParse(b *testing.B) {
	for _, l := range lines {
		b.Run(l.name, func(b *testing.B) {
			buf := []byte(strings.Repeat(l.text, 64<<10/len(l.text)))
			p := wire.Parser{Limits: serverLimits}
			var f wire.Frame
			b.ReportAllocs()
			b.SetBytes(int64(len(l.text)))
			rest := buf
			for b.Loop() {
				n, err := p.Next(rest, &f)
				if err != nil || n == 0 {
					b.Fatal(n, err)
				}
				if rest = rest[n:]; len(rest) == 0 {
					rest = buf
				}
			}
		})
	}
}
