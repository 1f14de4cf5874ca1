package server_test

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

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// clientURLs are the host:port of clients of these servers, sorted.
func clientURLs(servers ...*server.Server) []string {
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.Addr().String())
	}
	slices.Sort(urls)
	return urls
}

// waitURLs reads INFO after INFO until the client is told of exactly these servers.
func waitURLs(t *testing.T, c *servertest.Client, servers ...*server.Server) {
	t.Helper()
	want := clientURLs(servers...)
	for !slices.Equal(connectURLs(c), want) {
		c.ReadInfo()
	}
}

// connectURLs are those of the last INFO, sorted.
func connectURLs(c *servertest.Client) []string {
	list, _ := c.Info()["connect_urls"].([]any)
	var urls []string
	for _, u := range list {
		urls = append(urls, fmt.Sprint(u))
	}
	slices.Sort(urls)
	return urls
}

// TestClusterInfo: clients hear of all servers at once, and later of each that comes or goes.
func TestClusterInfo(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, `cluster { name: east }
		websocket { listen: "127.0.0.1:-1", no_tls: true }`)
	s := cluster.Servers
	c := servertest.DialQuiet(t, s[0])
	waitURLs(t, c, s...)
	if got := c.Info()["cluster"]; got != "east" {
		t.Errorf("cluster = %v, want east", got)
	}
	old := servertest.Dial(t, s[0])
	old.Send(`CONNECT {"verbose":false}` + "\r\n")
	old.Flush()
	cluster.Stop(2)
	waitURLs(t, c, s[0], s[1])
	cluster.Start(2)
	waitURLs(t, c, cluster.Servers...)
	old.Flush() // and was told nothing
	if got := connectURLs(servertest.Dial(t, s[1])); !slices.Equal(got, clientURLs(cluster.Servers...)) {
		t.Errorf("the first INFO has the URLs %q", got)
	}
	ws, err := nats.Connect(s[0].Ports().WebSocket[0])
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	servertest.Eventually(t, "a WebSocket client to hear of the others", func() bool { return len(ws.DiscoveredServers()) == 2 })
	for _, u := range ws.DiscoveredServers() {
		if !strings.HasPrefix(u, "ws://") {
			t.Errorf("a WebSocket client was told of %s", u)
		}
	}
}

// TestClusterLameDuckInfo: others no longer send clients to a server that is about to stop, and its own clients learn that together
// with where else they can go.
func TestClusterLameDuckInfo(t *testing.T) {
	cluster := servertest.StartCluster(t, 2, "")
	s := cluster.Servers
	other, own := servertest.DialQuiet(t, s[0]), servertest.DialQuiet(t, s[1])
	waitURLs(t, other, s...)
	waitURLs(t, own, s...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		s[1].LameDuck(ctx)
		close(done)
	}()
	waitURLs(t, other, s[0])
	waitURLs(t, own, s[0])
	if own.Info()["ldm"] != true {
		t.Errorf("INFO = %v, want ldm", own.Info())
	}
	own.Flush()
	cancel()
	<-done
}

