package websocket_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"runnel/server/websocket"
)

// script is a socket that reads given bytes in chunks and forgets writes.
type script struct {
	in    []byte
	chunk int
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.chunk)], s.in)
	s.in = s.in[n:]
	return n, nil
}
func (s *script) Write(p []byte) (int, error)      { return len(p), nil }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return nil }
func (s *script) RemoteAddr() net.Addr             { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// readAll reads raw client bytes to their end: data and verdict.
func readAll(raw []byte, compressed bool, chunk, size int) ([]byte, error) {
	c := websocket.NewTestConn(&script{bytes.Clone(raw), chunk}, compressed, 1<<20)
	defer c.Close()
	var out []byte
	buf := make([]byte, size)
	for {
		n, err := c.Read(buf)
		out = append(out, buf[:n]...)
		if err != nil {
			return out, err
		}
	}
}

// FuzzFrames feeds raw client bytes: whatever they are, reading ends, with
// the same data and the same verdict however the bytes are cut.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{}, false, 1, 1)
	f.Add(masked(fin|bin, "PING\r\n"), false, 1, 10)
	f.Add(bytes.Join([][]byte{masked(bin, "PI"), masked(fin|ping, "hi"), masked(fin|cont, "NG\r\n")}, nil), false, 3, 2)
	f.Add(masked(fin|text, strings.Repeat("x", 300)), true, 1000, 100)
	f.Add(append(masked(fin|bin, "a"), masked(fin|cls, "\x03\xe8bye")...), false, 5, 5)
	f.Add(append(masked(fin|bin|deflated, squeeze(f, strings.Repeat("abc", 1000))), masked(fin|bin, "z")...), true, 7, 9)
	f.Add(append(masked(bin|deflated, "\xf3\x48\xcd"), masked(fin|cont, "\xc9\xc9\x07\x00\x00")...), true, 1, 1)
	f.Add([]byte{fin | bin, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5}, true, 2, 2)
	// Cut inside a compressed message, with output that still waits.
	f.Add([]byte("A\x832800808\x80\x8500000"), true, 1, 1)
	f.Fuzz(func(t *testing.T, raw []byte, compressed bool, chunk, size int) {
		chunk, size = 1+chunk&0xfff, 1+size&0xfff
		want, wantErr := readAll(raw, compressed, 64<<10, 64<<10)
		got, gotErr := readAll(raw, compressed, chunk, size)
		if wantErr.Error() != gotErr.Error() {
			t.Errorf("got error %v in chunks of %d, %v whole", gotErr, chunk, wantErr)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got %.80q in chunks of %d, %.80q whole", got, chunk, want)
		}
	})
}
