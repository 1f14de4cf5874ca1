//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/process"
)

// newFakes makes a cluster of fake servers that are down.
func newFakes(t *testing.T, o process.Options) *process.Cluster {
	t.Helper()
	o.Program = process.Program{Path: link(t, "runnel")}
	c, err := process.NewCluster(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// names are those of some servers.
func names(servers []*process.Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Name())
	}
	return strings.Join(all, " ")
}

// up are the names of the servers that have a process.
func up(c *process.Cluster) string {
	return names(slices.DeleteFunc(c.Servers(), func(s *process.Server) bool { _, up := s.PID(); return !up }))
}

func TestClusterConfig(t *testing.T) {
	c := newFakes(t, process.Options{SyncAlways: true, FirstPort: 20000, PingInterval: time.Second, Extra: "# all\n"})
	if got := names(c.Servers()); got != "n1 n2 n3" {
		t.Fatalf("got servers %q, want three", got)
	}
	for i, s := range c.Servers() {
		cfg := s.Config()
		port := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", 20000+3*i+n) }
		if cfg.Client != port(0) || cfg.Monitor != port(1) || cfg.Peer != port(2) {
			t.Errorf("%s has %s, %s and %s, want ports from %s on", cfg.Name, cfg.Client, cfg.Monitor, cfg.Peer, port(0))
		}
		var routes []string
		for j := range c.Servers() {
			if j != i {
				routes = append(routes, c.Mesh().Addr(i, j))
			}
		}
		if !slices.Equal(cfg.Routes, routes) || !cfg.Hidden || s.ClientURL() != "nats://"+c.Mesh().ClientAddr(i) {
			t.Errorf("%s dials %q, hidden %v, clients dial %s, want proxies", cfg.Name, cfg.Routes, cfg.Hidden, s.ClientURL())
		}
		if !cfg.SyncAlways || cfg.Extra != "# all\n" || cfg.PingInterval != time.Second || !slices.Equal(cfg.Tags, []string{"server:" + cfg.Name}) {
			t.Errorf("got %+v, want what the options say", cfg)
		}
	}
}

func TestClusterDirect(t *testing.T) {
	c := newFakes(t, process.Options{Servers: 2, Direct: true, WithoutStreams: true})
	seed, other := c.Servers()[0].Config(), c.Servers()[1].Config()
	if c.Mesh() != nil || len(seed.Routes) != 0 || !slices.Equal(other.Routes, []string{seed.Peer}) || other.Hidden || other.StoreDir != "" {
		t.Errorf("got %+v and %+v, want that the second knows the first", seed, other)
	}
	if got, want := c.Servers()[1].ClientURL(), "nats://"+other.Client; got != want {
		t.Errorf("clients dial %s, want %s", got, want)
	}
	added, err := c.Add(soon(t))
	if err != nil || !slices.Equal(added.Config().Routes, []string{seed.Peer, other.Peer}) {
		t.Errorf("got %v, routes %q, want a server that knows all others", err, added.Config().Routes)
	}
}

func TestClusterChoices(t *testing.T) {
	o := process.Options{Servers: 5, Seed: 7}
	a, b := newFakes(t, o), newFakes(t, o)
	for range 10 {
		x, y := a.Random(2), b.Random(2)
		if names(x) != names(y) || len(x) != 2 || x[0] == x[1] || a.Choose(100) != b.Choose(100) {
			t.Fatalf("got %s and %s of the same seed, want the same two", names(x), names(y))
		}
	}
	if got := len(a.Random(9)); got != 5 {
		t.Errorf("got %d of 5 servers", got)
	}
	first := a.Servers()[0]
	if got := names(a.Others(first, a.Server("n4"))); got != "n2 n3 n5" || a.Server("n9") != nil || a.Number(first) != 0 || a.Number(b.Servers()[0]) != -1 {
		t.Errorf("got others %q", got)
	}
}

// Whatever was done to servers is undone.
func TestClusterHeal(t *testing.T) {
	ends := make(chan *process.End, 3)
	c := newFakes(t, process.Options{Servers: 4, Ended: func(e *process.End) { ends <- e }})
	c.Server("n4").Configure(func(cfg *process.Config) { cfg.Extra = order("exit 2") })
	var e *process.End
	if err := c.StartAll(soon(t)); !errors.As(err, &e) || e.Server != "n4" {
		t.Errorf("got %v, want the end of n4", err)
	}
	if got := <-ends; got != e {
		t.Errorf("got %v told, want %v", got, e)
	}
	if err := errors.Join(c.Server("n1").Pause(), c.Server("n2").Kill()); err != nil {
		t.Fatal(err)
	}
	c.Mesh().Part(0)
	if got := up(c); got != "n1 n3" {
		t.Errorf("%q are up", got)
	}
	c.Server("n4").Configure(func(cfg *process.Config) { cfg.Extra = "" })
	if err := c.Heal(soon(t)); err != nil {
		t.Fatal(err)
	}
	if got := up(c); got != "n1 n2 n3 n4" || c.Server("n1").Paused() {
		t.Errorf("%q are up, n1 paused %v, want all", got, c.Server("n1").Paused())
	}
	if err := c.Err(); !errors.As(err, &e) {
		t.Errorf("got %v, want the end of n4 for good", err)
	}
	if err := c.StopAll(soon(t)); err != nil || up(c) != "" {
		t.Errorf("got %v, up %q, want none", err, up(c))
	}
}

