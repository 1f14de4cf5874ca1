// Package servertest runs servers inside tests: each on free ports of the loopback address, gone when the
// test ends, with a check that nothing of it keeps running. It also has a raw client for what no client
// library would send, and certificates that are made on the spot.
//
// A program that embeds the server tests itself with it:
//
//	s := servertest.Start(t, "")
//	nc := servertest.Connect(t, s)
//
// or with several servers that are one cluster:
//
//	c := servertest.StartCluster(t, 3, "")
//	nc := servertest.Connect(t, c.Servers[0])
package servertest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
)

// Patience is how long the functions of this package wait for what must come. It is long, since only a
// failure uses it up.
const Patience = 10 * time.Second

// label marks the goroutines of a server, so that those of other tests do not count as leaked.
const label = "servertest"

// serial tells the servers of one test apart.
var serial atomic.Uint64

// Options reads config, a text in the language of the config file. Clients connect to a free port on
// loopback unless it says otherwise; give -1 as the port of any other listener for the same.
func Options(t testing.TB, config string) *conf.Options {
	t.Helper()
	o, err := conf.Parse(t.Name()+".conf", []byte(config))
	if err != nil {
		t.Fatalf("config of the server: %v", err)
	}
	defaults := conf.Defaults()
	if o.Host == defaults.Host {
		o.Host = "127.0.0.1"
	}
	if o.Port == defaults.Port {
		o.Port = -1
	}
	return o
}

// Start runs a server with this config (see [Options]) until the test ends.
func Start(t testing.TB, config string) *server.Server {
	t.Helper()
	return StartOptions(t, Options(t, config))
}

// StartOptions runs a server with these options until the test ends.
func StartOptions(t testing.TB, o *conf.Options) *server.Server {
	t.Helper()
	s, err := open(t, o, nil)
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	return s
}

// open starts a server that is shut down, if it still runs, when the test ends.
func open(t testing.TB, o *conf.Options, logger *slog.Logger) (*server.Server, error) {
	t.Helper()
	name := fmt.Sprintf("%s#%d", t.Name(), serial.Add(1))
	var s *server.Server
	var err error
	// Goroutines inherit the labels of whoever starts them.
	pprof.Do(context.Background(), pprof.Labels(label, name), func(context.Context) { s, err = server.Open(o, logger) })
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shut the server down: %v", err)
		}
		Eventually(t, "all goroutines of the server to end", func() bool { return leaked(name) == "" })
		if text := leaked(name); text != "" {
			t.Errorf("goroutines of the server that still run:\n%s", text)
		}
	})
	return s, nil
}

// leaked returns the stacks of the goroutines with a label.
func leaked(name string) string {
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return err.Error()
	}
	var stacks []string
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", label, name)) {
			stacks = append(stacks, stack)
		}
	}
	return strings.Join(stacks, "\n\n")
}

// Connect opens a connection of nats.go to s over TCP, and closes it when the test ends. It does not
// reconnect unless an option says so.
func Connect(t testing.TB, s *server.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.ClientURL(), append([]nats.Option{nats.NoReconnect(), nats.Timeout(Patience)}, opts...)...)
	if err != nil {
		t.Fatalf("connect to %s: %v", s.ClientURL(), err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Eventually waits until a condition holds that something else brings about, and fails the test when it does
// not. what completes "waited in vain for".
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline.C:
			if !condition() {
				t.Errorf("waited in vain for %s", what)
			}
			return
		}
	}
}
