package mesh_test

import (
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"runnel/cluster/mesh"
)

// wait waits until the handler has been told what makes done true.
func (s *server) wait(done func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() {
		s.arrived.Wait()
	}
}

// TestTCP connects three servers by TCP, found by name, with and without TLS.
func TestTCP(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[encrypted], func(t *testing.T) {
			certificate := authority(t)
			var servers []*server
			var seeds []string
			for _, name := range []string{"a", "b", "c"} {
				l, err := net.Listen("tcp", "localhost:0")
				if err != nil {
					t.Fatal(err)
				}
				_, port, err := net.SplitHostPort(l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				if seeds == nil {
					seeds = []string{"nats-route://u:p@localhost:" + port}
				}
				cfg := mesh.Config{
					Self:     mesh.Member{ID: "ID-" + name, Name: name, Cluster: "c", RouteURL: l.Addr().String()},
					Listener: l, Seeds: seeds, Security: mesh.Security{Username: "u", Password: "p"}, PoolSize: 3, Accounts: []string{"SYS"},
				}
				if encrypted {
					cfg.TLS, cfg.DialTLS = certificate("localhost")
					cfg.DialTLS.ServerName = "localhost"
				}
				servers = append(servers, start(t, cfg))
			}
			for _, s := range servers {
				s.wait(func() bool { return len(s.open) == 8 && len(s.others) == 2 })
			}
			for i, s := range servers {
				for _, o := range servers[i+1:] {
					if got := s.slots("ID-" + o.name); !slices.Equal(got, usual()) {
						t.Errorf("%s has the links %q to %s", s.name, got, o.name)
					}
					wantPaired(t, s, o)
					l := s.link("ID-"+o.name, "route SYS")
					_, plain := l.Conn.(*net.TCPConn)
					if _, secret := l.Conn.(*tls.Conn); plain == encrypted || secret != encrypted {
						t.Errorf("the link of %s holds a %T", s.name, l.Conn)
					}
				}
			}
			for _, s := range servers {
				s.close()
			}
		})
	}
}

// TestStrangerByTCP has somebody send more than is looked at. It must be able to read the answer nevertheless.
func TestStrangerByTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, mesh.Config{Self: mesh.Member{ID: "a", Name: "a", Cluster: "c"}, Listener: l})
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	request := "POST / HTTP/1.1\r\n\r\n" + strings.Repeat("x", 20_000)
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(got), "-ERR 'this port is for servers") {
		t.Errorf("got %q and %v", got, err)
	}
	conn.Close()
	a.close()
}
