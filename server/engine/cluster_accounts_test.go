package engine_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// TestRouteServices: a service on another server answers requests of another account, and so does the answer that asks in
// turn.
func TestRouteServices(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		all := startCluster(t, clusterConfig{nodes: 3, pollers: pollers, pool: 2, accounts: modelConfig()})
		server, client, stranger := all[0].login("a"), all[1].login("b"), all[2].login("a")
		client.sub("inbox.* 1")
		client.pub("req.1", "inbox.1", "anybody?")
		client.unheard("inbox.1", "1", "req.1")
		server.sub("req.* 1")
		stranger.sub("_R_.> 1")
		converge(t, all)
		for i := range 20 {
			client.pub("req.1", "inbox.1", fmt.Sprint(i))
			reply := server.asked("req.1", "1", `{"acc":"B"`, fmt.Sprint(i))
			server.pub(reply, "", "answer")
			client.got("inbox.1", "1", "", "answer")
			stranger.got(reply, "1", "", "answer")
		}
		client.flush()
		server.sub("conversation 2")
		client.pub("req.1", "inbox.2", "first")
		server.pub(server.asked("req.1", "1", `{"acc":"B"`, "first"), "conversation", "and?")
		question := client.message()
		client.pub(question.reply, "", "nothing")
		if m := server.message(); m.subject != "conversation" || m.payload != "nothing" {
			t.Errorf("got %+v", m)
		}
	})
}

// TestRouteImportedQueues: members of a queue group in an account that imports compete across servers.
func TestRouteImportedQueues(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 3, pollers: 1, pool: 1, accounts: modelConfig()})
	publisher := all[0].login("a")
	one, two := all[1].login("b"), all[2].login("b")
	one.sub("t.* q 1")
	two.sub("t.* q 1")
	converge(t, all)
	const messages = 400
	for range messages {
		publisher.pub("s.1", "", "x")
	}
	publisher.flush()
	count := func(n *node) int64 { return n.account("B").Traffic.OutMsgs.Load() }
	until(t, "all are delivered", func() bool { return count(all[1])+count(all[2]) >= messages })
	if a, b := count(all[1]), count(all[2]); a+b != messages || a < messages/4 || b < messages/4 {
		t.Errorf("delivered %d and %d of %d", a, b, messages)
	}
	near := all[0].login("b")
	near.sub("t.* q 1")
	publisher.pub("s.1", "", "near")
	near.got("t.1", "1", "", "near")
}

// TestRouteMapped: a mapping is applied where a message is published, and never again.
func TestRouteMapped(t *testing.T) {
	cfg := sharing(accounts.AccountConfig{Name: "A", Mappings: []accounts.MappingConfig{mapping("a", "b", 100), mapping("b", "c", 100)}})
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, accounts: cfg})
	from, to := all[0].login("a"), all[1].login("a")
	to.sub("a 1", "b 2", "c 3")
	converge(t, all)
	from.pub("a", "", "x")
	to.got("b", "2", "", "x")
	from.pub("b", "", "y")
	to.got("c", "3", "", "y")
}

// TestRouteUnknownAccount: what is told about an account that is not in use here counts as soon as it is, and not after.
func TestRouteUnknownAccount(t *testing.T) {
	var used atomic.Bool
	var all []*node
	cfg := sharing(accounts.AccountConfig{Name: "A"}, accounts.AccountConfig{Name: "B"})
	all = startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, accounts: cfg, routes: func(i int) engine.RouteConfig {
		if i > 0 {
			return engine.RouteConfig{}
		}
		return engine.RouteConfig{Account: func(name string) *accounts.Account {
			if name == "B" && !used.Load() {
				return nil
			}
			return all[0].policy.Account(name)
		}}
	}})
	to := all[1].login("b")
	to.sub("foo 1")
	converge(t, all)
	if servers, _ := all[0].remotes("B", "foo"); servers != 0 {
		t.Error("interest in an account that is not in use is in its tree")
	}
	used.Store(true)
	from := all[0].login("b")
	all[0].awaitRemotes("B", "foo", 1, 0)
	from.pub("foo", "", "x")
	to.got("foo", "1", "", "x")
	used.Store(false)
	all[0].engine.AccountsChanged()
	all[0].awaitRemotes("B", "foo", 0, 0)
	used.Store(true)
	all[0].engine.AccountUsed(all[0].account("B"))
	all[0].awaitRemotes("B", "foo", 1, 0)
}

