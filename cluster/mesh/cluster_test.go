package mesh_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"runnel/cluster/mesh"
)

func TestOffersAreMatched(t *testing.T) {
	tests := []struct {
		name string
		a, b func(*mesh.Config)
		want []string
	}{
		{
			"the smaller pool",
			func(c *mesh.Config) { c.PoolSize, c.Accounts = 2, nil },
			func(c *mesh.Config) { c.PoolSize, c.Accounts = 5, nil },
			[]string{"route 0/2", "route 1/2"},
		},
		{
			"no pool",
			func(c *mesh.Config) { c.PoolSize, c.Accounts = -1, nil },
			func(c *mesh.Config) { c.PoolSize, c.Accounts = 0, nil },
			[]string{"route 0/1"},
		},
		{
			"accounts of either",
			func(c *mesh.Config) { c.PoolSize, c.Accounts = 1, []string{"SYS", "B", "B"} },
			func(c *mesh.Config) { c.PoolSize, c.Accounts = 1, []string{"A", "SYS"} },
			[]string{"route 0/1", "route A", "route B", "route SYS"},
		},
		{
			"raft at one",
			func(c *mesh.Config) { c.Raft, c.Accounts = true, nil },
			func(c *mesh.Config) { c.PoolSize = 1 },
			[]string{"route 0/1", "route SYS"},
		},
		{
			"raft at both",
			func(c *mesh.Config) { c.Raft, c.Accounts = true, nil },
			func(c *mesh.Config) { c.Raft, c.PoolSize, c.Accounts = true, 1, nil },
			[]string{"raft data 0/1", "raft heartbeat 0/1", "route 0/1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				ca, cb := config(n, "a", "b:1"), config(n, "b", "a:1")
				tt.a(&ca)
				tt.b(&cb)
				a, b := start(t, ca), start(t, cb)
				after(2 * time.Second)
				wantMesh(t, tt.want, a, b)
				wantPaired(t, a, b)
				a.close()
				b.close()
			})
		})
	}
}

func TestLinkTellsItsStory(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		n.delay = 7 * time.Millisecond
		a, b := start(t, config(n, "a", "b:1")), start(t, config(n, "b"))
		after(2 * time.Second)
		la, lb := a.link("ID-b", "route 2/3"), b.link("ID-a", "route 2/3")
		if !la.Dialled || !la.Configured || lb.Dialled || lb.Configured {
			t.Errorf("dialled, configured: %v %v at the dialler, %v %v at the other", la.Dialled, la.Configured, lb.Dialled, lb.Configured)
		}
		if la.Peer.Name != "b" || la.Peer.ClientURLs[0] != "b:4222" || lb.Peer.ID != "ID-a" {
			t.Errorf("the peers are %+v and %+v", la.Peer, lb.Peer)
		}
		if la.RTT() != 14*time.Millisecond || lb.RTT() != 14*time.Millisecond {
			t.Errorf("round trip times %v and %v, want 14ms", la.RTT(), lb.RTT())
		}
		if got := lb.RemoteAddr().String(); !strings.HasPrefix(got, "a:") {
			t.Errorf("remote address %s", got)
		}
		if la.Compression() != "off" || la.Start.IsZero() || la.ID == 0 {
			t.Errorf("compression %s, start %v, id %d", la.Compression(), la.Start, la.ID)
		}
		a.close()
		b.close()
	})
}

// TestFrozenServerIsGivenUp lets nothing arrive any more, in a connection that stays open.
func TestFrozenServerIsGivenUp(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a", "b:1"), config(n, "b")
		ca.PingInterval, ca.PingMax = 10*time.Second, 3
		a, b := start(t, ca), start(t, cb)
		after(2 * time.Second)
		n.freeze("a", "b")
		after(20 * time.Second)
		if got := len(a.slots("ID-b")); got != 4 {
			t.Errorf("%d links are left after 20 s, want 4", got)
		}
		after(30 * time.Second)
		a.wantLog("has ended", "does not answer pings")
		wantMesh(t, usual(), a, b)
		wantPaired(t, a, b)
		a.mu.Lock()
		if len(a.reasons) != 4 || !errors.Is(a.reasons[0], mesh.ErrStale) {
			t.Errorf("the links ended because of %v, want ErrStale", a.reasons)
		}
		a.mu.Unlock()
		a.close()
		b.close()
	})
}