// All servers that run have to be ready.
func TestClusterWaitReady(t *testing.T) {
	c := newFakes(t, process.Options{})
	for _, s := range c.Servers() {
		s.Configure(func(cfg *process.Config) { cfg.Extra = order("linked "+names(c.Others(s)), "leader n1") })
	}
	if err := errors.Join(c.StartAll(soon(t)), c.WaitReady(soon(t))); err != nil {
		t.Fatal(err)
	}
	if err := c.Server("n2").Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(shortly(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the others are linked with one that is down", err)
	}
}

const (
	removed = `{"success":true}`
	unknown = `{"error":{"code":400,"err_code":10044,"description":"server is not a member of the cluster"}}`
	busy    = `{"error":{"code":500,"err_code":10202,"description":"concurrent change"}}`
)

// The cluster is asked until it has removed a server.
func TestClusterRemovePeer(t *testing.T) {
	tests := []struct {
		name    string
		answers []string
		asked   int
		want    string // in the error
	}{
		{"at once", []string{removed}, 1, ""},
		{"busy", []string{busy, busy, removed}, 3, ""},
		{"an answer is lost", []string{"", unknown}, 2, ""},
		{"unknown from the first", []string{unknown}, 0, "not a member of the cluster (10044)"},
		{"neither", []string{"{}"}, 0, `"{}"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newFakes(t, process.Options{Servers: 2, Extra: order("answers " + strings.Join(tt.answers, "|"))})
			via := c.Servers()[0]
			if err := via.Start(soon(t)); err != nil {
				t.Fatal(err)
			}
			if tt.want != "" {
				if err := process.AskToRemove(soon(t), via, "n2"); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if err := c.RemovePeer(shortly(t), "n2"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that the time is over", err)
				}
				return
			}
			if err := c.RemovePeer(soon(t), "n2"); err != nil {
				t.Fatal(err)
			}
			text, err := via.Log()
			if err != nil {
				t.Fatal(err)
			}
			const request = `asked $JS.API.SERVER.REMOVE {"peer":"n2"}`
			if got := strings.Count(text, request); got != tt.asked {
				t.Errorf("asked %d times, want %d, of log\n%s", got, tt.asked, text)
			}
		})
	}
	lone := newFakes(t, process.Options{Servers: 1})
	if err := lone.RemovePeer(shortly(t), "n1"); err == nil || !strings.Contains(err.Error(), "no other server runs") {
		t.Errorf("got %v, want that there is nobody to ask", err)
	}
}

// Servers come, go and are replaced.
func TestClusterMembership(t *testing.T) {
	c := newFakes(t, process.Options{Extra: order("answers " + removed)})
	if err := c.StartAll(soon(t)); err != nil {
		t.Fatal(err)
	}
	added, err := c.Add(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := up(c); got != "n1 n2 n3 n4" || added.Name() != "n4" || c.Number(added) != 3 {
		t.Errorf("got %q, server %d added, want the fourth", got, c.Number(added))
	}
	first := c.Servers()[0]
	if got := first.Config().Routes; len(got) != 3 || got[2] != c.Mesh().Addr(0, 3) || len(added.Config().Routes) != 3 {
		t.Errorf("n1 dials %q and n4 %q, want one another and all", got, added.Config().Routes)
	}
	if err := c.Remove(soon(t), added); err != nil {
		t.Fatal(err)
	}
	if got := up(c); got != "n1 n2 n3" || names(c.Former()) != "n4" || added.Running() {
		t.Errorf("got %q, former %q", got, names(c.Former()))
	}
	next, err := c.Replace(soon(t), first)
	if err != nil {
		t.Fatal(err)
	}
	if got := up(c); got != "n2 n3 n5" || c.Number(next) != 0 || !slices.Equal(next.Config().Routes, first.Config().Routes) {
		t.Errorf("got %q, %s at place %d with routes %q", got, next.Name(), c.Number(next), next.Config().Routes)
	}
	nc, err := nats.Connect(next.ClientURL(), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if got := nc.ConnectedServerName(); got != "n5" {
		t.Errorf("behind the old proxy there is %q, want n5", got)
	}
}
