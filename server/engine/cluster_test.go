package engine_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/engine/peers"
)

// node is one server of a cluster: an engine, and its part of a mesh.
type node struct {
	*harness
	mesh *mesh.Mesh
}

// Linked implements mesh.Handler, as what follows.
func (n *node) Linked(l *mesh.Link) { n.engine.RouteLinked(l) }

func (n *node) Unlinked(l *mesh.Link, reason error) { n.engine.RouteUnlinked(l, reason) }

func (n *node) MembersChanged(mesh.Member, []mesh.Member) {}

// clusterConfig says what a cluster is like.
type clusterConfig struct {
	nodes    int
	pollers  int
	pool     int
	pinned   []string
	accounts accounts.Config
	settings func(*engine.Settings)
	routes   func(i int) engine.RouteConfig // nil for those without bounds
	compress mesh.Compression
}

// startCluster starts servers and waits until each has all its routes.
func startCluster(t testing.TB, cfg clusterConfig) []*node {
	t.Helper()
	var all []*node
	first := ""
	for i := range cfg.nodes {
		routes := engine.RouteConfig{}
		if cfg.routes != nil {
			routes = cfg.routes(i)
		}
		n := &node{harness: startWith(t, cfg.pollers, cfg.accounts, cfg.settings, &routes)}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		meshed := mesh.Config{
			Self:     mesh.Member{ID: fmt.Sprint("ID", i), Name: fmt.Sprint("N", i), Node: fmt.Sprint("node", i), Cluster: "C", RouteURL: listener.Addr().String()},
			Listener: listener, PoolSize: cfg.pool, Accounts: cfg.pinned, Compression: cfg.compress,
		}
		if first != "" {
			meshed.Seeds = []string{first}
		} else {
			first = listener.Addr().String()
		}
		if cfg.compress == "" {
			meshed.Compression = mesh.CompressionOff
		}
		if n.mesh, err = mesh.Open(meshed, n); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.mesh.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		all = append(all, n)
	}
	awaitRoutes(t, all, (cfg.nodes-1)*(max(1, cfg.pool)+len(cfg.pinned)))
	return all
}

// awaitRoutes waits until each server has so many routes.
func awaitRoutes(t testing.TB, all []*node, want int) {
	t.Helper()
	for i, n := range all {
		until(t, fmt.Sprintf("server %d has %d routes", i, want), func() bool { return len(n.engine.Routes()) == want })
	}
}

// remotes is how many other servers want a subject of an account, and how many members their queue groups have.
func (n *node) remotes(account, subject string) (servers, members int) {
	n.t.Helper()
	for _, f := range n.account(account).Interest().Match([]byte(subject), nil) {
		switch owner := f.Value.Owner.(type) {
		case *peers.Remote:
			servers++
		case *peers.Group:
			members += owner.Weight
		}
	}
	return servers, members
}

// awaitRemotes waits until a server knows of so many servers and members.
func (n *node) awaitRemotes(account, subject string, servers, members int) {
	n.t.Helper()
	until(n.t, fmt.Sprintf("%s of %s is wanted by %d servers and %d members", subject, account, servers, members), func() bool {
		s, m := n.remotes(account, subject)
		return s == servers && m == members
	})
}

// nothing sends a message on subject to the client itself and expects that this one comes first.
func (c *client) nothing(subject string) {
	c.t.Helper()
	c.send("SUB %s.end 9999\r\nPUB %s.end 1\r\nx\r\n", subject, subject)
	c.expect("MSG "+subject+".end 9999 1", "x")
	c.send("UNSUB 9999\r\n")
	c.flush()
}

const global = accounts.GlobalName

func TestRoutePlain(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		for _, compression := range []mesh.Compression{mesh.CompressionOff, mesh.CompressionFast} {
			all := startCluster(t, clusterConfig{nodes: 3, pollers: pollers, pool: 2, compress: compression})
			a, b, c := all[0].connect(), all[1].connect(), all[2].connect()
			b.send("SUB foo.* 1\r\nSUB foo.bar 2\r\n")
			b.flush()
			all[0].awaitRemotes(global, "foo.bar", 2, 0) // both patterns
			a.send("PUB foo.bar reply 5\r\nhello\r\nPUB foo.baz 0\r\n\r\n")
			b.expectAny("MSG foo.bar 1 reply 5\r\nhello", "MSG foo.bar 2 reply 5\r\nhello")
			b.expect("MSG foo.baz 1 0", "")
			a.send("HPUB foo.baz 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
			b.expect("HMSG foo.baz 1 12 14", "NATS/1.0", "", "hi")
			c.send("SUB > 1\r\n")
			c.flush()
			converge(t, all)
			a.send("PUB foo.baz 1\r\nx\r\n")
			b.expect("MSG foo.baz 1 1", "x")
			c.expect("MSG foo.baz 1 1", "x")
			b.nothing("quiet")
			b.send("UNSUB 1\r\nUNSUB 2\r\n")
			b.flush()
			all[0].awaitRemotes(global, "foo.bar", 1, 0)
			a.send("PUB foo.bar 1\r\ny\r\n")
			c.expectAny("MSG quiet.end 1 1\r\nx", "MSG foo.bar 1 1\r\ny")
		}
	})
}