// TestQuietMeshKeepsItsLinks lets an hour pass with pings only.
func TestQuietMeshKeepsItsLinks(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a", "b:1")), start(t, config(n, "b", "a:1"))
		after(2 * time.Second)
		dials := n.dialled()
		after(time.Hour)
		wantMesh(t, usual(), a, b)
		if n.dialled() != dials {
			t.Errorf("%d connections were dialled in an hour", n.dialled()-dials)
		}
		a.close()
		b.close()
	})
}

func TestDynamicNameYields(t *testing.T) {
	tests := []struct {
		name  string
		names [4]string // of the clusters of a, b, c and d; a * says that it was generated
		want  string
	}{
		{"to the configured one", [4]string{"zz*", "mine", "aa*", "mm*"}, "mine"},
		{"to the smallest", [4]string{"zz*", "yy*", "aa*", "mm*"}, "aa*"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				var servers []*server
				for i, name := range []string{"a", "b", "c", "d"} {
					cfg := config(n, name, "a:1")
					cfg.Self.Cluster, cfg.Self.Dynamic = strings.CutSuffix(tt.names[i], "*")
					servers = append(servers, start(t, cfg))
				}
				after(5 * time.Second)
				wantMesh(t, usual(), servers...)
				want, dynamic := strings.CutSuffix(tt.want, "*")
				for _, s := range servers {
					self := s.mesh.Self()
					if self.Cluster != want || self.Dynamic != dynamic || s.cluster() != want {
						t.Errorf("%s is in %q (dynamic: %v) and was told %q, want %q", self.Name, self.Cluster, self.Dynamic, s.cluster(), want)
					}
					for _, o := range s.mesh.Members() {
						if o.Cluster != want || o.Dynamic != dynamic {
							t.Errorf("%s takes %s to be in %q", self.Name, o.Name, o.Cluster)
						}
					}
				}
				for _, s := range servers {
					s.close()
				}
			})
		})
	}
}

// TestTwoConfiguredNamesMeet has a server with a generated name stand between two clusters. It is in one of them
// in the end, and the other is refused.
func TestTwoConfiguredNamesMeet(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		var servers []*server
		for i, name := range []string{"a", "b", "c"} {
			cfg := config(n, name, "b:1")
			cfg.Self.Cluster, cfg.Self.Dynamic = strings.CutSuffix([]string{"one", "zz*", "two"}[i], "*")
			servers = append(servers, start(t, cfg))
		}
		after(time.Minute)
		b := servers[1].mesh.Self()
		var inside, outside *server
		for _, s := range []*server{servers[0], servers[2]} {
			if s.mesh.Self().Cluster == b.Cluster {
				inside = s
			} else {
				outside = s
			}
		}
		if b.Dynamic || inside == nil || outside == nil {
			t.Fatalf("b is in %q", b.Cluster)
		}
		wantMesh(t, usual(), servers[1], inside)
		wantMesh(t, nil, outside)
		outside.wantLog("cluster.name must be the same on all servers")
		for _, s := range servers {
			s.close()
		}
	})
}

// TestNamesChangeApart has two servers that are connected take different names at the same time.
func TestNamesChangeApart(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		n.delay = 20 * time.Millisecond
		var servers []*server
		for i, name := range []string{"b", "c", "a", "aa"} { // a comes to b, aa to c
			cfg := config(n, name, []string{"c:1", "b:1", "b:1", "c:1"}[i])
			cfg.Self.Cluster, cfg.Self.Dynamic = strings.CutSuffix([]string{"zz*", "yy*", "one", "two"}[i], "*")
			servers = append(servers, start(t, cfg))
			if i == 1 {
				after(5 * time.Second)
				wantMesh(t, usual(), servers...)
			}
		}
		after(time.Minute)
		b, c, a, aa := servers[0], servers[1], servers[2], servers[3]
		wantMesh(t, usual(), a, b)
		wantMesh(t, usual(), c, aa)
		if !strings.Contains(b.logs.text()+c.logs.text(), "has come into the cluster") {
			t.Errorf("neither b nor c says why they part:\n%s\n%s", b.logs.text(), c.logs.text())
		}
		for _, s := range servers {
			s.close()
		}
	})
}

