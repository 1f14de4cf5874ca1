package websocket_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"runnel/server/websocket"
)

// loop is a socket that gives the same bytes for ever.
type loop struct {
	script
	frames []byte
	at     int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.frames[l.at:])
	l.at = (l.at + n) % len(l.frames)
	return n, nil
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{16, 128, 4096} {
		for _, kind := range []string{"plain", "deflated"} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				payload, first := strings.Repeat("0123456789abcdef", size/16), byte(fin|bin)
				if kind == "deflated" {
					payload, first = squeeze(b, payload), fin|bin|deflated
				}
				sock := &loop{frames: bytes.Repeat(masked(first, payload), 64)}
				c := websocket.NewTestConn(sock, kind == "deflated", 0)
				buf := make([]byte, 64<<10)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for n := 0; n < b.N*size; {
					k, err := c.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					n += k
				}
			})
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{16, 128, 4096} {
		for _, kind := range []string{"plain", "deflated"} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				c := websocket.NewTestConn(&script{}, kind == "deflated", 0)
				p := bytes.Repeat([]byte("0123456789abcdef"), size/16)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Write(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkIdle reports what an idle connection keeps on the heap, without
// its socket.
func BenchmarkIdle(b *testing.B) {
	const n = 10_000
	var before, after runtime.MemStats
	var bytesEach float64
	for b.Loop() {
		conns := make([]net.Conn, n)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range conns {
			sock := &script{in: append(masked(fin|ping, "x"), masked(fin|bin, "PING\r\n")...), chunk: 100}
			conns[i] = websocket.NewTestConn(sock, true, 0)
			io.CopyN(io.Discard, conns[i], 6)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytesEach = float64(after.HeapAlloc-before.HeapAlloc) / n
		runtime.KeepAlive(conns)
	}
	b.ReportMetric(bytesEach, "heap-B/conn")
}

// Reading and writing must not allocate once they are under way.
func TestSteadyStateAllocations(t *testing.T) {
	reader := websocket.NewTestConn(&loop{frames: bytes.Repeat(masked(fin|bin, "PUB a 5\r\nhello\r\n"), 64)}, false, 0)
	peer, writer := dial(t, websocket.Config{}, "")
	go io.Copy(io.Discard, peer.conn)
	buf := make([]byte, 32<<10)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := reader.Read(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(buf[:100]); err != nil {
			t.Fatal(err)
		}
	})
	if got >= 1 {
		t.Errorf("got %v allocations a read and write, want none", got)
	}
}
