package websocket_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"runnel/server/websocket"
)

const offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n"

// squeeze compresses a message as a client does.
func squeeze(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, s)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}

// expand is the reverse.
func expand(t *testing.T, s string) string {
	t.Helper()
	b, err := io.ReadAll(flate.NewReader(strings.NewReader(s + "\x00\x00\xff\xff\x01\x00\x00\xff\xff")))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadCompressed(t *testing.T) {
	long := strings.Repeat("PUB a 5\r\nhello\r\n", 10_000)
	noise := make([]byte, 100_000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	packed := squeeze(t, long)
	third := len(packed) / 3
	empty := squeeze(t, "")
	tests := []struct {
		name   string
		frames [][]byte
		want   string
	}{
		{"one frame", [][]byte{masked(fin|bin|deflated, packed)}, long},
		{"noise", [][]byte{masked(fin|bin|deflated, squeeze(t, string(noise)))}, string(noise)},
		{"text", [][]byte{masked(fin|text|deflated, packed)}, long},
		{"plain between", [][]byte{
			masked(fin|bin, "a"), masked(fin|bin|deflated, packed), masked(fin|bin, "b"),
			masked(fin|bin|deflated, squeeze(t, "c")), masked(fin|bin, "d"),
		}, "a" + long + "bcd"},
		{"fragments and a ping", [][]byte{
			masked(bin|deflated, packed[:third]), masked(fin|ping, "x"), masked(cont, packed[third:2*third]),
			masked(cont, ""), masked(fin|cont, packed[2*third:]),
		}, long},
		{"empty messages", [][]byte{
			masked(fin|bin|deflated, empty), masked(fin|bin|deflated, ""), masked(bin|deflated, ""), masked(fin|cont, ""),
			masked(fin|bin|deflated, squeeze(t, "x")),
		}, "x"},
		{"ended by the sender", [][]byte{ // RFC 7692, section 7.2.3.5
			masked(fin|bin|deflated, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), masked(fin|bin, "!"),
		}, "Hello!"},
		{"many in one read", [][]byte{bytes.Repeat(masked(fin|bin|deflated, squeeze(t, "abc")), 5000)}, strings.Repeat("abc", 5000)},
	}
	for _, tt := range tests {
		all := bytes.Join(tt.frames, nil)
		for _, cut := range []int{1, 1000, len(all)} {
			if cut == 1 && len(all) > 10_000 {
				continue
			}
			for _, size := range []int{3, 256 << 10} {
				t.Run(tt.name, func(t *testing.T) {
					peer, sock := net.Pipe()
					defer peer.Close()
					c := websocket.NewTestConn(sock, true, 0)
					defer c.Close()
					go io.Copy(io.Discard, peer)
					go func() {
						for _, b := range chunks(all, cut) {
							peer.Write(b)
						}
					}()
					wantRead(t, c, tt.want, size)
				})
			}
		}
	}
}

func TestWriteCompressed(t *testing.T) {
	c, conn := dial(t, websocket.Config{Compression: true}, offer)
	noise := make([]byte, 300)
	rand.NewChaCha8([32]byte{}).Read(noise)
	tests := []struct {
		name, message string
		first         byte
	}{
		{"64 bytes stay", strings.Repeat("a", 64), fin | bin},
		{"65 bytes shrink", strings.Repeat("a", 65), fin | bin | deflated},
		{"noise stays", string(noise), fin | bin},
		{"long", strings.Repeat("MSG a 1 5\r\nhello\r\n", 50_000), fin | bin | deflated},
		{"no context from the one before", strings.Repeat("a", 65), fin | bin | deflated},
	}
	for _, tt := range tests {
		n, err := conn.Write([]byte(tt.message))
		if n != len(tt.message) || err != nil {
			t.Fatalf("%s: wrote %d, %v", tt.name, n, err)
		}
		got := c.next()
		if got.first != tt.first {
			t.Errorf("%s: got first byte %#x, want %#x", tt.name, got.first, tt.first)
		}
		if got.first&deflated != 0 {
			got.payload = expand(t, got.payload)
		}
		if got.payload != tt.message {
			t.Errorf("%s: got %.60q, want %.60q", tt.name, got.payload, tt.message)
		}
	}
}

func TestCompressedFaults(t *testing.T) {
	barren := strings.Repeat("\x00\x00\x00\xff\xff", 1000) // empty blocks
	endless := append(masked(bin|deflated, ""), bytes.Repeat(masked(cont, barren), websocket.MaxBarrenBytes/len(barren)+1)...)
	tests := []struct {
		name  string
		limit int64
		sent  []byte
		want  websocket.Status
	}{
		{"damaged", 0, masked(fin|bin|deflated, "\xff\xff\xff"), websocket.InvalidData},
		{"cut", 0, masked(fin|bin|deflated, squeeze(t, "hello hello")[:3]), websocket.InvalidData},
		{"goes on behind its end", 0, masked(fin|bin|deflated, "\xf3\x48\xcd\xc9\xc9\x07\x00\x00more"), websocket.InvalidData},
		{"continuation with the bit", 0, append(masked(bin|deflated, ""), masked(fin|cont|deflated, "")...), websocket.ProtocolError},
		{"ping with the bit", 0, masked(fin|ping|deflated, ""), websocket.ProtocolError},
		{"message in it", 0, append(masked(bin|deflated, ""), masked(fin|bin, "x")...), websocket.ProtocolError},
		{"unmasked inside", 0, append(masked(bin|deflated, ""), fin|cont, 0), websocket.ProtocolError},
		{"bomb", 1 << 20, masked(fin|bin|deflated, squeeze(t, strings.Repeat("\x00", 1<<20+1))), websocket.MessageTooBig},
		{"endless blocks without content", 0, endless, websocket.PolicyViolation},
		{"messages without content", 0, bytes.Repeat(masked(fin|bin|deflated, "\x00"), websocket.MaxDataless+1), websocket.PolicyViolation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, conn := dial(t, websocket.Config{Compression: true, ReadLimitBytes: tt.limit}, offer)
			go c.conn.Write(tt.sent)
			wantFault(t, conn, tt.want)
			conn.Close()
			c.wantFrame(closing(tt.want))
		})
	}
}

func TestBombWithinLimit(t *testing.T) {
	c, conn := dial(t, websocket.Config{Compression: true, ReadLimitBytes: 1 << 20}, offer)
	zeros := strings.Repeat("\x00", 1<<20)
	c.send(masked(fin|bin|deflated, squeeze(t, zeros)))
	wantRead(t, conn, zeros, 4096)
}

func TestCloseInsideCompressed(t *testing.T) {
	c, conn := dial(t, websocket.Config{Compression: true}, offer)
	c.send(masked(bin|deflated, ""), masked(fin|cls, "\x03\xe9"))
	if got, err := io.ReadAll(conn); err != nil || len(got) != 0 {
		t.Errorf("read %q, %v, want the end", got, err)
	}
	conn.Close()
	c.wantFrame(closing(websocket.GoingAway))
}

// The state of an inflater cannot be resumed: the documented exception.
func TestDeadlineInsideCompressed(t *testing.T) {
	c, conn := dial(t, websocket.Config{Compression: true}, offer)
	c.send(masked(bin|deflated, "\xf3"))
	conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	for range 2 {
		if _, err := conn.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got error %v, want a timeout", err)
		}
		conn.SetReadDeadline(time.Time{})
	}
}