func TestSetSelf(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b, c := start(t, config(n, "a", "c:1")), start(t, config(n, "b", "c:1")), start(t, config(n, "c"))
		after(2 * time.Second)
		self := a.mesh.Self()
		self.ID, self.ClientURLs, self.LameDuck, self.Level = "x", []string{"new:1"}, true, 7
		if err := a.mesh.SetSelf(self); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		for _, s := range []*server{b, c} {
			s.mu.Lock()
			i := slices.IndexFunc(s.others, func(m mesh.Member) bool { return m.ID == "ID-a" })
			if i < 0 {
				t.Errorf("%s was not told of a", s.name)
			} else if m := s.others[i]; m.ClientURLs[0] != "new:1" || !m.LameDuck || m.Level != 7 {
				t.Errorf("%s takes a for %+v", s.name, m)
			}
			s.mu.Unlock()
		}
		wantMesh(t, usual(), a, b, c)
		self.RouteURL = "nonsense"
		if err := a.mesh.SetSelf(self); err == nil {
			t.Error("a route URL without a port was taken")
		}
		for _, s := range []*server{a, b, c} {
			s.close()
		}
	})
}

func TestSetSeeds(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a", "nowhere:1"), config(n, "b")
		cb.Password = "p"
		a, b := start(t, ca), start(t, cb)
		after(5 * time.Second)
		if err := a.mesh.SetSeeds([]string{"nats://:wrong@b:1"}); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		wantMesh(t, nil, a)
		if err := a.mesh.SetSeeds([]string{"nats://:p@b:1", "a:1"}); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		wantMesh(t, usual(), a, b)
		// Who is no seed any more stays a member, and is forgotten when it goes.
		if err := a.mesh.SetSeeds(nil); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		wantMesh(t, usual(), a, b)
		b.close()
		after(time.Minute)
		dials := n.dialled()
		after(time.Hour)
		if n.dialled() != dials {
			t.Errorf("%d attempts to reach a server that has left", n.dialled()-dials)
		}
		if err := a.mesh.SetSeeds([]string{"http://\x00"}); err == nil {
			t.Error("a bad seed was taken")
		}
		a.close()
	})
}

// TestLearnedServerIsTriedAgain counts how often a server that is no seed is dialled after it has broken off.
func TestLearnedServerIsTriedAgain(t *testing.T) {
	for retries, want := range []int{1, 2, 3} {
		inNetwork(t, func(t *testing.T, n *network) {
			ca := config(n, "a")
			ca.ConnectRetries = retries
			cb := config(n, "b", "a:1")
			a, b := start(t, ca), start(t, cb)
			after(2 * time.Second)
			n.split("a", "b")
			if err := b.mesh.SetSeeds(nil); err != nil {
				t.Fatal(err)
			}
			b.close()
			dials := n.dialled()
			after(time.Hour)
			if got := n.dialled() - dials; got != want {
				t.Errorf("%d attempts with %d retries, want %d", got, retries, want)
			}
			a.close()
		})
	}
}

func TestBackoff(t *testing.T) {
	tests := []struct {
		backoff  bool
		min, max int
	}{
		{false, 550, 650},
		{true, 15, 40},
	}
	for _, tt := range tests {
		inNetwork(t, func(t *testing.T, n *network) {
			cfg := config(n, "a", "b:1")
			cfg.Backoff = tt.backoff
			a := start(t, cfg)
			after(10 * time.Minute)
			if n.dialled() < tt.min || n.dialled() > tt.max {
				t.Errorf("backoff %v: %d attempts in 10 minutes, want %d to %d", tt.backoff, n.dialled(), tt.min, tt.max)
			}
			a.close()
		})
	}
}

// TestNameOfManyServers has one name stand for all servers of a cluster, as headless services do.
func TestNameOfManyServers(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		var servers []*server
		for _, name := range []string{"a", "b", "c"} {
			cfg := config(n, name, "cluster:1")
			cfg.Lookup = func(_ context.Context, host string) ([]string, error) {
				if host != "cluster" {
					return []string{host}, nil
				}
				return []string{"a", "b", "c"}, nil
			}
			servers = append(servers, start(t, cfg))
		}
		after(time.Minute)
		wantMesh(t, usual(), servers...)
		for _, s := range servers {
			s.close()
		}
	})
}

