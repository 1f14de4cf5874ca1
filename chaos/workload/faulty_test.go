package workload_test

import (
	"context"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/history"
	"runnel/chaos/network"
	"runnel/chaos/workload"
)

// behind puts a proxy in front of each node.
func behind(t testing.TB, nodes []workload.Node, urls []string) ([]workload.Node, []*network.Proxy) {
	t.Helper()
	var proxied []workload.Node
	var proxies []*network.Proxy
	for i, n := range nodes {
		u, err := url.Parse(urls[i])
		if err != nil {
			t.Fatal(err)
		}
		p, err := network.NewProxy(u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		proxies = append(proxies, p)
		proxied = append(proxied, workload.Node{Name: n.Name, Connect: dial("nats://" + p.Addr())})
	}
	return proxied, proxies
}

// disturb resets all connections through a proxy at random times, until ctx ends.
func disturb(ctx context.Context, p *network.Proxy) {
	for {
		timer := time.NewTimer(time.Duration(50+rand.IntN(300)) * time.Millisecond)
		select {
		case <-timer.C:
			p.Reset()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// resets has a workload run while connections are reset.
func resets(t *testing.T, name string) ([]history.Operation, workload.Config) {
	t.Helper()
	direct, address := aloneAt(t)
	nodes, proxies := behind(t, direct, []string{address})
	cfg := config(nodes)
	cfg.CallTimeout = 500 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var disturbing sync.WaitGroup
	defer disturbing.Wait()
	defer cancel()
	ops := run(t, name, cfg, plan{
		before: func() { disturbing.Go(func() { disturb(ctx, proxies[0]) }) },
		enough: stored(messages[name]),
		after:  cancel,
	})
	return ops, cfg
}

func TestWithResets(t *testing.T) {
	for _, name := range workload.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops, cfg := resets(t, name)
			t.Log(summary(ops))
			clean(t, findings(name, ops, cfg))
		})
	}
}

// Acknowledgements that do not arrive are unknown, and what was not acknowledged is sent again under its id only.
func TestUnknownResults(t *testing.T) {
	direct, address := aloneAt(t)
	nodes, proxies := behind(t, direct, []string{address})
	cfg := config(nodes)
	cfg.CallTimeout = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var disturbing sync.WaitGroup
	defer disturbing.Wait()
	defer cancel()
	good, unknown := 0, 0
	ops := run(t, "W1", cfg, plan{
		before: func() {
			disturbing.Go(func() {
				for ctx.Err() == nil { // answers are held back longer than anybody waits for them
					proxies[0].Hold(network.Backward)
					wait(ctx, 250*time.Millisecond)
					proxies[0].Heal()
					wait(ctx, 250*time.Millisecond)
				}
			})
		},
		enough: func(o history.Operation) bool {
			switch o.Result {
			case history.OK:
				good++
			case history.Unknown:
				unknown++
			}
			return good > 50 && unknown > 3
		},
		after: func() { cancel(); disturbing.Wait() },
	})
	clean(t, findings("W1", ops, cfg))
	seen := map[string]bool{}
	for _, o := range ops {
		if o.Kind == history.Publish && seen[o.Value] {
			t.Fatalf("%q was published twice", o.Value)
		}
		seen[o.Value] = seen[o.Value] || o.Kind == history.Publish
	}
}

// wait waits, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A server whose address nobody listens at does not keep the workload from beginning, nor from ending.
func TestServerThatIsDown(t *testing.T) {
	up, _ := aloneAt(t)
	down := workload.Node{Name: "n2", Connect: func(opts ...nats.Option) (*nats.Conn, error) { return nats.Connect("nats://127.0.0.1:1", opts...) }}
	cfg := config(append([]workload.Node{down}, up...))
	cfg.Replicas, cfg.CallTimeout = 1, 300*time.Millisecond
	setup, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	r := history.NewRecorder(discard{})
	cfg.Recorder = r
	w, err := workload.New("W1", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Setup(setup); err != nil {
		t.Fatalf("Setup: %v", err)
	}
	running, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := w.Run(running); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// discard is a file that keeps nothing.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
