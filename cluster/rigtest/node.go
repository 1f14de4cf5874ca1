package rigtest

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/process"
)

// anyError is what logs may have here, where servers are harmed all the time. Crashes are none of them.
var anyError = regexp.MustCompile("")

// A Node is one server of a cluster: a process, or the place of one that is down. Its methods are for one goroutine, and end the
// test when something goes wrong.
type Node struct {
	Name string // as clients see it

	t      testing.TB
	server *process.Server
}

// patiently ends when [Patience] is over.
func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Patience)
}

// must ends the test when something went wrong.
func (n *Node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// ClientURL is where clients connect, without a proxy.
func (n *Node) ClientURL() string { return "nats://" + n.server.Config().Client }

// MonitorURL is the root of the pages for monitoring.
func (n *Node) MonitorURL() string { return n.server.MonitorURL() }

// Running reports whether the server was started, and not ended by the methods of this type.
func (n *Node) Running() bool { return n.server.Running() }

// Start starts the server, which must be down. It does not wait for it: see [Cluster.WaitReady].
func (n *Node) Start() { n.t.Helper(); n.must(n.server.Launch()) }

// Stop ends the server as an operating system does that shuts down, and waits until it has ended.
func (n *Node) Stop() { n.t.Helper(); n.end(n.server.Stop) }

// Kill ends the server without a chance to do anything, and waits until it has ended.
func (n *Node) Kill() { n.t.Helper(); n.must(n.server.Kill()) }

// LameDuck has the server send its clients away and end, and waits until it has ended.
func (n *Node) LameDuck() { n.t.Helper(); n.end(n.server.LameDuck) }

// end does something that has the server end. One that does not is an error, and is killed.
func (n *Node) end(do func(context.Context) error) {
	n.t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	if err := do(ctx); err != nil {
		n.t.Error(err)
	}
}

// Pause stops the process in its tracks; its connections stay.
func (n *Node) Pause() { n.t.Helper(); n.must(n.server.Pause()) }

// Resume lets a paused process go on.
func (n *Node) Resume() { n.t.Helper(); n.must(n.server.Resume()) }

// Wipe removes all streams of the server, which must be down: what then starts under its name is a new machine.
func (n *Node) Wipe() { n.t.Helper(); n.must(n.server.Wipe()) }

// Use has the server run another program from its next start on.
func (n *Node) Use(p process.Program) { n.server.Use(p) }

// StoreDir is the folder of the server's streams; there is none before the first start.
func (n *Node) StoreDir() string { return n.server.StoreDir() }

// PID is the number of the process of the server, which must be running.
func (n *Node) PID() int {
	n.t.Helper()
	pid, ok := n.server.PID()
	if !ok {
		n.t.Fatalf("%s is down, and asked for its process", n.Name)
	}
	return pid
}

// Doom notes that the server, which must be running, is about to end by itself, so that this is no fault.
func (n *Node) Doom() { n.t.Helper(); n.must(n.server.ExpectEnd()) }

// WaitEnd waits until a server that is doomed has ended, and returns the exit code.
func (n *Node) WaitEnd() int {
	n.t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	code, err := n.server.WaitEnd(ctx)
	n.must(err)
	return code
}

// Get returns a page of the monitoring, such as /healthz. The error says what is wrong with the server, too.
func (n *Node) Get(page string) ([]byte, error) { return n.server.Get(context.Background(), page) }

// Log is what the server has said so far, in all its lives.
func (n *Node) Log() string {
	text, err := n.server.Log()
	if err != nil {
		return err.Error()
	}
	return text
}

// Connect opens a connection to this server alone, and closes it when the test ends.
func (n *Node) Connect(opts ...nats.Option) *nats.Conn {
	n.t.Helper()
	return connect(n.t, n.ClientURL(), opts...)
}

// connect opens a connection that outlives everything. It knows no other servers than those of the URL, and goes to another
// one as soon as its server says that it is about to end.
func connect(t testing.TB, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	all := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 0),
		nats.Timeout(10 * time.Second), nats.IgnoreDiscoveredServers(), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(3),
		nats.LameDuckModeHandler(func(nc *nats.Conn) { _ = nc.ForceReconnect() }), // it may be closed
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),         // loads see what becomes of what they ask
	}
	var nc *nats.Conn
	Eventually(t, "a connection to "+url, func() (err error) {
		nc, err = nats.Connect(url, append(all, opts...)...)
		return err
	})
	t.Cleanup(nc.Close)
	return nc
}
