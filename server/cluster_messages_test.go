package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server/servertest"
)

// connections are one to each server of a cluster.
func connections(t *testing.T, c *servertest.Cluster, opts ...nats.Option) []*nats.Conn {
	t.Helper()
	var all []*nats.Conn
	for _, s := range c.Servers {
		all = append(all, servertest.Connect(t, s, opts...))
	}
	return all
}

// subscribe subscribes and waits until the servers of others know.
func subscribe(t *testing.T, nc *nats.Conn, subject, queue string, others ...*nats.Conn) *nats.Subscription {
	t.Helper()
	sub, err := nc.QueueSubscribeSync(subject, queue)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		servertest.Reaches(t, o, nc)
	}
	return sub
}

func flush(t *testing.T, all ...*nats.Conn) {
	t.Helper()
	for _, nc := range all {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClusterPublish: a message reaches each subscriber once, wherever it is, with its header and in order.
func TestClusterPublish(t *testing.T) {
	nc := connections(t, servertest.StartCluster(t, 3, ""))
	var subs []*nats.Subscription
	for i, c := range nc {
		subs = append(subs, subscribe(t, c, "orders.*", "", slices.Delete(slices.Clone(nc), i, i+1)...))
	}
	const n = 1000
	for i := range n {
		m := nats.NewMsg("orders.new")
		m.Header.Set("N", fmt.Sprint(i))
		if err := nc[i%2].PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, nc...)
	for at, sub := range subs {
		last := [2]int{-1, -1}
		for range n {
			var i int
			if _, err := fmt.Sscan(next(t, sub).Header.Get("N"), &i); err != nil {
				t.Fatal(err)
			}
			if i <= last[i%2] {
				t.Fatalf("s%d: message %d after %d of the same publisher", at+1, i, last[i%2])
			}
			last[i%2] = i
		}
		if extra, _, err := sub.Pending(); err != nil || extra != 0 {
			t.Errorf("s%d: %d messages too many, %v", at+1, extra, err)
		}
	}
}

// TestClusterRequest: a service answers from wherever it is, and where there is none that is known at once.
func TestClusterRequest(t *testing.T) {
	nc := connections(t, servertest.StartCluster(t, 3, ""))
	if _, err := nc[0].Request("help", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("without a service: %v, want no responders", err)
	}
	sub, err := nc[2].Subscribe("help", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) })
	if err != nil {
		t.Fatal(err)
	}
	servertest.Reaches(t, nc[0], nc[2])
	if got := request(t, nc[0], "help", ""); got != "yes" {
		t.Errorf("got %q", got)
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the service to be unknown again", func() bool {
		_, err := nc[0].Request("help", nil, 50*time.Millisecond)
		return errors.Is(err, nats.ErrNoResponders)
	})
}

// TestClusterQueue: a member at the publisher's server is taken first; without one, those elsewhere share the work.
func TestClusterQueue(t *testing.T) {
	nc := connections(t, servertest.StartCluster(t, 3, ""))
	a := subscribe(t, nc[0], "work", "q", nc[1], nc[2])
	b := subscribe(t, nc[1], "work", "q", nc[0], nc[2])
	const n = 200
	publish := func(from *nats.Conn) {
		t.Helper()
		for range n {
			if err := from.Publish("work", nil); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, from)
	}
	take := func(sub *nats.Subscription) int {
		taken := 0
		for {
			if _, err := sub.NextMsg(20 * time.Millisecond); err != nil {
				return taken
			}
			taken++
		}
	}
	publish(nc[0])
	servertest.Eventually(t, "the member here to get all", func() bool { p, _, _ := a.Pending(); return p == n })
	if got, other := take(a), take(b); got != n || other != 0 {
		t.Errorf("%d messages here and %d elsewhere, want %d and none", got, other, n)
	}
	publish(nc[2])
	sum := 0
	servertest.Eventually(t, "both others to get all", func() bool {
		x, _, _ := a.Pending()
		y, _, _ := b.Pending()
		sum = x + y
		return sum == n
	})
	x, y := take(a), take(b)
	if x+y != n || x < n/5 || y < n/5 {
		t.Errorf("%d and %d messages, want %d, shared", x, y, n)
	}
}

// TestClusterAccounts: accounts stay apart between servers too, one with connections of its own and one without.
func TestClusterAccounts(t *testing.T) {
	c := servertest.StartCluster(t, 2, `accounts { A { users [ {user: a, password: x} ] }, B { users [ {user: b, password: x} ] } }
		cluster { accounts: [A] }`)
	a, b := connections(t, c, nats.UserInfo("a", "x")), connections(t, c, nats.UserInfo("b", "x"))
	inA, inB := subscribe(t, a[1], ">", "", a[0]), subscribe(t, b[1], "x", "", b[0])
	for _, nc := range []*nats.Conn{a[0], b[0]} {
		if err := nc.Publish("x", []byte(nc.Opts.User)); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
	}
	if m := next(t, inB); string(m.Data) != "b" {
		t.Errorf("B got %q", m.Data)
	}
	for {
		m := next(t, inA)
		if m.Subject == "x" {
			if string(m.Data) != "a" {
				t.Errorf("A got %q", m.Data)
			}
			break
		}
	}
}

