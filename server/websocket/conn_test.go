package websocket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"runnel/server/websocket"
)

// chunks cuts bytes into writes of n, with nothing in between.
func chunks(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > n {
		out, b = append(out, b[:n]), b[n:]
	}
	return append(out, b)
}

func TestReadJoinsFrames(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000) // a length of 8 bytes
	middle := strings.Repeat("ab", 400)          // a length of 2 bytes
	tests := []struct {
		name   string
		frames [][]byte
		want   string
	}{
		{"binary", [][]byte{masked(fin|bin, "PING\r\n")}, "PING\r\n"},
		{"text", [][]byte{masked(fin|text, "PING\r\n")}, "PING\r\n"},
		{"empty first", [][]byte{masked(fin|bin, ""), masked(fin|bin, "PING\r\n")}, "PING\r\n"},
		{"fragments", [][]byte{masked(bin, "PI"), masked(cont, ""), masked(cont, "N"), masked(fin|cont, "G\r\n")}, "PING\r\n"},
		{"control frames inside", [][]byte{masked(bin, "PI"), masked(fin|ping, "x"), masked(fin|pong, "y"), masked(fin|cont, "NG\r\n")}, "PING\r\n"},
		{"empty fragments", [][]byte{masked(text, ""), masked(fin|cont, ""), masked(fin|bin, "a")}, "a"},
		{"two messages", [][]byte{masked(fin|bin, "SUB a 1\r\n"), masked(fin|text, "PING\r\n")}, "SUB a 1\r\nPING\r\n"},
		{"16 bit length", [][]byte{masked(fin|bin, middle)}, middle},
		{"64 bit length", [][]byte{masked(fin|bin, long), masked(fin|bin, "end")}, long + "end"},
	}
	for _, tt := range tests {
		all := bytes.Join(tt.frames, nil)
		for _, cut := range []int{1, 3, 1000, len(all)} {
			for _, size := range []int{1, 7, 64 << 10} {
				if len(all) > 10_000 && min(cut, size) < 1000 {
					continue
				}
				t.Run(tt.name, func(t *testing.T) {
					peer, sock := net.Pipe()
					defer peer.Close()
					c := websocket.NewTestConn(sock, false, 0)
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

func TestPongBeforeAnswer(t *testing.T) {
	c, conn := dial(t, websocket.Config{}, "")
	c.send(masked(bin, "PI"), masked(fin|ping, "hi"), masked(fin|cont, "NG\r\n"))
	wantRead(t, conn, "PING\r\n", 4096)
	if _, err := conn.Write([]byte("PONG\r\n")); err != nil {
		t.Fatal(err)
	}
	c.wantFrame(frame{fin | pong, "hi"})
	c.wantFrame(frame{fin | bin, "PONG\r\n"})
}

func TestPongWithoutWrites(t *testing.T) {
	c, conn := dial(t, websocket.Config{}, "")
	done := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 100))
		done <- err
	}()
	for _, payload := range []string{"", "a", strings.Repeat("z", 125)} {
		c.send(masked(fin|ping, payload))
		c.wantFrame(frame{fin | pong, payload})
	}
	c.send(masked(fin|cls, ""))
	if err := <-done; err != io.EOF {
		t.Errorf("read after a close frame: got %v, want EOF", err)
	}
}

func TestFaults(t *testing.T) {
	unmasked := []byte{fin | bin, 2, 'h', 'i'}
	tests := []struct {
		name string
		sent []byte
		want websocket.Status
	}{
		{"unmasked", unmasked, websocket.ProtocolError},
		{"unmasked ping", []byte{fin | ping, 0}, websocket.ProtocolError},
		{"reserved bit 2", masked(fin|bin|0x20, "x"), websocket.ProtocolError},
		{"reserved bit 3", masked(fin|bin|0x10, "x"), websocket.ProtocolError},
		{"compressed, not agreed on", masked(fin|bin|deflated, "x"), websocket.ProtocolError},
		{"opcode 3", masked(fin|3, "x"), websocket.ProtocolError},
		{"opcode 7", masked(fin|7, "x"), websocket.ProtocolError},
		{"opcode 11", masked(fin|11, "x"), websocket.ProtocolError},
		{"opcode 15", masked(fin|15, "x"), websocket.ProtocolError},
		{"fragmented ping", masked(ping, "x"), websocket.ProtocolError},
		{"long ping", masked(fin|ping, strings.Repeat("x", 126)), websocket.ProtocolError},
		{"continuation of nothing", masked(fin|cont, "x"), websocket.ProtocolError},
		{"continuation after the end", append(masked(fin|bin, ""), masked(fin|cont, "x")...), websocket.ProtocolError},
		{"message in a message", append(masked(bin, ""), masked(fin|bin, "x")...), websocket.ProtocolError},
		{"negative length", []byte{fin | bin, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, websocket.ProtocolError},
		{"close with one byte", masked(fin|cls, "x"), websocket.ProtocolError},
		{"close with status 1005", masked(fin|cls, "\x03\xed"), websocket.ProtocolError},
		{"close with status 999", masked(fin|cls, "\x03\xe7"), websocket.ProtocolError},
		{"close with status 5000", masked(fin|cls, "\x13\x88"), websocket.ProtocolError},
		{"close with a bad reason", masked(fin|cls, "\x03\xe8\xff"), websocket.InvalidData},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, conn := dial(t, websocket.Config{}, "")
			c.send(masked(fin|bin, "before"), tt.sent)
			wantRead(t, conn, "before", 4096)
			wantFault(t, conn, tt.want)
			conn.Close()
			c.wantFrame(closing(tt.want))
			c.wantEnd()
		})
	}
}

func TestPeerCloses(t *testing.T) {
	tests := []struct {
		name, payload string
		want          websocket.Status
	}{
		{"no status", "", 1000},
		{"normal", "\x03\xe8bye", 1000},
		{"going away", "\x03\xe9", 1001},
		{"own status", "\x0f\xa0", 4000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, conn := dial(t, websocket.Config{}, "")
			c.send(masked(fin|bin, "last words"), masked(fin|cls, tt.payload), masked(fin|bin, "never read"))
			got, err := io.ReadAll(conn)
			if err != nil || string(got) != "last words" {
				t.Errorf("read %q, %v, want the last words and the end", got, err)
			}
			// What the server says then does not change the echo.
			conn.CloseWithReason(websocket.GoingAway)
			c.wantFrame(closing(tt.want))
			c.wantEnd()
		})
	}
}