// TestClusterReload: addresses that are told, routes and credentials change without a restart; the port does not.
func TestClusterReload(t *testing.T) {
	config := func(name, more string) string {
		return fmt.Sprintf("server_name: %s\n%s", name, more)
	}
	const block = `listen: "127.0.0.1:-1", name: C`
	a := servertest.Start(t, config("a", "cluster { "+block+" }"))
	b := servertest.Start(t, config("b", "cluster { "+block+" }"))
	c := servertest.DialQuiet(t, a)
	route := fmt.Sprintf("routes: [ %q ]", a.ClusterURL())
	reload(t, b, config("b", "cluster { "+block+", "+route+" }"))
	waitURLs(t, c, a, b)
	reload(t, b, config("b", "client_advertise: \"example.com:1\"\ncluster { "+block+", "+route+" }"))
	for !slices.Contains(connectURLs(c), "example.com:1") {
		c.ReadInfo()
	}
	reload(t, b, config("b", "cluster { "+block+", no_advertise: true, "+route+" }"))
	waitURLs(t, c, a)
	if info := servertest.Dial(t, b).Info(); info["connect_urls"] != nil || info["cluster"] != "C" {
		t.Errorf("no_advertise: INFO = %v", info)
	}
	reload(t, a, config("a", "cluster { "+block+", authorization { user: u, password: p } }"))
	if got := a.Peers(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after new credentials a is connected with %q, want b as before", got)
	}
	changes := reload(t, a, config("a", `cluster { listen: "127.0.0.1:1", name: D }`))
	var kept []string
	for _, change := range changes {
		if !change.Reloadable {
			kept = append(kept, change.Key)
		}
	}
	if want := []string{"cluster.name", "cluster.port"}; !slices.Equal(kept, want) {
		t.Errorf("a reload leaves out %q, want %q", kept, want)
	}
	broken := servertest.Options(t, config("a", "cluster { "+block+", authorization { user: u, password: \"$2a$broken\" } }"))
	if _, err := a.Reload(broken); err == nil {
		t.Error("a broken hash was taken")
	}
}

// TestClusterTLS: servers show certificates to one another, and credentials as well.
func TestClusterTLS(t *testing.T) {
	a := servertest.NewAuthority(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string, authority *servertest.Authority, logger *slog.Logger, routes string) *server.Server {
		o := servertest.Options(t, fmt.Sprintf(`server_name: %s
			cluster { name: C, listen: "127.0.0.1:-1", authorization { user: u, password: %q }
			%s
			routes: [ %s ] }`, name, hash, authority.Peer().Block("ca_file: '"+authority.File+"'"), routes))
		return startLogging(t, o, logger)
	}
	var logs logBuffer
	first := start("a", a, logs.logger(), "")
	route := strings.Replace(first.ClusterURL(), "://", "://u:secret@", 1)
	second := start("b", a, nil, route)
	third := start("c", a, nil, route)
	for _, s := range []*server.Server{first, second, third} {
		servertest.Eventually(t, "three servers to be connected by TLS", func() bool { return s.ConnectedTo(2) })
	}
	if got := first.Ports().Cluster; len(got) != 1 || !strings.HasPrefix(got[0], "tls://127.0.0.1:") {
		t.Errorf("the ports file has %q for servers", got)
	}
	var refused logBuffer
	start("d", servertest.NewAuthority(t), refused.logger(), route)
	refused.wait(t, "certificate signed by unknown authority")
	start("e", a, refused.logger(), strings.Replace(first.ClusterURL(), "://", "://u:wrong@", 1))
	refused.wait(t, "wrong credentials", "cluster.authorization")
	logs.wait(t, "wrong credentials", "cluster.authorization")
}

// startLogging runs a server whose log is looked at.
func startLogging(t *testing.T, o *conf.Options, logger *slog.Logger) *server.Server {
	t.Helper()
	s, err := server.Open(o, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// logBuffer keeps the log of a server.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// wait waits until one line has all words.
func (l *logBuffer) wait(t *testing.T, words ...string) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprintf("a log line with %q", words), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for line := range strings.Lines(l.text.String()) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true
			}
		}
		return false
	})
}

