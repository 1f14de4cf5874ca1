package clustering_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"runnel/cluster/mesh"
	"runnel/conf"
	"runnel/server/clustering"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// member is a server of a test, but for what a server does.
type member struct {
	t       *testing.T
	cluster *clustering.Cluster
	addr    string

	mu    sync.Mutex // guards what follows
	log   bytes.Buffer
	links map[*mesh.Link]bool
	told  int // calls of Changed
	news  *sync.Cond
}

func (m *member) Linked(l *mesh.Link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[l] = true
	m.news.Broadcast()
}

func (m *member) Unlinked(l *mesh.Link, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.links, l)
	m.news.Broadcast()
}

func (m *member) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.news.Broadcast()
	return m.log.Write(b)
}

func (m *member) changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told++
	m.news.Broadcast()
}

// wait waits until the condition holds. It is called with the lock held.
func (m *member) wait(what string, condition func() bool) {
	m.t.Helper()
	deadline := time.Now().Add(patience)
	stop := time.AfterFunc(patience, m.news.Broadcast)
	defer stop.Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for !condition() {
		if time.Now().After(deadline) {
			m.t.Fatalf("waited in vain for %s; the log:\n%s", what, m.log.String())
		}
		m.news.Wait()
	}
}

// waitLog waits until a line of the log has all the words.
func (m *member) waitLog(words ...string) {
	m.t.Helper()
	m.wait(fmt.Sprintf("a log line with %q", words), func() bool {
		for line := range strings.Lines(m.log.String()) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true
			}
		}
		return false
	})
}

