package websocket_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"runnel/server/websocket"
)

// Opcodes and bits as a client of the tests writes them.
const (
	cont, text, bin, cls, ping, pong = 0x0, 0x1, 0x2, 0x8, 0x9, 0xa
	fin, deflated                    = 0x80, 0x40
)

const key = "MDEyMzQ1Njc4OWFiY2RlZg=="

// masked is a client's frame. first is opcode and bits.
func masked(first byte, payload string) []byte {
	mask := []byte{0x12, 0xff, 0x00, 0x9a}
	b := head(first, 0x80, len(payload))
	b = append(b, mask...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i&3])
	}
	return b
}

// head is the header of a frame up to its length.
func head(first, maskBit byte, n int) []byte {
	switch {
	case n < 126:
		return []byte{first, maskBit | byte(n)}
	case n < 1<<16:
		return binary.BigEndian.AppendUint16([]byte{first, maskBit | 126}, uint16(n))
	default:
		return binary.BigEndian.AppendUint64([]byte{first, maskBit | 127}, uint64(n))
	}
}

// frame is what a client reads.
type frame struct {
	first   byte
	payload string
}

func (f frame) String() string { return fmt.Sprintf("%#x %.60q", f.first, f.payload) }

// closing is the close frame with a status.
func closing(s websocket.Status) frame {
	return frame{fin | cls, string(binary.BigEndian.AppendUint16(nil, uint16(s)))}
}

// client speaks frames by hand over TCP.
type client struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	resp *http.Response
}

// listen starts a server of which each connection comes out of the channel.
func listen(t *testing.T, cfg websocket.Config) (addr string, accepted chan websocket.Request) {
	t.Helper()
	accepted = make(chan websocket.Request, 16)
	s := httptest.NewUnstartedServer(nil)
	s.Config = websocket.NewServer(cfg, func(r websocket.Request) { accepted <- r })
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), accepted
}

// request sends an upgrade and reads the answer.
func request(t *testing.T, addr, line, headers string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\n%s\r\n", line, headers)
	c := &client{t: t, conn: conn, r: bufio.NewReader(conn)}
	if c.resp, err = http.ReadResponse(c.r, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// upgradeHeaders ask for an upgrade and nothing else.
const upgradeHeaders = "Host: example.test:8080\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
	"Sec-WebSocket-Key: " + key + "\r\nSec-WebSocket-Version: 13\r\n"

// dial upgrades and returns both ends.
func dial(t *testing.T, cfg websocket.Config, headers string) (*client, *websocket.Conn) {
	t.Helper()
	addr, accepted := listen(t, cfg)
	c := request(t, addr, "GET /", upgradeHeaders+headers)
	if c.resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %s, want 101", c.resp.Status)
	}
	conn := (<-accepted).Conn.(*websocket.Conn)
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { conn.Close() })
	return c, conn
}

func (c *client) send(frames ...[]byte) {
	c.t.Helper()
	if _, err := c.conn.Write(bytes.Join(frames, nil)); err != nil {
		c.t.Fatalf("client writes: %v", err)
	}
}

// next reads one frame.
func (c *client) next() frame {
	c.t.Helper()
	f, err := readFrame(c.r)
	if err != nil {
		c.t.Fatalf("client reads: %v", err)
	}
	return f
}

func readFrame(r *bufio.Reader) (frame, error) {
	var h [2]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	if h[1]&0x80 != 0 {
		return frame{}, errors.New("frame of the server is masked")
	}
	n := uint64(h[1])
	var l [8]byte
	switch n {
	case 126:
		io.ReadFull(r, l[:2])
		n = uint64(binary.BigEndian.Uint16(l[:]))
	case 127:
		io.ReadFull(r, l[:])
		n = binary.BigEndian.Uint64(l[:])
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return frame{h[0], string(b)}, err
}

// wantFrame compares the next frame.
func (c *client) wantFrame(want frame) {
	c.t.Helper()
	if got := c.next(); got != want {
		c.t.Errorf("got frame %v, want %v", got, want)
	}
}

// wantEnd reads to the end of the connection and wants nothing before it.
func (c *client) wantEnd() {
	c.t.Helper()
	if f, err := readFrame(c.r); err == nil {
		c.t.Errorf("got frame %v, want the end of the connection", f)
	}
}

// wantRead reads until want has come, over buffers of size bytes.
func wantRead(t *testing.T, c net.Conn, want string, size int) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, size)
	for got.Len() < len(want) {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("read after %d bytes: %v", got.Len(), err)
		}
		got.Write(buf[:n])
	}
	if got.String() != want {
		t.Errorf("read %.80q, want %.80q", got.String(), want)
	}
}

// wantFault wants Read to fail with a status.
func wantFault(t *testing.T, c net.Conn, want websocket.Status) {
	t.Helper()
	var err error
	buf := make([]byte, 4096)
	for err == nil {
		_, err = c.Read(buf)
	}
	var fault *websocket.FrameError
	if !errors.As(err, &fault) || fault.Status != want {
		t.Fatalf("read: got error %v, want one with status %d", err, want)
	}
	if _, again := c.Read(buf); again != err {
		t.Errorf("second read: got error %v, want %v", again, err)
	}
}