// TestRouteReload: imports that come and go change what other servers send.
func TestRouteReload(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, accounts: modelConfig()})
	from, to := all[0].login("a"), all[1].login("b")
	to.sub("t.* 1")
	all[0].awaitRemotes("A", "s.1", 1, 0)
	alone := sharing(accounts.AccountConfig{Name: "A"}, accounts.AccountConfig{Name: "B"})
	for _, n := range all {
		n.reload(alone)
		n.engine.AccountsChanged()
	}
	all[0].awaitRemotes("A", "s.1", 0, 0)
	for _, n := range all {
		n.reload(modelConfig())
	}
	all[0].awaitRemotes("A", "s.1", 1, 0) // housekeeping sees it
	from.pub("s.1", "", "x")
	to.got("t.1", "1", "", "x")
}

// TestRouteBounds: what the configuration does not allow is neither sent nor taken.
func TestRouteBounds(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 3, pollers: 1, pool: 1, accounts: modelConfig(), routes: func(i int) engine.RouteConfig {
		switch i {
		case 0:
			return engine.RouteConfig{Export: accounts.Rules{Deny: []string{"secret", "inner.>"}}}
		case 1:
			return engine.RouteConfig{Import: accounts.Rules{Allow: []string{"open.>", "req.*"}}}
		}
		return engine.RouteConfig{Export: accounts.Rules{Allow: []string{">"}, Deny: []string{"_R_.>"}}}
	}})
	zero, one, two := all[0].login("a"), all[1].login("a"), all[2].login("a")
	one.sub("open.* 1", "closed 2")
	two.sub("> 1")
	converge(t, all)
	zero.pub("secret", "", "x")
	zero.pub("inner.a", "", "x")
	zero.pub("closed", "", "x")
	two.got("closed", "1", "", "x")
	zero.pub("open.a", "", "x")
	two.got("open.a", "1", "", "x")
	one.got("open.a", "1", "", "x")
	two.sub("req.1 2")
	all[1].awaitRemotes("A", "req.1", 2, 0)
	asks := all[1].login("b")
	asks.sub("inbox.* 1")
	asks.pub("req.1", "inbox.1", "q") // answers may come whatever the bounds
	two.pub(two.message().reply, "", "ok")
	asks.got("inbox.1", "1", "", "ok")
}

// TestRouteInternal: the server's own subscriptions count elsewhere, unless they are for clients of this one, and what they
// answer comes back.
func TestRouteInternal(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1})
	a := all[1].account(global)
	service := all[1].engine.SubscribeService(a, "api.*", func(m *engine.Message) {
		if m.From != nil {
			t.Error("a message of another server names a client of this one")
		}
		m.Respond(nil, append([]byte("re: "), m.Payload...))
	})
	local := all[1].engine.SubscribeLocal(a, "local", func(*engine.Message) {})
	all[0].awaitRemotes(global, "api.x", 1, 0)
	c := all[0].connect()
	c.sub("inbox.* 1")
	c.pub("api.x", "inbox.1", "hello")
	c.got("inbox.1", "1", "", "re: hello")
	c.pub("local", "inbox.1", "hello")
	c.unheard("inbox.1", "1", "local")
	service.Unsubscribe()
	local.Unsubscribe()
	all[0].awaitRemotes(global, "api.x", 0, 0)
}

// TestRouteDeliver: what is delivered under another subject than it is found by comes as such, and a queue group gets it once.
func TestRouteDeliver(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1})
	c := all[1].connect()
	c.sub("inbox.1 1", "push q 2", "push q 3")
	all[0].awaitRemotes(global, "push", 0, 2)
	p := all[0].engine.NewPublisher()
	defer p.Close()
	a := all[0].account(global)
	payload := []byte(strings.Repeat("x", 2000))
	if n := p.Deliver(a, "inbox.1", "", "stored.subject", "$JS.ACK.1", []byte("NATS/1.0\r\nA: b\r\n\r\n"), payload); n != 1 {
		t.Errorf("delivered to %d", n)
	}
	p.Flush()
	want := message{"stored.subject", "1", "$JS.ACK.1", "NATS/1.0\r\nA: b\r\n\r\n", string(payload)}
	if got := c.message(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for range 10 {
		if n := p.Deliver(a, "push", "q", "s", "", nil, []byte("y")); n != 1 {
			t.Errorf("delivered to %d of the group", n)
		}
		if n := p.Deliver(a, "push", "other", "s", "", nil, []byte("y")); n != 0 {
			t.Errorf("delivered to %d of a group that is not there", n)
		}
		p.Flush()
		if got := c.message(); got.subject != "s" || got.payload != "y" {
			t.Errorf("got %+v", got)
		}
	}
	c.flush()
}