// join opens a member whose block has the text in it. Clients reach it at its name.
func join(t *testing.T, name, block string, routes ...string) *member {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, addr: ln.Addr().String(), links: map[*mesh.Link]bool{}}
	m.news = sync.NewCond(&m.mu)
	m.cluster, err = clustering.Open(clustering.Config{
		Options: options(t, block, routes...), Self: mesh.Member{ID: "ID-" + name, Name: name}, SystemAccount: "SYS",
		Listener: ln, PingMax: 2, Routes: m, Changed: m.changed, Logger: slog.New(slog.NewTextHandler(m, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.leave)
	if err := m.cluster.Advertise([]string{name + ":4222"}, []string{name + ":80"}); err != nil {
		t.Fatal(err)
	}
	return m
}

func options(t *testing.T, block string, routes ...string) clustering.Options {
	t.Helper()
	text := fmt.Sprintf("cluster { listen: \"127.0.0.1:-1\", %s\nroutes = [ nats-route://%s ] }", block, strings.Join(routes, ", nats-route://"))
	if len(routes) == 0 {
		text = fmt.Sprintf("cluster { listen: \"127.0.0.1:-1\", %s }", block)
	}
	o, err := conf.Parse("a.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return clustering.Options{Cluster: o.Cluster}
}

func (m *member) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.cluster.Close(ctx); err != nil {
		m.t.Error(err)
	}
}

// waitURLs waits until clients of m are told these URLs.
func (m *member) waitURLs(want ...string) {
	m.t.Helper()
	m.wait(fmt.Sprintf("the URLs %q", want), func() bool {
		return slices.Equal(m.cluster.View().ConnectURLs, want)
	})
}

func TestURLs(t *testing.T) {
	a := join(t, "a", "name: C")
	if got := a.cluster.View().ConnectURLs; !slices.Equal(got, []string{"a:4222"}) {
		t.Errorf("a server alone tells %q", got)
	}
	b := join(t, "b", "name: C", a.addr)
	c := join(t, "c", "name: C, no_advertise: true", a.addr)
	a.waitURLs("a:4222", "b:4222")
	b.waitURLs("b:4222", "a:4222")
	c.wait("two others", func() bool { return len(c.cluster.View().Others) == 2 })
	if v := c.cluster.View(); v.ConnectURLs != nil || v.WebsocketURLs != nil {
		t.Errorf("no_advertise: clients are told %q and %q", v.ConnectURLs, v.WebsocketURLs)
	}
	a.wait("links", func() bool { return len(a.links) == 8 })
	if !a.cluster.Complete(2) || a.cluster.Complete(1) {
		t.Error("all links are there, and it says something else")
	}
	if got := len(a.cluster.Links()); got != 8 {
		t.Errorf("got %d links, want a pool of 3 and one for the system account with each", got)
	}
	if got := a.cluster.View().WebsocketURLs; !slices.Equal(got, []string{"a:80", "b:80"}) {
		t.Errorf("WebSocket clients are told %q", got)
	}
	if err := b.cluster.LameDuck(); err != nil {
		t.Fatal(err)
	}
	if got := b.cluster.View().ConnectURLs; !slices.Equal(got, []string{"a:4222"}) {
		t.Errorf("a server that is about to stop tells %q", got)
	}
	a.waitURLs("a:4222")
	b.leave()
	a.wait("one other", func() bool { return len(a.cluster.View().Others) == 1 && len(a.links) == 4 })
}

func TestReload(t *testing.T) {
	a := join(t, "a", "name: C")
	b := join(t, "b", "name: C")
	if err := b.cluster.Reload(options(t, "name: C", a.addr)); err != nil {
		t.Fatal(err)
	}
	b.waitURLs("b:4222", "a:4222")
	if err := b.cluster.Reload(options(t, "name: C, no_advertise: true")); err != nil {
		t.Fatal(err)
	}
	if got := b.cluster.View().ConnectURLs; got != nil {
		t.Errorf("no_advertise: clients are told %q", got)
	}
	a.waitURLs("a:4222")
	if err := b.cluster.Reload(options(t, "name: C, advertise: example.com")); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(b.addr)
	if err != nil {
		t.Fatal(err)
	}
	a.wait("the advertised address", func() bool {
		others := a.cluster.View().Others
		return len(others) == 1 && others[0].RouteURL == "example.com:"+port
	})
	a.waitURLs("a:4222", "b:4222")
	if err := b.cluster.Reload(options(t, "name: C, authorization { user: u, password: \"$2a$nonsense\" }")); err == nil {
		t.Error("a broken hash was taken")
	}
}

func TestGeneratedName(t *testing.T) {
	a := join(t, "a", "")
	generated := a.cluster.View().Name
	if generated == "" || !a.cluster.View().Self.Dynamic {
		t.Fatalf("the name of a cluster without one: %q", generated)
	}
	join(t, "b", "name: C", a.addr)
	a.wait("the configured name", func() bool { return a.cluster.View().Name == "C" })
	a.waitLog("Cluster name updated to C", "before="+generated)
}

func TestHashedPassword(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	block := fmt.Sprintf("name: C, authorization { user: u, password: %q }", hash)
	a := join(t, "a", block)
	a.waitLog("is a hash", "has the password to it")
	// b and c learn of one another: what they show there is the password of the route, not the hash.
	b := join(t, "b", block, "u:secret@"+a.addr)
	c := join(t, "c", block, "u:secret@"+a.addr)
	for _, m := range []*member{a, b, c} {
		m.wait("two others", func() bool { return len(m.cluster.View().Others) == 2 })
	}
	for _, wrong := range []string{"u:other@", "v:secret@", "", "u:" + strings.NewReplacer("$", "%24", "/", "%2F").Replace(string(hash)) + "@"} {
		d := join(t, "d", "name: C", wrong+a.addr)
		d.waitLog("wrong credentials")
		d.leave()
	}
	a.waitLog("wrong credentials")
}

// TestRefused: both sides say what is wrong and what to do about it.
func TestRefused(t *testing.T) {
	a := join(t, "a", "name: C, authorization { user: u, password: p }")
	for _, test := range []struct {
		name, server, block, route string
		words                      []string
	}{
		{"name of the cluster", "b", "name: D", "u:p@", []string{`\"D\"`, "cluster.name must be the same on all servers"}},
		{"credentials", "b", "name: C", "u:x@", []string{"wrong credentials", "cluster.routes"}},
		{"name of the server", "a", "name: C", "u:p@", []string{"both servers are named a", "server_name must be different"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := join(t, test.server, test.block, test.route+a.addr)
			if test.server == "a" {
				// The same id would be the server itself.
				b.leave()
				b = joinAs(t, "ID-other", test.server, test.block, test.route+a.addr)
			}
			b.waitLog(test.words...)
			a.waitLog(test.words...)
			b.leave()
		})
	}
}

// joinAs is join with an id that does not follow from the name.
func joinAs(t *testing.T, id, name, block string, routes ...string) *member {
	t.Helper()
	m := &member{t: t, links: map[*mesh.Link]bool{}}
	m.news = sync.NewCond(&m.mu)
	var err error
	m.cluster, err = clustering.Open(clustering.Config{
		Options: options(t, block, routes...), Self: mesh.Member{ID: id, Name: name},
		Routes: m, Changed: m.changed, Logger: slog.New(slog.NewTextHandler(m, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.leave)
	return m
}

// TestOpenToAll: who lets everybody in hears of it.
func TestOpenToAll(t *testing.T) {
	const warning = "Whoever reaches the cluster port can join"
	for _, test := range []struct {
		name, listen, block string
		warned              bool
	}{
		{"to the network", "0.0.0.0:0", "name: C", true},
		{"to this machine", "127.0.0.1:0", "name: C", false},
		{"to who knows the password", "0.0.0.0:0", "name: C, authorization { user: u, password: p }", false},
	} {
		ln, err := net.Listen("tcp", test.listen)
		if err != nil {
			t.Fatal(err)
		}
		m := &member{t: t, links: map[*mesh.Link]bool{}}
		m.news = sync.NewCond(&m.mu)
		m.cluster, err = clustering.Open(clustering.Config{
			Options: options(t, test.block), Self: mesh.Member{ID: "a", Name: "a"}, Listener: ln,
			Routes: m, Changed: m.changed, Logger: slog.New(slog.NewTextHandler(m, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.leave()
		if got := strings.Contains(m.log.String(), warning); got != test.warned {
			t.Errorf("%s: warned: %v, want %v", test.name, got, test.warned)
		}
	}
}

func TestOpenFails(t *testing.T) {
	for name, o := range map[string]clustering.Options{
		"hash": options(t, "authorization { user: u, password: \"$2a$nonsense\" }"),
		"name": {Cluster: &conf.Cluster{Name: "a b"}},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, err = clustering.Open(clustering.Config{
			Options: o, Self: mesh.Member{ID: "a", Name: "a"}, Listener: ln, Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := ln.Accept(); err == nil {
			t.Errorf("%s: the listener is still open", name)
		}
	}
}

// TestAlone: a nil cluster is that of a server alone.
func TestAlone(t *testing.T) {
	var c *clustering.Cluster
	if v := c.View(); !c.Complete(0) || c.Complete(1) || v.Name != "" || v.ConnectURLs != nil || len(c.Links()) != 0 {
		t.Errorf("got %+v", v)
	}
	for _, err := range []error{
		c.LameDuck(), c.Advertise([]string{"a"}, nil), c.Reload(clustering.Options{}), c.Close(t.Context()),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}
