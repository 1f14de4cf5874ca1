package rigtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A Node is one server of a cluster: a process, or the place of one that is down. Its methods are for one goroutine.
type Node struct {
	Name string // as clients see it

	t       testing.TB
	program Program
	settings
	dir string // of its own: configuration, log, streams

	process *process // nil: down
}

// process is a server that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu    sync.Mutex // guards what follows
	leave bool       // it is meant to end
}

// expect notes that the process is meant to end.
func (p *process) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = true
}

// expected reports whether the process is meant to end.
func (p *process) expected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leave
}

// ClientURL is where clients connect.
func (n *Node) ClientURL() string { return "nats://" + n.client }

// MonitorURL is the root of the pages for monitoring.
func (n *Node) MonitorURL() string { return "http://" + n.http }

// Running reports whether the server was started, and not ended by the methods of this type.
func (n *Node) Running() bool { return n.process != nil }

// logPath is the file with what all lives of the server have said.
func (n *Node) logPath() string { return filepath.Join(n.dir, "log") }

// Start starts the server, which must be down. It does not wait for it: see [Cluster.WaitReady].
func (n *Node) Start() {
	n.t.Helper()
	if n.process != nil {
		n.t.Fatalf("%s is started, and runs already", n.Name)
	}
	conf := filepath.Join(n.dir, "server.conf")
	if err := os.WriteFile(conf, []byte(n.text()), 0o600); err != nil {
		n.t.Fatal(err)
	}
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close() // the process has its own handle
	p := &process{cmd: exec.Command(n.program.Path, "-c", conf), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	adopt(p.cmd)
	if err := p.cmd.Start(); err != nil {
		n.t.Fatalf("start %s: %v", n.Name, err)
	}
	n.process = p
	go func() {
		defer close(p.done)
		if err := p.cmd.Wait(); !p.expected() {
			n.t.Errorf("%s has ended by itself: %v", n.Name, err)
		}
	}()
}

// Stop ends the server as an operating system does that shuts down, and waits until it has ended.
func (n *Node) Stop() { n.t.Helper(); n.end(signalEnd) }

// Kill ends the server without a chance to do anything, and waits until it has ended.
func (n *Node) Kill() { n.t.Helper(); n.end(os.Kill) }

// LameDuck has the server send its clients away and end, and waits until it has ended.
func (n *Node) LameDuck() { n.t.Helper(); n.end(signalLameDuck) }

// end sends a signal that means the end. It does nothing when the server is down.
func (n *Node) end(s os.Signal) {
	n.t.Helper()
	if n.process == nil {
		return
	}
	p := n.process
	n.process = nil
	p.expect()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Errorf("signal %v to %s: %v", s, n.Name, err)
	}
	select {
	case <-p.done:
		return
	case <-time.After(Patience):
	}
	n.t.Errorf("%s does not end after signal %v, and is killed", n.Name, s)
	_ = p.cmd.Process.Kill() // it runs
	<-p.done
}

// Pause stops the process in its tracks; its connections stay.
func (n *Node) Pause() { n.t.Helper(); n.signal(signalPause) }

// Resume lets a paused process go on.
func (n *Node) Resume() { n.t.Helper(); n.signal(signalResume) }

func (n *Node) signal(s os.Signal) {
	n.t.Helper()
	if n.process == nil {
		n.t.Fatalf("signal %v to %s, which is down", s, n.Name)
	}
	if err := n.process.cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("signal %v to %s: %v", s, n.Name, err)
	}
}

// Wipe removes all streams of the server, which must be down: what then starts under its name is a new machine.
func (n *Node) Wipe() {
	n.t.Helper()
	if n.process != nil {
		n.t.Fatalf("%s is wiped while it runs", n.Name)
	}
	if err := os.RemoveAll(n.storeDir); err != nil {
		n.t.Fatalf("wipe %s: %v", n.Name, err)
	}
}

// Use has the server, which must be down, run another program from its next start on.
func (n *Node) Use(p Program) {
	n.t.Helper()
	if n.process != nil {
		n.t.Fatalf("%s runs, and is given another program", n.Name)
	}
	n.program = p
}

// StoreDir is the folder of the server's streams; there is none before the first start.
func (n *Node) StoreDir() string { return n.storeDir }

// PID is the number of the process of the server, which must be running.
func (n *Node) PID() int {
	n.t.Helper()
	if n.process == nil {
		n.t.Fatalf("%s is down, and asked for its process", n.Name)
	}
	return n.process.cmd.Process.Pid
}

// Doom notes that the server, which must be running, is about to end by itself, so that this is no fault.
func (n *Node) Doom() {
	n.t.Helper()
	n.PID()
	n.process.expect()
}

// WaitEnd waits until a server that is doomed has ended, and returns the exit code.
func (n *Node) WaitEnd() int {
	n.t.Helper()
	p := n.process
	Eventually(n.t, n.Name+" to end", func() error {
		select {
		case <-p.done:
			return nil
		default:
			return errors.New("it runs")
		}
	})
	n.process = nil
	return p.cmd.ProcessState.ExitCode()
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

// Get returns a page of the monitoring, such as /healthz. The error says what is wrong with the server, too.
func (n *Node) Get(page string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(n.MonitorURL() + page)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s%s: %s: %s", n.Name, page, answer.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// Log is what the server has said so far, in all its lives.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// faultLines is how much of a log is shown from a fault on.
const faultLines = 60

// faults are places of a log that no cluster may ever have.
func faults(log string) []string {
	signs := []string{"panic: ", "WARNING: DATA RACE", "fatal error: "}
	lines := slices.Collect(strings.Lines(log))
	var found []string
	for i := 0; i < len(lines); i++ {
		if !slices.ContainsFunc(signs, func(sign string) bool { return strings.HasPrefix(lines[i], sign) }) {
			continue
		}
		end := min(len(lines), i+faultLines)
		found = append(found, strings.Join(lines[i:end], ""))
		i = end
	}
	return found
}