// TestClusterMistakes: what an operator does wrong is named in the logs of both servers, with what to do about it.
func TestClusterMistakes(t *testing.T) {
	var logs logBuffer
	a := startLogging(t, servertest.Options(t, `server_name: a
		cluster { name: C, listen: "127.0.0.1:-1", authorization { user: u, password: p } }`), logs.logger())
	seed := func(user string) string { return strings.Replace(a.ClusterURL(), "://", "://"+user+"@", 1) }
	for _, test := range []struct {
		name, server, cluster, route string
		words                        []string
	}{
		{"another cluster", "b", "D", seed("u:p"), []string{"cluster.name must be the same on all servers", "D"}},
		{"wrong password", "b", "C", seed("u:x"), []string{"wrong credentials", "cluster.authorization", "cluster.routes"}},
		{"name taken", "a", "C", seed("u:p"), []string{"both servers are named a", "server_name must be different"}},
		{"client port", "b", "C", "nats-route://" + a.Addr().String(), []string{"a client port answers there", "cluster ports"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var theirs logBuffer
			b := startLogging(t, servertest.Options(t, fmt.Sprintf(
				"server_name: %s\ncluster { name: %s, listen: \"127.0.0.1:-1\", routes: [ %q ] }", test.server, test.cluster, test.route)), theirs.logger())
			theirs.wait(t, test.words...)
			if test.name != "client port" {
				logs.wait(t, test.words...)
			}
			if got := b.Peers(); len(got) != 0 {
				t.Errorf("it is connected with %q nevertheless", got)
			}
		})
	}
	t.Run("a client at the port of servers", func(t *testing.T) {
		nc, err := net.Dial("tcp", strings.TrimPrefix(a.ClusterURL(), "nats-route://"))
		if err != nil {
			t.Fatal(err)
		}
		c := servertest.NewClient(t, nc)
		c.Send(servertest.Quiet)
		c.Expect("-ERR 'this port is for servers of the cluster; clients have another'")
		logs.wait(t, "clients must use the client port")
	})
}

// TestClusterMonitoring: the pages name the other servers, and what goes to them.
func TestClusterMonitoring(t *testing.T) {
	cluster := servertest.StartCluster(t, 3, "http: \"127.0.0.1:-1\"\ncluster { name: east, pool_size: 2, permissions { export { deny: secret } } }")
	s := cluster.Servers[0]
	type varz struct {
		Cluster     map[string]any
		ConnectURLs []string `json:"connect_urls"`
		Routes      int
		Remotes     int
	}
	client := servertest.DialQuiet(t, s)
	waitURLs(t, client, cluster.Servers...)
	client.Close()
	v := page[varz](t, s, "/varz")
	if v.Routes != 6 || v.Remotes != 2 || v.Cluster["name"] != "east" || v.Cluster["pool_size"] != 2.0 || v.Cluster["cluster_port"] == 0.0 {
		t.Errorf("varz = %+v", v)
	}
	if slices.Sort(v.ConnectURLs); !slices.Equal(v.ConnectURLs, clientURLs(cluster.Servers...)) {
		t.Errorf("connect_urls = %q", v.ConnectURLs)
	}
	type routez struct {
		NumRoutes int `json:"num_routes"`
		Export    struct{ Deny []string }
		Routes    []struct {
			RID         uint64 `json:"rid"`
			RemoteID    string `json:"remote_id"`
			RemoteName  string `json:"remote_name"`
			IP          string
			Port        int
			Start       time.Time
			Account     string
			Compression string
			Uptime      string
		}
	}
	z := page[routez](t, s, "/routez?subs=1")
	if z.NumRoutes != 6 || len(z.Routes) != 6 || !slices.Equal(z.Export.Deny, []string{"secret"}) {
		t.Fatalf("routez = %+v", z)
	}
	seen := map[string]int{}
	for _, r := range z.Routes {
		seen[r.RemoteName+" "+r.Account]++
		if r.IP != "127.0.0.1" || r.Port == 0 || r.RemoteID == "" || r.Start.IsZero() || r.Compression != "off" || r.Uptime == "" {
			t.Errorf("route = %+v", r)
		}
	}
	for _, name := range []string{"s2", "s3"} {
		if seen[name+" "] != 2 || seen[name+" $SYS"] != 1 {
			t.Errorf("routes: %v, want two of the pool and one of the system account to %s", seen, name)
		}
	}
	_, metrics := get(t, s, "/metrics")
	mustContain(t, "metrics", metrics, "runnel_remotes 2\n", "runnel_routes 6\n", `runnel_route_pending_bytes{server_name="s2"} 0`, `cluster="east"`)
}
