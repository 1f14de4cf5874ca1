package mesh_test

import (
	"testing"
	"time"

	"runnel/cluster/mesh"
)

// TestSetSecurity changes the password of one server after the other. Sessions stay meanwhile, and whoever comes in between
// must show what holds by then.
func TestSetSecurity(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		with := func(name, password string, seeds ...string) *server {
			cfg := config(n, name, seeds...)
			cfg.Username, cfg.Password = "u", password
			return start(t, cfg)
		}
		a := with("a", "old")
		b := with("b", "old", "a:1")
		after(5 * time.Second)
		wantMesh(t, usual(), a, b)
		links := len(a.seen)
		a.mesh.SetSecurity(mesh.Security{Username: "u", Password: "new"})
		c := with("c", "old", "a:1")
		after(5 * time.Second)
		wantMesh(t, usual(), a, b)
		c.wantLog("addr=a:1", "wrong credentials")
		b.mesh.SetSecurity(mesh.Security{Username: "u", Password: "new"})
		c.mesh.SetSecurity(mesh.Security{Username: "u", Password: "new"})
		after(time.Minute)
		wantMesh(t, usual(), a, b, c)
		if got := len(a.seen); got != 2*links {
			t.Errorf("a has seen %d links, want %d with each of the two others", got, links)
		}
		for _, s := range []*server{a, b, c} {
			s.close()
		}
	})
}

// TestSetSecurityOfSeed leaves a seed alone that has credentials of its own.
func TestSetSecurityOfSeed(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a"), config(n, "b", "nats://u:p@a:1")
		ca.Username, ca.Password = "u", "p"
		a := start(t, ca)
		cb.Username, cb.Password = "x", "y"
		b := start(t, cb)
		b.mesh.SetSecurity(mesh.Security{Username: "v", Password: "w"})
		after(5 * time.Second)
		wantMesh(t, usual(), a, b)
		a.close()
		b.close()
	})
}

// TestNode has others learn under which id a server stores streams, and keeps it from changing.
func TestNode(t *testing.T) {
	inNetwork(t, func(t *testing.T, n *network) {
		ca, cb := config(n, "a"), config(n, "b", "a:1")
		ca.Self.Node = "aaaaAAAA"
		a, b := start(t, ca), start(t, cb)
		after(5 * time.Second)
		self := a.mesh.Self()
		self.Node, self.LameDuck = "other", true
		if err := a.mesh.SetSelf(self); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		for _, m := range b.mesh.Members() {
			if m.Node != "aaaaAAAA" || !m.LameDuck {
				t.Errorf("got node %q, lame duck %v, want aaaaAAAA, true", m.Node, m.LameDuck)
			}
		}
		ca.Self.Node = "with a blank"
		if _, err := mesh.Open(ca, a); err == nil {
			t.Error("a node id with a blank was taken")
		}
		a.close()
		b.close()
	})
}