func TestCloseWithReason(t *testing.T) {
	for _, s := range []websocket.Status{
		websocket.NormalClosure, websocket.GoingAway, websocket.ProtocolError,
		websocket.PolicyViolation, websocket.MessageTooBig,
	} {
		c, conn := dial(t, websocket.Config{}, "")
		conn.Write([]byte("bye"))
		if err := conn.CloseWithReason(s); err != nil {
			t.Errorf("close with %d: %v", s, err)
		}
		c.wantFrame(frame{fin | bin, "bye"})
		c.wantFrame(closing(s))
		c.wantEnd()
		if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second close: got %v, want net.ErrClosed", err)
		}
		if _, err := conn.Write([]byte("x")); err == nil {
			t.Error("write after close: got no error")
		}
	}
}

func TestConnectionLost(t *testing.T) {
	c, conn := dial(t, websocket.Config{}, "")
	c.send(masked(fin|bin, "half a fra")[:8])
	c.conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "ha" {
		t.Errorf("read %q, %v, want what came and the end", got, err)
	}
}

func TestReadDeadlineMayPass(t *testing.T) {
	c, conn := dial(t, websocket.Config{}, "")
	whole := masked(fin|bin, "PING\r\n")
	c.send(whole[:3])
	conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := conn.Read(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got error %v, want a timeout", err)
	}
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	c.send(whole[3:])
	wantRead(t, conn, "PING\r\n", 100)
}

func TestWriteDeadline(t *testing.T) {
	peer, sock := net.Pipe() // nobody reads
	defer peer.Close()
	conn := websocket.NewTestConn(sock, false, 0)
	conn.SetWriteDeadline(time.Now().Add(time.Millisecond))
	if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got error %v, want a timeout", err)
	}
	conn.SetWriteDeadline(time.Time{})
	if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after a cut frame: got error %v, want it to stay", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsBlockedCalls(t *testing.T) {
	peer, sock := net.Pipe() // nobody reads or writes
	defer peer.Close()
	conn := websocket.NewTestConn(sock, false, 0)
	errs := make(chan error, 2)
	go func() { _, err := conn.Write([]byte("x")); errs <- err }()
	go func() { _, err := conn.Read(make([]byte, 10)); errs <- err }()
	conn.Close()
	for range 2 {
		if err := <-errs; err == nil {
			t.Error("got no error of a call on a closed connection")
		}
	}
}

// A peer that pings without end and reads nothing holds one frame and one
// goroutine, and the reader goes on.
func TestPingFloodNeverBlocksReader(t *testing.T) {
	peer, sock := net.Pipe() // nobody reads
	defer peer.Close()
	conn := websocket.NewTestConn(sock, false, 0)
	go func() {
		for range 1000 {
			peer.Write(masked(fin|ping, "flood"))
		}
		peer.Write(masked(fin|bin, "data"))
	}()
	wantRead(t, conn, "data", 100)
	conn.Close()
}

func TestFramesWithoutData(t *testing.T) {
	tests := []struct {
		name  string
		flood []byte
	}{
		{"pongs", masked(fin|pong, "")},
		{"empty messages", masked(fin|bin, "")},
		{"empty fragments", masked(cont, "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, conn := dial(t, websocket.Config{}, "")
			c.send(masked(bin, "x"), masked(fin|cont, ""))
			if tt.name == "empty fragments" {
				c.send(masked(bin, "x"))
			}
			c.send(bytes.Repeat(tt.flood, websocket.MaxDataless+1))
			wantFault(t, conn, websocket.PolicyViolation)
			conn.Close()
			c.wantFrame(closing(websocket.PolicyViolation))
		})
	}
}

func TestReadLimit(t *testing.T) {
	c, conn := dial(t, websocket.Config{ReadLimitBytes: 10}, "")
	ten := "0123456789"
	c.send(masked(fin|bin, ten), masked(bin, ten[:5]), masked(fin|cont, ten[5:]))
	wantRead(t, conn, ten+ten, 100)
	c.send(masked(bin, ten), masked(fin|cont, "x"))
	wantFault(t, conn, websocket.MessageTooBig)
	conn.Close()
	c.wantFrame(closing(websocket.MessageTooBig))
}

func TestEarlyData(t *testing.T) {
	addr, accepted := listen(t, websocket.Config{})
	early := string(masked(fin|bin, "CONNECT {}\r\n"))
	c := request(t, addr, "GET /", upgradeHeaders+"\r\n"+early+"\r\n")
	conn := (<-accepted).Conn
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	wantRead(t, conn, "CONNECT {}\r\n", 100)
	if c.resp.StatusCode != 101 {
		t.Errorf("got %s, want 101", c.resp.Status)
	}
}

func TestReadOfNothing(t *testing.T) {
	_, conn := dial(t, websocket.Config{}, "")
	if n, err := conn.Read(nil); n != 0 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
