package network_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"runnel/chaos/network"
)

// line is a connection through a proxy, with both of its ends.
type line struct {
	proxy     *network.Proxy
	near, far net.Conn
}

// wait is how long a test waits for bytes that must come.
const wait = 30 * time.Second

// newLine connects both ends.
func newLine(t *testing.T) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p, err := network.NewProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	near, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return &line{p, near, far}
}

// send writes at one end and wants the same at the other.
func send(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(from, text); err != nil {
		t.Fatal(err)
	}
	expect(t, to, text)
}

// expect wants some bytes.
func expect(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v, want %q", got[:n], err, text)
	}
}

// silent wants that nothing comes for a while. A slow machine can only make that more likely.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	n, err := conn.Read(make([]byte, 1))
	if e, ok := err.(net.Error); ok {
		timeout = e
	}
	if timeout == nil || !timeout.Timeout() {
		t.Fatalf("got %d bytes, %v, want silence", n, err)
	}
}

func TestProxyForwards(t *testing.T) {
	l := newLine(t)
	send(t, l.near, l.far, "there")
	send(t, l.far, l.near, "back")
	big := string(bytes.Repeat([]byte("0123456789"), 500_000))
	go io.WriteString(l.near, big)
	expect(t, l.far, big)
	if got := l.proxy.Connections(); got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
	l.near.Close()
	if _, err := l.far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v at the other end, want the end", err)
	}
}

func TestProxyHoldsOneDirection(t *testing.T) {
	for _, d := range []network.Direction{network.Forward, network.Backward} {
		l := newLine(t)
		from, to := l.near, l.far
		if d == network.Backward {
			from, to = to, from
		}
		l.proxy.Hold(d)
		if _, err := io.WriteString(from, "later"); err != nil {
			t.Fatal(err)
		}
		silent(t, to)
		send(t, to, from, "the other way")
		l.proxy.Heal()
		expect(t, to, "later")
	}
}

// The end of a connection is held like any byte.
func TestProxyHoldsTheEnd(t *testing.T) {
	l := newLine(t)
	l.proxy.Hold(network.Forward)
	l.near.Close()
	silent(t, l.far)
	l.proxy.Heal()
	l.far.SetReadDeadline(time.Now().Add(wait))
	if _, err := l.far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

// Whoever dials while anything is held waits.
func TestProxyHoldsNewConnections(t *testing.T) {
	l := newLine(t)
	l.proxy.Hold(network.Backward)
	conn, err := net.Dial("tcp", l.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	silent(t, conn)
	if got := l.proxy.Connections(); got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
}

func TestProxyDelays(t *testing.T) {
	l := newLine(t)
	const delay = 60 * time.Millisecond
	l.proxy.Delay(delay)
	begin := time.Now()
	send(t, l.near, l.far, "there")
	send(t, l.far, l.near, "back")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("there and back took %v, want %v at least", took, 2*delay)
	}
}

func TestProxyResets(t *testing.T) {
	l := newLine(t)
	send(t, l.near, l.far, "there")
	l.proxy.Reset()
	for _, conn := range []net.Conn{l.near, l.far} {
		conn.SetReadDeadline(time.Now().Add(wait))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("got %d bytes, want an error", n)
		}
	}
}

// A proxy whose server is down ends what it gets.
func TestProxyWithoutServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := network.NewProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l.Close()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(wait))
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("got %d bytes, want the end", n)
	}
}

// A proxy can be closed in any state, and twice.
func TestProxyCloses(t *testing.T) {
	l := newLine(t)
	l.proxy.Hold(network.Forward)
	io.WriteString(l.near, "never")
	waiting, err := net.Dial("tcp", l.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	l.proxy.Close()
	l.proxy.Close()
	if conn, err := net.Dial("tcp", l.proxy.Addr()); err == nil {
		conn.Close()
		t.Error("a closed proxy listens")
	}
}

// A throttled proxy takes its time for many bytes, all connections together, and none for the rest when it is healed.
func TestProxyThrottles(t *testing.T) {
	const rate, bytes = 100_000, 30_000
	l := newLine(t)
	l.proxy.Throttle(rate)
	begin := time.Now()
	send(t, l.near, l.far, strings.Repeat("a", bytes/2))
	send(t, l.near, l.far, strings.Repeat("b", bytes/2))
	if took, least := time.Since(begin), 250*time.Millisecond; took < least {
		t.Errorf("%d bytes took %v, want %v at least", bytes, took, least)
	}
	l.proxy.Throttle(1)
	io.WriteString(l.near, "slowly")
	expect(t, l.far, "s")
	l.proxy.Heal()
	expect(t, l.far, "lowly")
	send(t, l.far, l.near, "back")
}

// A retargeted proxy breaks with the old server, and connects with the new one.
func TestProxyRetargets(t *testing.T) {
	l := newLine(t)
	send(t, l.near, l.far, "there")
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l.proxy.Retarget(other.Addr().String())
	l.near.SetReadDeadline(time.Now().Add(wait))
	if n, err := l.near.Read(make([]byte, 1)); err == nil {
		t.Errorf("got %d bytes on a connection to the old target, want an error", n)
	}
	near, err := net.Dial("tcp", l.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := other.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	send(t, near, far, "to the new one")
}

func TestDirectionString(t *testing.T) {
	if got := network.Forward.String() + " " + network.Backward.String(); got != "forward backward" {
		t.Errorf("got %q", got)
	}
}
