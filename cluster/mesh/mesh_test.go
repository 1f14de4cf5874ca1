package mesh_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/cluster/mesh"
)

func TestTwoServers(t *testing.T) {
	tests := []struct {
		name  string
		seeds [2]string // of a and b
	}{
		{"the smaller id dials", [2]string{"b:1", ""}},
		{"the larger id dials", [2]string{"", "a:1"}},
		{"both dial", [2]string{"b:1", "a:1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inNetwork(t, func(t *testing.T, n *network) {
				var servers []*server
				for i, name := range []string{"a", "b"} {
					cfg := config(n, name)
					if tt.seeds[i] != "" {
						cfg.Seeds = []string{tt.seeds[i]}
					}
					servers = append(servers, start(t, cfg))
				}
				after(3 * time.Second)
				wantMesh(t, usual(), servers...)
				wantPaired(t, servers[0], servers[1])
				if got := len(n.between("a", "b")); got != 5 {
					t.Errorf("there are %d connections, want 4 and a control link", got)
				}
				for _, s := range servers {
					if got := strings.Count(s.logs.text(), "connected with another server"); got != 1 {
						t.Errorf("%s has connected %d times, want 1", s.name, got)
					}
				}
				dials := n.dialled()
				servers[1].close()
				after(time.Minute)
				if got := n.dialled(); tt.seeds[0] == "" && got != dials {
					t.Errorf("who has said farewell was dialled %d times", got-dials)
				}
				if got := len(n.between("a", "b")); got != 0 {
					t.Errorf("%d connections are left", got)
				}
				wantMesh(t, nil, servers[0])
				servers[0].close()
			})
		})
	}
}

// wantPaired checks that each link ends in the same slot on both sides, and that both agree on who has dialled.
func wantPaired(t *testing.T, a, b *server) {
	t.Helper()
	for _, slot := range a.slots(b.mesh.Self().ID) {
		la, lb := a.link(b.mesh.Self().ID, slot), b.link(a.mesh.Self().ID, slot)
		if la.Dialled == lb.Dialled {
			t.Errorf("%s: dialled by both or none of the two", slot)
		}
		for _, l := range []*mesh.Link{la, lb} {
			if _, err := l.Write([]byte(slot)); err != nil {
				t.Error(err)
			}
		}
		a.wantInput(la, slot)
		b.wantInput(lb, slot)
	}
}

func TestGossipFromOneSeed(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		var servers []*server
		for _, name := range []string{"c", "a", "e", "b", "d"} {
			servers = append(servers, start(t, config(n, name, "c:1")))
		}
		after(5 * time.Second)
		wantMesh(t, usual(), servers...)
		servers[0].wantLog("has found itself", "addr=c:1")
		for i, s := range servers {
			for _, o := range servers[i+1:] {
				wantPaired(t, s, o)
			}
		}
		for _, s := range servers {
			s.close()
		}
	})
}

func TestLinkIsDialledAgain(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a", "b:1")), start(t, config(n, "b"))
		after(2 * time.Second)
		broken := errors.New("broken by the test")
		l := b.link("ID-a", "route 1/3")
		l.CloseWith(broken)
		l.Close()
		after(2 * time.Second)
		wantMesh(t, usual(), a, b)
		wantPaired(t, a, b)
		b.mu.Lock()
		if !slices.Equal(b.reasons, []error{broken}) {
			t.Errorf("links ended because of %v, want the one reason", b.reasons)
		}
		b.mu.Unlock()
		a.close()
		b.close()
	})
}

