package preamble_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"runnel/server/preamble"
)

// binaryOf is a preamble of version 2.
func binaryOf(command, family byte, address []byte) string {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(address)))
	return string(append(b, address...))
}

// addresses are source and destination of version 2, with the source's port 4660.
func addresses(source string) []byte {
	a := netip.MustParseAddr(source).AsSlice()
	b := append(append([]byte(nil), a...), a...)
	return append(b, 0x12, 0x34, 0x10, 0x7e)
}

func TestParse(t *testing.T) {
	const line = "PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222\r\n"
	four, six := addresses("192.0.2.1"), addresses("2001:db8::1")
	tests := []struct {
		name, text string
		want       string // the source, "-" for none, "plain" without a preamble; empty: malformed
	}{
		{"a client of its own", "CONNECT {}\r\n", "plain"},
		{"a PING", "PING\r\n", "plain"},
		{"a PUB", "PUB a 0\r\n\r\n", "plain"},
		{"a handshake of TLS", "\x16\x03\x01", "plain"},
		{"empty lines", "\r\n\r\nPING\r\n", "plain"},
		{"line, IPv4", line, "192.0.2.1:4660"},
		{"line, IPv6", "PROXY TCP6 2001:db8::1 ::1 4660 4222\r\n", "[2001:db8::1]:4660"},
		{"line, not known", "PROXY UNKNOWN\r\n", "-"},
		{"line, not known with more", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "-"},
		{"line, no address", "PROXY TCP4 nope 10.0.0.1 4660 4222\r\n", ""},
		{"line, no destination", "PROXY TCP4 192.0.2.1 nope 4660 4222\r\n", ""},
		{"line, zone", "PROXY TCP6 fe80::1%eth0 ::1 4660 4222\r\n", ""},
		{"line, port too large", "PROXY TCP4 192.0.2.1 10.0.0.1 65536 4222\r\n", ""},
		{"line, negative port", "PROXY TCP4 192.0.2.1 10.0.0.1 -1 4222\r\n", ""},
		{"line, IPv6 for IPv4", "PROXY TCP4 ::1 ::1 4660 4222\r\n", ""},
		{"line, IPv4 for IPv6", "PROXY TCP6 192.0.2.1 10.0.0.1 4660 4222\r\n", ""},
		{"line, another family", "PROXY UDP4 192.0.2.1 10.0.0.1 4660 4222\r\n", ""},
		{"line, too few words", "PROXY TCP4\r\n", ""},
		{"line, too many words", "PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222 1\r\n", ""},
		{"line, two blanks", "PROXY TCP4  192.0.2.1 10.0.0.1 4660 4222\r\n", ""},
		{"line, no CR", "PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222\n", ""},
		{"line without end", "PROXY " + strings.Repeat("x", preamble.MaxLineBytes), ""},
		{"line too long", "PROXY UNKNOWN " + strings.Repeat("x", preamble.MaxLineBytes) + "\r\n", ""},
		{"binary, IPv4", binaryOf(0x21, 0x11, four), "192.0.2.1:4660"},
		{"binary, IPv4 with extensions", binaryOf(0x21, 0x11, append(four, 4, 0, 1, 9)), "192.0.2.1:4660"},
		{"binary, IPv6", binaryOf(0x21, 0x21, six), "[2001:db8::1]:4660"},
		{"binary, the balancer itself", binaryOf(0x20, 0, nil), "-"},
		{"binary, the balancer itself with addresses", binaryOf(0x20, 0x11, four), "-"},
		{"binary, no family", binaryOf(0x21, 0, nil), ""},
		{"binary, UDP", binaryOf(0x21, 0x12, four), ""},
		{"binary, UNIX", binaryOf(0x21, 0x31, make([]byte, 216)), ""},
		{"binary, address too short", binaryOf(0x21, 0x21, four), ""},
		{"binary, another command", binaryOf(0x25, 0x11, four), ""},
		{"binary, version 1", binaryOf(0x11, 0x11, four), ""},
		{"binary, too long", binaryOf(0x21, 0x11, make([]byte, preamble.MaxAddressBytes+1)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, rest := range []string{"", "CONNECT {}\r\n"} {
				source, used, err := feed(t, tt.text+rest)
				switch {
				case tt.want == "":
					if !errors.Is(err, preamble.ErrMalformed) {
						t.Errorf("got error %v, want %v", err, preamble.ErrMalformed)
					}
				case err != nil:
					t.Errorf("got error %v", err)
				case tt.want == "plain":
					if used != 0 {
						t.Errorf("%d bytes are taken for a preamble", used)
					}
				case used != len(tt.text):
					t.Errorf("%d bytes used, want %d", used, len(tt.text))
				case tt.want == "-" && source.IsValid(), tt.want != "-" && source.String() != tt.want:
					t.Errorf("got source %v, want %s", source, tt.want)
				}
			}
		})
	}
}

// feed gives Parse as many bytes as it asks for, and no more.
func feed(t testing.TB, text string) (source netip.AddrPort, used int, err error) {
	t.Helper()
	have := 0
	for {
		p, used, need, err := preamble.Parse([]byte(text[:have]))
		if err != nil || need == 0 {
			if used > have || used > 0 && used != have {
				t.Errorf("%d bytes were read, %d are used", have, used)
			}
			return p.Source, used, err
		}
		if have == len(text) {
			return netip.AddrPort{}, 0, nil
		}
		have = min(len(text), have+need)
	}
}

// FuzzParse: a preamble is never longer than what there is, what is complete stays the same with more behind it, and
// no source comes from nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222\r\n", "PROXY UNKNOWN\r\n", "PROXY TCP6 ::1 ::1 1 2\r\n", "PING\r\n",
		binaryOf(0x21, 0x11, addresses("192.0.2.1")), binaryOf(0x20, 0, nil), binaryOf(0x21, 0x21, addresses("::1")),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, used, need, err := preamble.Parse(b)
		if used > len(b) || need < 0 || need > 0 && used > 0 || err != nil && (used != 0 || need != 0 || p.Source.IsValid()) {
			t.Fatalf("Parse(%q) = %v, %d, %d, %v", b, p, used, need, err)
		}
		if used == 0 && p.Source.IsValid() {
			t.Fatalf("a source without a preamble: %q", b)
		}
		if used > 0 {
			again, usedAgain, _, err := preamble.Parse(append(b[:used:used], "PING\r\n"...))
			if err != nil || usedAgain != used || again != p {
				t.Fatalf("%q with more behind it: %v, %d, %v", b, again, usedAgain, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte("PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222\r\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, used, _, err := preamble.Parse(line); used == 0 || err != nil {
			b.Fatal(used, err)
		}
	}
}