// TestRouteReserved lets a server send what clients may not: who has the subject at another server gets it, and what clients send is
// refused at both.
func TestRouteReserved(t *testing.T) {
	const subject = "$RUNNEL.DELAYED.S.wait.1.s.a"
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1})
	b := all[1].connect()
	b.send("SUB $RUNNEL.DELAYED.> 1\r\n")
	b.flush()
	all[0].awaitRemotes(global, subject, 1, 0)
	for i := range 2 { // the second time from the cache
		c := all[i].connect()
		c.send("PUB %s 1\r\nx\r\n", subject)
		c.expect(fmt.Sprintf("-ERR 'Permissions Violation for Publish to \"%s\"'", subject))
		p := all[0].engine.NewPublisher()
		p.Publish(all[0].account(global), subject, "", nil, []byte("mine"))
		p.Flush()
		p.Close()
		b.expect("MSG "+subject+" 1 4", "mine")
	}
}

// expectAny reads two messages in any order.
func (c *client) expectAny(one, other string) {
	c.t.Helper()
	read := func() string { return c.line() + "\r\n" + c.line() }
	x, y := read(), read()
	if !(x == one && y == other) && !(x == other && y == one) {
		c.t.Fatalf("got %q, %q, want %q, %q", x, y, one, other)
	}
}

func TestRouteRequest(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		all := startCluster(t, clusterConfig{nodes: 2, pollers: pollers, pool: 1})
		a, b := all[0].connect(), all[1].connect()
		a.send("SUB inbox.* 1\r\nPUB help inbox.1 1\r\nx\r\n")
		a.expect("HMSG inbox.1 1 36 36", "NATS/1.0 503", "Nats-Subject: help", "", "")
		b.send("SUB help workers 1\r\n")
		b.flush()
		all[0].awaitRemotes(global, "help", 0, 1)
		for i := range 100 {
			a.send("SUB once.%d 2\r\nPUB help once.%d 1\r\nx\r\n", i, i) // the interest has to be there before the request
			b.expect(fmt.Sprintf("MSG help 1 once.%d 1", i), "x")
			b.send("PUB once.%d 2\r\nok\r\n", i)
			a.expect(fmt.Sprintf("MSG once.%d 2 2", i), "ok")
			a.send("UNSUB 2\r\n")
		}
		b.send("UNSUB 1\r\n")
		b.flush()
		all[0].awaitRemotes(global, "help", 0, 0)
		a.send("PUB help inbox.1 1\r\nx\r\n")
		a.expect("HMSG inbox.1 1 36 36", "NATS/1.0 503", "Nats-Subject: help", "", "")
	})
}

func TestRouteQueues(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 3, pollers: 1, pool: 1})
	a, b, c := all[0].connect(), all[1].connect(), all[2].connect()
	b.send("SUB q g 1\r\n")
	c.send("SUB q g 1\r\nSUB q g 2\r\nSUB q g 3\r\n")
	b.flush()
	c.flush()
	all[0].awaitRemotes(global, "q", 0, 4)
	const messages = 4000
	for range messages {
		a.send("PUB q 1\r\nx\r\n")
	}
	a.flush()
	received := func(n *node) int64 {
		return n.engine.Routes()[0].Counters.InMessages + n.engine.Routes()[1].Counters.InMessages
	}
	until(t, "all are there", func() bool { return received(all[1])+received(all[2]) >= messages })
	if got := received(all[1]); got < messages/4-200 || got > messages/4+200 {
		t.Errorf("the server with one of four members got %d of %d", got, messages)
	}
	local := all[0].connect()
	local.send("SUB q g 1\r\n")
	local.flush()
	before := received(all[1]) + received(all[2])
	for i := range 100 {
		a.send("PUB q 3\r\n%03d\r\n", i)
		local.expect("MSG q 1 3", fmt.Sprintf("%03d", i))
	}
	if got := received(all[1]) + received(all[2]); got != before {
		t.Errorf("%d messages went to other servers though there is a member here", got-before)
	}
}

// TestRouteReconnect: a route that breaks comes again, with all interest.
func TestRouteReconnect(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1})
	a, b := all[0].connect(), all[1].connect()
	b.send("SUB foo 1\r\n")
	b.flush()
	all[0].awaitRemotes(global, "foo", 1, 0)
	old := all[0].engine.Routes()[0]
	if err := old.Link.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "there is another route", func() bool {
		routes := all[0].engine.Routes()
		return len(routes) == 1 && routes[0].ID != old.ID
	})
	all[0].awaitRemotes(global, "foo", 1, 0)
	a.send("PUB foo 1\r\nx\r\n")
	b.expect("MSG foo 1 1", "x")
	if err := all[1].mesh.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	all[0].awaitRemotes(global, "foo", 0, 0)
	until(t, "the route is gone", func() bool { return len(all[0].engine.Routes()) == 0 })
	if got := all[0].engine.RouteCounters(); got.OutMessages != 1 || got.InMessages != 0 {
		t.Errorf("counted %+v, want the one message", got)
	}
}

// TestRoutePinned: an account with a route of its own uses that.
func TestRoutePinned(t *testing.T) {
	cfg := sharing(accounts.AccountConfig{Name: "A"}, accounts.AccountConfig{Name: "B"})
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 2, pinned: []string{"A"}, accounts: cfg})
	for _, name := range []string{"a", "b"} {
		from, to := all[0].login(name), all[1].login(name)
		to.send("SUB foo 1\r\n")
		to.flush()
		all[0].awaitRemotes(map[string]string{"a": "A", "b": "B"}[name], "foo", 1, 0)
		from.send("PUB foo 1\r\nx\r\n")
		to.expect("MSG foo 1 1", "x")
	}
	for _, r := range all[0].engine.Routes() {
		for _, s := range all[0].engine.RouteSubscriptions(r.ID) {
			if (s.Account == "A") != (r.Link.Account == "A") {
				t.Errorf("%v is told on the route of %q", s, r.Link.Account)
			}
		}
	}
}
