package server_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// startLameDuck starts a server whose good-bye takes as long as given.
func startLameDuck(t testing.TB, config string, grace, duration time.Duration) *server.Server {
	t.Helper()
	o := servertest.Options(t, config)
	o.LameDuck.GracePeriod, o.LameDuck.Duration = grace, duration
	return servertest.StartOptions(t, o)
}

func TestLameDuck(t *testing.T) {
	s := startLameDuck(t, `accounts { A { users: [{user: a, password: x}] }, $SYS { users: [{user: sys, password: x}] } }
		websocket { listen: "127.0.0.1:-1", no_tls: true }`, 50*time.Millisecond, 150*time.Millisecond)
	events, err := servertest.Connect(t, s, nats.UserInfo("sys", "x")).SubscribeSync("$SYS.SERVER.*.LAMEDUCK")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{}, 1)
	nc := servertest.Connect(t, s, nats.UserInfo("a", "x"), nats.LameDuckModeHandler(func(*nats.Conn) { told <- struct{}{} }))
	old := servertest.Dial(t, s)
	old.Send(`CONNECT {"user":"a","pass":"x","verbose":false}` + "\r\n")
	old.Flush()
	c := dialAs(t, s, "a", "x")
	c.ReadInfo()
	addresses := []string{s.Addr().String(), s.Ports().WebSocket[0][len("ws://"):]}

	go s.LameDuck(context.Background())
	c.ReadInfo()
	if c.Info()["ldm"] != true {
		t.Errorf("INFO = %v, want ldm", c.Info())
	}
	if urls, ok := c.Info()["connect_urls"]; ok {
		t.Errorf("connect_urls = %v, want none: there is no other server", urls)
	}
	select {
	case <-told:
	case <-time.After(servertest.Patience):
		t.Error("nats.go was not told")
	}
	mustContain(t, "event", string(next(t, events).Data), s.ID())
	for _, a := range addresses {
		if other, err := net.Dial("tcp", a); err == nil {
			_ = other.Close()
			t.Errorf("%s still takes connections", a)
		}
	}
	// Clients may go on until their turn comes.
	if err := nc.Flush(); err != nil {
		t.Error(err)
	}
	old.ExpectClosed() // and never saw that INFO
	c.ExpectClosed()
	s.Wait()
	s.LameDuck(context.Background()) // does nothing any more
}

// TestLameDuckSpreads checks that clients are not sent away all at once.
func TestLameDuckSpreads(t *testing.T) {
	s := startLameDuck(t, "", time.Millisecond, 401*time.Millisecond)
	const n = 8
	var open atomic.Int64
	ends := make(chan int64, n)
	for range n {
		open.Add(1)
		servertest.Connect(t, s, nats.ClosedHandler(func(*nats.Conn) { ends <- open.Add(-1) }))
	}
	begin := time.Now()
	go s.LameDuck(context.Background())
	for i := range n {
		select {
		case left := <-ends:
			// The i-th goes 50 ms after the one before. A slow machine makes it later, never sooner.
			if early := time.Duration(n-1-int(left)) * 45 * time.Millisecond; time.Since(begin) < early {
				t.Errorf("end %d came after %v, want at least %v", i, time.Since(begin), early)
			}
		case <-time.After(servertest.Patience):
			t.Fatal("a client is still there")
		}
	}
	s.Wait()
}

// TestLameDuckStops checks that the context ends the good-bye, with the clients still there.
func TestLameDuckStops(t *testing.T) {
	s := startLameDuck(t, "", time.Hour, 2*time.Hour)
	nc := servertest.Connect(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		s.LameDuck(ctx)
		close(done)
	}()
	cancel()
	<-done
	if err := nc.Flush(); err != nil {
		t.Errorf("after the good-bye was stopped: %v", err)
	}

	// The end of the server ends it too.
	other := startLameDuck(t, "", time.Hour, 2*time.Hour)
	c := servertest.DialQuiet(t, other)
	c.ReadInfo()
	go other.LameDuck(context.Background())
	c.ReadInfo()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestLameDuckWithoutClients(t *testing.T) {
	s := startLameDuck(t, "", time.Millisecond, time.Hour)
	s.LameDuck(context.Background())
	select {
	case <-s.Done():
	default:
		t.Error("the server has not ended")
	}
}

// TestLameDuckThenShutdown: whoever ends a server that has ended already is told nothing of what cannot be done any more.
func TestLameDuckThenShutdown(t *testing.T) {
	o := servertest.Options(t, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	o.LameDuck.GracePeriod = time.Millisecond
	var log logBuffer
	s, err := server.Open(o, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	s.LameDuck(context.Background())
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.text.String(); strings.Contains(text, "was not flushed") {
		t.Errorf("the log of a server that has ended well says\n%s", text)
	}
}
