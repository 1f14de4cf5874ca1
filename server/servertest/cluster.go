package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
)

// Cluster is some servers that are connected each with each. The methods end the test if they fail; they are for one
// goroutine.
type Cluster struct {
	// Servers are named s1, s2 and so on. One that was stopped stays in its place.
	Servers []*server.Server

	t       testing.TB
	options []*conf.Options
	running []bool
}

// ServerName is what StartCluster replaces by the name of each server.
const ServerName = "{{name}}"

// StartCluster runs n servers as one cluster, each with this config (see [Options]; [ServerName] in it stands for the name
// of the server), and returns when all are connected with all. The config may have a cluster block; what it does not set is
// set as needed: a name, a port on loopback, and the routes.
func StartCluster(t testing.TB, n int, config string) *Cluster {
	t.Helper()
	return StartClusterOptions(t, n, config, func(int, *conf.Options) {})
}

// StartClusterOptions is StartCluster with options that no config can have: change may set those of the i-th server.
func StartClusterOptions(t testing.TB, n int, config string, change func(i int, o *conf.Options)) *Cluster {
	t.Helper()
	const attempts = 5 // somebody may take a port between its choice and its use
	for attempt := 1; ; attempt++ {
		c := &Cluster{t: t, Servers: make([]*server.Server, n), running: make([]bool, n)}
		ports := freePorts(t, n)
		for i := range n {
			o := memberOptions(t, fmt.Sprintf("s%d", i+1), config, ports, i)
			change(i, o)
			c.options = append(c.options, o)
		}
		err := c.startAll()
		if err == nil {
			c.Wait()
			return c
		}
		if attempt == attempts || !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("start a cluster: %v", err)
		}
		for i := range n {
			c.stop(i)
		}
	}
}

// memberOptions are those of the i-th server, whose cluster port is one of ports.
func memberOptions(t testing.TB, name, config string, ports []int, i int) *conf.Options {
	t.Helper()
	o := Options(t, strings.ReplaceAll(config, ServerName, name))
	o.ServerName = name
	if o.Cluster == nil {
		o.Cluster = Options(t, "cluster {}").Cluster
	}
	c := o.Cluster
	if c.Name == "" {
		c.Name = "C"
	}
	c.Host, c.Port = "127.0.0.1", ports[i]
	user := ""
	if a := c.Authorization; a.Username != "" {
		user = a.Username + ":" + a.Password + "@"
	}
	if len(c.Routes) == 0 {
		for _, p := range ports {
			c.Routes = append(c.Routes, fmt.Sprintf("nats-route://%s127.0.0.1:%d", user, p))
		}
	}
	return o
}

// freePorts are ports on loopback that nobody listens on just now.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (c *Cluster) startAll() error {
	for i := range c.Servers {
		if err := c.start(i); err != nil {
			return err
		}
	}
	return nil
}

// start starts a server, and has it start at the same addresses the next time.
func (c *Cluster) start(i int) error {
	s, err := open(c.t, c.options[i], nil)
	if err != nil {
		return err
	}
	c.Servers[i], c.running[i] = s, true
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		c.options[i].Port = a.Port
	}
	return nil
}

func (c *Cluster) stop(i int) {
	if !c.running[i] {
		return
	}
	c.running[i] = false
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := c.Servers[i].Shutdown(ctx); err != nil {
		c.t.Errorf("shut the server down: %v", err)
	}
}

// Options are those that the i-th server starts with the next time.
func (c *Cluster) Options(i int) *conf.Options { return c.options[i] }

// Stop shuts the i-th server down, and returns when the others know that it has gone.
func (c *Cluster) Stop(i int) {
	c.t.Helper()
	c.stop(i)
	c.Wait()
}

// Start starts the i-th server again, at the addresses that it had, and returns when it is connected with the others.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	if err := c.start(i); err != nil {
		c.t.Fatalf("start server s%d: %v", i+1, err)
	}
	c.Wait()
}

// Wait returns when all servers that run are connected with all, and with no other.
func (c *Cluster) Wait() {
	c.t.Helper()
	n := 0
	for _, running := range c.running {
		if running {
			n++
		}
	}
	for i, s := range c.Servers {
		if c.running[i] {
			Eventually(c.t, fmt.Sprintf("s%d to be connected with %d others", i+1, n-1), func() bool { return s.ConnectedTo(n - 1) })
		}
	}
}

// Reaches returns when what to has subscribed to so far is known to the server that from is connected with. Both must be in the
// same account, and may publish and subscribe to inboxes.
func Reaches(t testing.TB, from, to *nats.Conn) {
	t.Helper()
	sub, err := to.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "a subscription to be known to another server", func() bool {
		if err := errors.Join(from.Publish(sub.Subject, nil), from.Flush()); err != nil {
			t.Fatal(err)
		}
		_, err := sub.NextMsg(10 * time.Millisecond)
		return err == nil
	})
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
}