// TestClusterPermissions: what may not cross routes does not.
func TestClusterPermissions(t *testing.T) {
	nc := connections(t, servertest.StartCluster(t, 2, `cluster { permissions { import { deny: "no.import" }, export { deny: "no.export" } } }`))
	sub := subscribe(t, nc[1], "*.*", "", nc[0])
	for _, subject := range []string{"no.import", "no.export", "may.pass"} {
		if err := nc[0].Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	for {
		switch m := next(t, sub); m.Subject {
		case "no.import", "no.export":
			t.Fatalf("%s came through", m.Subject)
		case "may.pass":
			return
		}
	}
}

// TestClusterReconnect: a client that knew one address finds another server when that one goes, and keeps what it has
// subscribed to.
func TestClusterReconnect(t *testing.T) {
	c := servertest.StartCluster(t, 3, "")
	moved := make(chan string, 1)
	nc, err := nats.Connect(c.Servers[0].ClientURL(), nats.ReconnectWait(time.Millisecond), nats.MaxReconnects(-1),
		nats.ReconnectHandler(func(nc *nats.Conn) { moved <- nc.ConnectedServerName() }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("news")
	if err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	servertest.Eventually(t, "the client to know the others", func() bool { return len(nc.DiscoveredServers()) == 2 })
	c.Stop(0)
	var now string
	select {
	case now = <-moved:
	case <-time.After(servertest.Patience):
		t.Fatal("the client is still without a server")
	}
	if now != "s2" && now != "s3" {
		t.Errorf("it is at %q", now)
	}
	c.Start(0)
	publisher := servertest.Connect(t, c.Servers[0])
	servertest.Reaches(t, publisher, nc)
	if err := publisher.Publish("news", []byte("old")); err != nil {
		t.Fatal(err)
	}
	if m := next(t, sub); string(m.Data) != "old" {
		t.Errorf("got %q", m.Data)
	}
}

// TestClusterRollingRestart restarts one server after the other in lame duck mode, under requests from clients that go elsewhere
// when they are told to. No request fails.
func TestClusterRollingRestart(t *testing.T) {
	c := servertest.StartClusterOptions(t, 3, "", func(_ int, o *conf.Options) {
		o.LameDuck.GracePeriod, o.LameDuck.Duration = 300*time.Millisecond, 600*time.Millisecond
	})
	var urls []string
	for _, s := range c.Servers {
		urls = append(urls, s.ClientURL())
	}
	serving, stopServing := context.WithCancel(context.Background())
	asking, stopAsking := context.WithCancel(context.Background())
	var servers, askers sync.WaitGroup
	defer servers.Wait()
	defer stopServing()
	defer askers.Wait() // before those end who answer
	defer stopAsking()
	for range 3 {
		servers.Go(func() { serveMoving(t, serving, urls) })
	}
	servertest.Eventually(t, "the service to be there", func() bool {
		_, err := servertest.Connect(t, c.Servers[2]).Request("help", nil, 100*time.Millisecond)
		return err == nil
	})
	var asked atomic.Int64
	for range 3 {
		askers.Go(func() { askMoving(t, asking, urls, &asked) })
	}
	for i, s := range c.Servers {
		before := asked.Load()
		s.LameDuck(context.Background())
		c.Stop(i) // it has ended already
		c.Start(i)
		servertest.Eventually(t, "requests to go on", func() bool { return asked.Load() > before+100 })
	}
}

// serveMoving answers requests until ctx ends. Told to go, it serves at another server before it leaves.
func serveMoving(t *testing.T, ctx context.Context, urls []string) {
	var old *nats.Conn
	for ctx.Err() == nil {
		nc, gone := connectMoving(t, urls)
		if nc == nil {
			continue
		}
		_, err := nc.QueueSubscribe("help", "helpers", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) })
		if err := errors.Join(err, nc.Flush()); err != nil {
			t.Error(err)
			return
		}
		if old != nil {
			servertest.Reaches(t, nc, nc) // its server has told all others
			_ = old.Drain()               // it is closed at the end anyway
		}
		select {
		case <-gone:
		case <-ctx.Done():
		}
		old = nc
	}
	if old != nil {
		old.Close()
	}
}

// askMoving sends requests until ctx ends. Told to go, it asks the next time at another server.
func askMoving(t *testing.T, ctx context.Context, urls []string, asked *atomic.Int64) {
	for ctx.Err() == nil {
		nc, gone := connectMoving(t, urls)
		if nc == nil {
			continue
		}
		for moving := false; !moving && ctx.Err() == nil; {
			if _, err := nc.Request("help", nil, servertest.Patience); err != nil {
				t.Errorf("request %d at %s failed: %v", asked.Load(), nc.ConnectedServerName(), err)
				return
			}
			asked.Add(1)
			select {
			case <-gone:
				moving = true
			default:
			}
		}
		nc.Close()
	}
}

// connectMoving connects to a server that takes clients. gone is closed when that one says that it stops.
func connectMoving(t *testing.T, urls []string) (nc *nats.Conn, gone chan struct{}) {
	gone = make(chan struct{})
	var once sync.Once
	opts := nats.GetDefaultOptions()
	opts.Servers, opts.AllowReconnect, opts.Timeout = urls, false, servertest.Patience
	opts.LameDuckModeHandler = func(*nats.Conn) { once.Do(func() { close(gone) }) }
	nc, err := opts.Connect()
	if err != nil {
		return nil, nil // all that it has tried are about to stop, or have not started yet
	}
	return nc, gone
}

// TestClusterSystem: over any server all can be asked, and each by its id; what happens on one is seen on all.
func TestClusterSystem(t *testing.T) {
	c := servertest.StartCluster(t, 3, `accounts { A { users [ {user: a, password: x} ] }, $SYS { users [ {user: sys, password: x} ] } }
		server_tags: [ {{name}} ]`)
	sys := servertest.Connect(t, c.Servers[0], nats.UserInfo("sys", "x"))
	inbox, err := sys.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	events, err := sys.SubscribeSync("$SYS.ACCOUNT.A.CONNECT")
	if err != nil {
		t.Fatal(err)
	}
	flush(t, sys)
	type answer struct {
		Server struct{ Name, Cluster, ID string }
		Statsz struct {
			ActiveServers int              `json:"active_servers"`
			Routes        []map[string]any `json:"routes"`
		}
	}
	servertest.Eventually(t, "three servers to answer", func() bool {
		if err := sys.PublishRequest("$SYS.REQ.SERVER.PING", inbox.Subject, nil); err != nil {
			t.Fatal(err)
		}
		var names []string
		for range 3 {
			m, err := inbox.NextMsg(200 * time.Millisecond)
			if err != nil {
				return false
			}
			var a answer
			if err := json.Unmarshal(m.Data, &a); err != nil {
				t.Fatal(err)
			}
			if a.Server.Cluster != "C" || a.Statsz.ActiveServers != 3 || len(a.Statsz.Routes) != 8 {
				t.Errorf("%s: cluster %q, %d servers, %d routes", a.Server.Name, a.Server.Cluster, a.Statsz.ActiveServers, len(a.Statsz.Routes))
			}
			names = append(names, a.Server.Name)
		}
		slices.Sort(names)
		return slices.Equal(names, []string{"s1", "s2", "s3"})
	})
	mustContain(t, "VARZ of another server", request(t, sys, "$SYS.REQ.SERVER."+c.Servers[1].ID()+".VARZ", ""), `"server_name":"s2"`, `"remotes":2`)
	mustContain(t, "reload of another server", request(t, sys, "$SYS.REQ.SERVER."+c.Servers[1].ID()+".RELOAD", ""), "TestClusterSystem.conf")
	mustContain(t, "with a filter", request(t, sys, "$SYS.REQ.SERVER.PING.IDZ", `{"server_name":"s3"}`), `"name":"s3"`)

	a := connections(t, c, nats.UserInfo("a", "x"))
	from := map[string]bool{}
	for range a {
		var e answer
		if err := json.Unmarshal(next(t, events).Data, &e); err != nil {
			t.Fatal(err)
		}
		from[e.Server.Name] = true
	}
	if len(from) != 3 {
		t.Errorf("clients were announced by %v, want all three servers", from)
	}
	mustContain(t, "user info", request(t, a[1], "$SYS.REQ.USER.INFO", ""), `"user":"a"`)
	own, err := a[1].SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := a[1].PublishRequest("$SYS.REQ.USER.INFO", own.Subject, nil); err != nil {
		t.Fatal(err)
	}
	if err := a[1].PublishRequest("$SYS.REQ.ACCOUNT.PING.CONNZ", own.Subject, nil); err != nil {
		t.Fatal(err)
	}
	for range 1 + len(c.Servers) {
		next(t, own)
	}
	if m, err := own.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("one answer too many: %.200s", m.Data)
	}
	subscribe(t, a[2], "orders", "", a[0])
	subscribe(t, a[1], "orders", "", a[0])
	got := request(t, sys, "$SYS.REQ.ACCOUNT.NSUBS", `{"acc":"A","subject":"orders"}`)
	if got != "0" && got != "1" {
		t.Errorf("NSUBS of one server says %q", got)
	}
}