// TestOneSideLosesTheSession breaks all connections at one end, so that the other does not notice.
func TestOneSideLosesTheSession(t *testing.T) {
	for _, seeds := range [][2]string{{"b:1", ""}, {"", "a:1"}, {"b:1", "a:1"}} {
		for _, side := range []string{"a", "b"} {
			t.Run(strings.Join(seeds[:], " ")+" "+side, func(t *testing.T) {
				inNetwork(t, func(t *testing.T, n *network) {
					ca, cb := config(n, "a"), config(n, "b")
					ca.Seeds, cb.Seeds = slices.DeleteFunc(seeds[:1:1], empty), slices.DeleteFunc(slices.Clone(seeds[1:]), empty)
					a, b := start(t, ca), start(t, cb)
					after(2 * time.Second)
					n.lose(side, map[string]string{"a": "b", "b": "a"}[side], nil)
					after(3 * time.Second) // and not only when a ping is missed
					wantMesh(t, usual(), a, b)
					wantPaired(t, a, b)
					a.close()
					b.close()
				})
			})
		}
	}
}

func empty(s string) bool { return s == "" }

// TestOneSideLosesALink breaks one link at the end that has dialled it.
func TestOneSideLosesALink(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b := start(t, config(n, "a", "b:1")), start(t, config(n, "b"))
		after(2 * time.Second)
		lost := b.link("ID-a", "route 1/3").RemoteAddr()
		n.lose("a", "b", func(c *end) bool { return c.local == lost })
		after(3 * time.Second)
		wantMesh(t, usual(), a, b)
		wantPaired(t, a, b)
		if got := len(n.between("a", "b")); got != 5 {
			t.Errorf("there are %d connections, want 5", got)
		}
		b.mu.Lock()
		if !slices.Equal(b.reasons, []error{mesh.ErrReplaced}) {
			t.Errorf("links ended because of %v, want ErrReplaced", b.reasons)
		}
		b.mu.Unlock()
		a.close()
		b.close()
	})
}

func TestServerComesBack(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b, c := start(t, config(n, "a", "c:1")), start(t, config(n, "b", "c:1")), start(t, config(n, "c"))
		after(2 * time.Second)
		c.close()
		after(10 * time.Second)
		wantMesh(t, usual(), a, b)
		c = start(t, config(n, "c"))
		after(3 * time.Second)
		wantMesh(t, usual(), a, b, c)
		for _, s := range []*server{a, b, c} {
			s.close()
		}
	})
}

func TestSplitPairFindsTogether(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		a, b, c := start(t, config(n, "a", "c:1")), start(t, config(n, "b", "c:1")), start(t, config(n, "c"))
		after(2 * time.Second)
		n.split("a", "b")
		after(time.Minute)
		if got := a.names(); got != "c" {
			t.Errorf("a has the members %q, want c", got)
		}
		n.heal()
		after(time.Minute)
		wantMesh(t, usual(), a, b, c)
		for _, s := range []*server{a, b, c} {
			s.close()
		}
	})
}

func TestOpenRefusesBadConfig(t *testing.T) {
	tests := []struct {
		name   string
		change func(*mesh.Config)
		want   string
	}{
		{"no id", func(c *mesh.Config) { c.Self.ID = "" }, "id \"\" of the server is empty"},
		{"blank in the name", func(c *mesh.Config) { c.Self.Name = "a b" }, "contains blanks"},
		{"long cluster name", func(c *mesh.Config) { c.Self.Cluster = strings.Repeat("x", 300) }, "more than 256 bytes"},
		{"route URL", func(c *mesh.Config) { c.Self.RouteURL = "a" }, "not of the form host:port"},
		{"seed", func(c *mesh.Config) { c.Seeds = []string{"b:1", "nats://u:secret@:x"} }, "seed 2 of 2"},
		{"compression", func(c *mesh.Config) { c.Compression = "zip" }, `unknown compression "zip"`},
		{"thresholds", func(c *mesh.Config) { c.RTTThresholds = []time.Duration{1, 2, 3, 4} }, "one to three in ascending order"},
		{"negative", func(c *mesh.Config) { c.PingMax = -1 }, "must not be negative"},
		{"account", func(c *mesh.Config) { c.Accounts = []string{""} }, "needs a name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(newNetwork(), "a")
			tt.change(&cfg)
			_, err := mesh.Open(cfg, &server{t: t})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error with %q and no password", err, tt.want)
			}
		})
	}
}
