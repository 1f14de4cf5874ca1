package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// TestShutdownDrains checks that clients receive what was queued for them before the server ended.
func TestShutdownDrains(t *testing.T) {
	s := servertest.Start(t, "")
	sender, receiver := servertest.DialQuiet(t, s), servertest.DialQuiet(t, s)
	receiver.Send("SUB m 1\r\n")
	receiver.Flush()
	const size, n = 256 << 10, 80 // more than sockets hold
	line := fmt.Sprintf("MSG m 1 %d\r\n%s\r\n", size, strings.Repeat("x", size))
	for range n {
		sender.Send("%s", "PUB"+strings.Replace(line[3:], " 1 ", " ", 1))
	}
	sender.Flush()
	sender.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	got, err := io.ReadAll(receiver.Conn())
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ = cut(got, "} \r\n") // the second INFO
	if want := strings.Repeat(line, n); string(got) != want {
		t.Errorf("received %d bytes, want %d", len(got), len(want))
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// cut splits b after the first INFO, if it begins with one.
func cut(b []byte, end string) (before, after []byte, found bool) {
	if !strings.HasPrefix(string(b), "INFO {") {
		return nil, b, false
	}
	i := strings.Index(string(b), end) + len(end)
	return b[:i], b[i:], true
}

// TestShutdownCuts checks that a client which reads nothing does not hold up the end for longer than ctx.
func TestShutdownCuts(t *testing.T) {
	s := servertest.Start(t, "")
	sender, receiver := servertest.DialQuiet(t, s), servertest.DialQuiet(t, s)
	receiver.Send("SUB m 1\r\n")
	receiver.Flush()
	const size = 1 << 20
	for range 20 {
		sender.Send("PUB m %d\r\n%s\r\n", size, strings.Repeat("x", size))
	}
	sender.Flush()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("the server has not ended")
	}
}

// TestShutdownTwice ends a server from many goroutines at once, by every method, under traffic.
func TestShutdownTwice(t *testing.T) {
	s := servertest.Start(t, "http_port: -1\nwebsocket { port: -1, no_tls: true }")
	closed := make(chan struct{})
	nc := servertest.Connect(t, s, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if _, err := nc.Subscribe(">", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for nc.Publish("m", []byte("x")) == nil {
			_ = nc.Flush() // fails when the server has ended
		}
	})
	all.Go(func() {
		for {
			c, err := s.InProcessConn()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	for range 4 {
		all.Go(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(s.Wait)
	all.Wait()
	<-closed
	if _, err := s.InProcessConn(); !errors.Is(err, server.ErrClosed) {
		t.Errorf("InProcessConn of a closed server: %v, want ErrClosed", err)
	}
}

// TestShutdownEvent checks that the system account hears of the end, and clients see why.
func TestShutdownEvent(t *testing.T) {
	s := servertest.Start(t, `accounts { $SYS { users: [{user: sys, password: x}] } }`)
	c := dialAs(t, s, "sys", "x")
	c.Send("SUB $SYS.SERVER.*.SHUTDOWN 1\r\n")
	c.Flush()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	line := c.Line()
	for !strings.HasPrefix(line, "MSG ") {
		line = c.Line()
	}
	mustContain(t, "event", line, "MSG $SYS.SERVER."+s.ID()+".SHUTDOWN 1 ")
	mustContain(t, "event", c.Line(), s.ID())
	c.ExpectClosed()
}

// TestOpenFails checks that a failed start leaves nothing behind.
func TestOpenFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	tests := []struct{ name, config, want string }{
		{"clients' port", fmt.Sprintf("port: %d", port), "listen for nats"},
		{"monitoring port", fmt.Sprintf("http_port: %d", port), "listen for monitoring"},
		{"websocket port", fmt.Sprintf("websocket { listen: \"127.0.0.1:%d\", no_tls: true }", port), "listen for websocket"},
		{"profile port", fmt.Sprintf("prof_port: %d", port), "listen for profile"},
		{"cluster's port", fmt.Sprintf("cluster { listen: \"127.0.0.1:%d\" }", port), "listen for cluster"},
		{"cluster's TLS", "cluster { port: -1, tls { cert_file: none.pem, key_file: none.pem } }", "none.pem"},
		{"not built", "gateway { name: a }", "gateway"},
	}
	for _, tt := range tests {
		s, err := server.Open(servertest.Options(t, tt.config), nil)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: the server has started", tt.name)
			continue
		}
		mustContain(t, tt.name, err.Error(), tt.want)
	}
}

func TestPorts(t *testing.T) {
	s := servertest.Start(t, "http_port: -1, prof_port: -1\ncluster { listen: \"127.0.0.1:-1\" }\nwebsocket { listen: \"127.0.0.1:-1\", no_tls: true }")
	p := s.Ports()
	for _, tt := range []struct {
		urls   []string
		prefix string
	}{{p.NATS, "nats://127.0.0.1:"}, {p.Monitoring, "http://127.0.0.1:"}, {p.Profile, "http://127.0.0.1:"}, {p.Cluster, "nats://127.0.0.1:"}, {p.WebSocket, "ws://127.0.0.1:"}} {
		if len(tt.urls) != 1 || !strings.HasPrefix(tt.urls[0], tt.prefix) || strings.HasSuffix(tt.urls[0], ":0") {
			t.Errorf("got %q, want one URL at %s", tt.urls, tt.prefix)
		}
	}
	if s.ClientURL() != p.NATS[0] {
		t.Errorf("client URL = %q, ports say %q", s.ClientURL(), p.NATS)
	}
	o := servertest.Options(t, "")
	o.Host = "0.0.0.0"
	everywhere := servertest.StartOptions(t, o)
	mustContain(t, "client URL", everywhere.ClientURL(), "nats://127.0.0.1:")
	for _, url := range everywhere.Ports().NATS {
		if strings.Contains(url, "0.0.0.0") {
			t.Errorf("%s is no URL that a client can use", url)
		}
	}
}