// TestNameOfThisServerAmongOthers has a server find only itself under a name at first, and others later.
func TestNameOfThisServerAmongOthers(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		cfg := config(n, "a", "cluster:1")
		cfg.Lookup = func(context.Context, string) ([]string, error) { return []string{"a", "b"}, nil }
		a := start(t, cfg)
		after(10 * time.Second)
		b := start(t, config(n, "b"))
		after(3 * time.Second)
		wantMesh(t, usual(), a, b)
		b.close()
		after(time.Minute)
		b = start(t, config(n, "b"))
		after(3 * time.Second)
		wantMesh(t, usual(), a, b)
		a.close()
		b.close()
	})
}

// TestOnlyThisServerHasTheName waits for others to get a name that this server has alone.
func TestOnlyThisServerHasTheName(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		cfg := config(n, "a", "cluster:1")
		var hosts atomic.Pointer[[]string]
		hosts.Store(&[]string{"a", "a"}) // as of a name with an address of each kind
		cfg.Lookup = func(context.Context, string) ([]string, error) { return *hosts.Load(), nil }
		a := start(t, cfg)
		after(10 * time.Minute)
		if got := n.dialled(); got > 15 {
			t.Errorf("the server has dialled itself %d times in 10 minutes", got)
		}
		if got := a.logs.text(); got != "" {
			t.Errorf("got the log %q, want nothing", got)
		}
		hosts.Store(&[]string{"a", "b"})
		b := start(t, config(n, "b"))
		after(time.Minute)
		wantMesh(t, usual(), a, b)
		a.close()
		b.close()
	})
}

func TestLookupFails(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		cfg := config(n, "a", "cluster:1")
		cfg.Lookup = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
		a := start(t, cfg)
		after(time.Minute)
		a.wantLog("level=WARN", "addr=cluster:1", "look up cluster: no such host")
		a.close()
	})
}

// TestAddressIsSeen has servers that do not know at which address others reach them.
func TestAddressIsSeen(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		var servers []*server
		for i, name := range []string{"a", "b", "c"} {
			cfg := config(n, name, "a:1")
			cfg.Self.RouteURL = []string{"0.0.0.0:1", ":1", "[::]:1"}[i]
			servers = append(servers, start(t, cfg))
		}
		after(5 * time.Second)
		wantMesh(t, usual(), servers...)
		for _, s := range servers {
			for _, m := range s.mesh.Members() {
				if m.RouteURL != m.Name+":1" {
					t.Errorf("%s thinks that others reach %s at %s", s.name, m.Name, m.RouteURL)
				}
			}
		}
		for _, s := range servers {
			s.close()
		}
	})
}

// TestAddressIsSeenBeforeAnythingElse has a server go right after the handshake. It is looked for where it was seen.
func TestAddressIsSeenBeforeAnythingElse(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, l := start(t, config(n, "a")), n.listen("x:1")
		conn, err := n.dialer("x")(t.Context(), "a:1")
		if err != nil {
			t.Fatal(err)
		}
		hello := strings.Replace(someHello, `"route_url":"z:1"`, `"route_url":":1"`, 1)
		if _, err := conn.Write(frames(hello, `{"have":0}`, `{"ready":true}`)); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		if got := a.names(); got != "z" {
			t.Errorf("the members are %q, want z", got)
		}
		conn.Close()
		conn, err = l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		l.Close()
		a.close()
	})
}

// TestOnlyDials has a server without a listener, which others cannot reach.
func TestOnlyDials(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a")), start(t, config(n, "b", "a:1"))
		cfg := config(n, "c", "a:1")
		cfg.Listener.Close()
		cfg.Listener, cfg.Self.RouteURL = nil, ""
		c := start(t, cfg)
		after(5 * time.Second)
		wantMesh(t, usual(), a, b, c)
		for _, s := range []*server{a, b, c} {
			s.close()
		}
	})
}

// TestCloseDoesNotWaitForTheDead closes a mesh whose peer takes nothing, and one in the middle of handshakes.
func TestCloseDoesNotWaitForTheDead(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a", "b:1", "silent:1")), start(t, config(n, "b"))
		silent := n.listen("silent:1")
		after(2 * time.Second)
		var strangers []net.Conn
		for range 5 {
			conn, err := n.dialer("x")(t.Context(), "a:1")
			if err != nil {
				t.Fatal(err)
			}
			strangers = append(strangers, conn)
		}
		n.freeze("a", "b")
		before := time.Now()
		a.close()
		if d := time.Since(before); d > 3*time.Second {
			t.Errorf("Close took %v", d)
		}
		a.close() // does nothing
		for _, c := range strangers {
			c.Close()
		}
		silent.Close()
		b.close()
	})
}