// TestRouteTrace: each server that a message comes through tells its part of the way.
func TestRouteTrace(t *testing.T) {
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, accounts: sharing(accounts.AccountConfig{Name: "A"})})
	from := all[0].connectAs("a", "from")
	to := all[1].connectAs("a", "to", "x 1")
	all[0].awaitRemotes("A", "x", 1, 0)
	for _, only := range []string{"", "Nats-Trace-Only: true"} {
		if only == "" {
			from.askTrace("t", "x", "")
		} else {
			from.askTrace("t", "x", "", only)
		}
		w := <-all[0].ways
		if got, want := w.text(t), "A t\nin from A x\neg N1"; got != want || w.trace.Report().Hops != 1 {
			t.Errorf("the first server told %q with %d hops, want %q", got, w.trace.Report().Hops, want)
		}
		w = <-all[1].ways
		if got, want := w.text(t), "A t\nin N0 A x\neg to x"; got != want {
			t.Errorf("the second server told %q, want %q", got, want)
		}
		if hop := w.trace.Report().Request.Header["Nats-Trace-Hop"]; len(hop) != 1 || hop[0] != "1" {
			t.Errorf("the second server is hop %q", hop)
		}
		if only == "" {
			if m := to.message(); m.subject != "x" || m.payload != "hello" {
				t.Errorf("got %+v", m)
			}
		}
	}
	to.flush()
}

// TestRouteOrder: one subscriber gets what one publisher sends in the order in which it was sent, whatever its size.
func TestRouteOrder(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		all := startCluster(t, clusterConfig{nodes: 2, pollers: pollers, pool: 3})
		to := all[1].connect()
		to.sub("a.* 1")
		all[0].awaitRemotes(global, "a.b", 1, 0)
		from := all[0].connect()
		const messages = 5000
		go func() {
			var b strings.Builder
			for i := range messages {
				body := fmt.Sprint(i, " ", strings.Repeat("x", i*i%3000))
				fmt.Fprintf(&b, "PUB a.%d %d\r\n%s\r\n", i%7, len(body), body)
				if i%10 == 9 {
					_, _ = io.WriteString(from.nc, b.String())
					b.Reset()
				}
			}
		}()
		for i := range messages {
			if m := to.message(); m.subject != fmt.Sprint("a.", i%7) || !strings.HasPrefix(m.payload, fmt.Sprint(i, " ")) {
				t.Fatalf("got %.20q on %s, want number %d", m.payload, m.subject, i)
			}
		}
	})
}

// TestRouteSlow: a route of which nothing is taken is closed within its deadline or beyond its limit, never waits for
// more than that, and there is another one.
func TestRouteSlow(t *testing.T) {
	const limit = 1 << 20
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, routes: func(int) engine.RouteConfig {
		return engine.RouteConfig{MaxPendingBytes: limit, WriteDeadline: time.Minute}
	}})
	gate := make(chan struct{})
	entered := make(chan struct{}, 1)
	all[1].engine.Subscribe(all[1].account(global), "stuck", "", func(*engine.Message) {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-gate // holds up the poller, as nothing that behaves would
	})
	all[0].awaitRemotes(global, "stuck", 1, 0)
	old := all[0].engine.Routes()[0].ID
	from := all[0].connect()
	from.pub("stuck", "", "x")
	<-entered
	payload := strings.Repeat("x", 100<<10)
	until(t, "the route is closed", func() bool {
		from.pub("stuck", "", payload)
		routes := all[0].engine.Routes()
		return len(routes) == 0 || routes[0].ID != old
	})
	if got := all[0].engine.SlowConsumers(); got == 0 {
		t.Error("no slow consumer is counted")
	}
	close(gate)
	all[0].awaitRemotes(global, "stuck", 1, 0)
}

// TestRouteScarce: while memory is scarce clients are cut off sooner, routes are not: what waits for another server gets there.
func TestRouteScarce(t *testing.T) {
	const most = 64 << 10
	all := startCluster(t, clusterConfig{nodes: 2, pollers: 1, pool: 1, routes: func(int) engine.RouteConfig {
		return engine.RouteConfig{WriteDeadline: time.Minute}
	}})
	gate := make(chan struct{})
	var got atomic.Int64
	all[1].engine.Subscribe(all[1].account(global), "stuck", "", func(*engine.Message) {
		got.Add(1)
		<-gate // holds up the poller, as nothing that behaves would
	})
	all[0].awaitRemotes(global, "stuck", 1, 0)
	old := all[0].engine.Routes()[0].ID
	all[0].engine.SetScarcity(engine.Scarcity{MostBytes: most})
	from := all[0].connect()
	payload, sent := strings.Repeat("x", 10<<10), int64(0)
	until(t, "much waits for the route", func() bool {
		from.pub("stuck", "", payload)
		sent++
		routes := all[0].engine.Routes()
		return len(routes) != 1 || routes[0].ID != old || routes[0].PendingBytes > 4*most
	})
	close(gate)
	until(t, "all has arrived", func() bool { return got.Load() == sent || all[0].engine.SlowConsumers() > 0 })
	if routes := all[0].engine.Routes(); len(routes) != 1 || routes[0].ID != old || all[0].engine.SlowConsumers() > 0 {
		t.Errorf("got %d of %d messages, and the route was closed", got.Load(), sent)
	}
}
