package workload_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/judge"
	"runnel/chaos/workload"
	"runnel/server/servertest"
)

// finishLimit is how long what a workload does at the end may take. Only a failure uses it up.
const finishLimit = 60 * time.Second

// alone starts a server, and returns it as the only node.
func alone(t testing.TB) []workload.Node {
	t.Helper()
	nodes, _ := aloneAt(t)
	return nodes
}

// aloneAt is alone, with the address of the server.
func aloneAt(t testing.TB) ([]workload.Node, string) {
	t.Helper()
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	return []workload.Node{{Name: "n1", Connect: dial(s.ClientURL())}}, s.ClientURL()
}

// three starts a cluster of three servers.
func three(t testing.TB) (*servertest.Cluster, []workload.Node) {
	t.Helper()
	c := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", filepath.Join(t.TempDir(), servertest.ServerName)))
	var nodes []workload.Node
	for _, s := range c.Servers {
		nodes = append(nodes, workload.Node{Name: s.Name(), Connect: dial(s.ClientURL())})
	}
	return c, nodes
}

// dial connects to an address.
func dial(url string) func(...nats.Option) (*nats.Conn, error) {
	return func(opts ...nats.Option) (*nats.Conn, error) { return nats.Connect(url, opts...) }
}

// config is for a run that takes about a second.
func config(nodes []workload.Node) workload.Config {
	return workload.Config{
		Nodes: nodes, Processes: 4, Keys: 3, Rate: 400, Replicas: len(nodes), Seed: 1,
		CallTimeout: 2 * time.Second, AckWait: 2 * time.Second, Patience: 20 * time.Second,
	}
}

// plan is how a test has a workload run.
type plan struct {
	before func()                       // between Setup and Run
	enough func(history.Operation) bool // is asked for each operation of Run, and says when to end
	after  func()                       // between Run and Finish
}

// stored says when so many messages, or changes of another kind, were acknowledged.
func stored(want int) func(history.Operation) bool {
	return func(o history.Operation) bool {
		switch o.Kind {
		case history.Publish, history.Swap, history.Put, history.Commit, history.CreateStream:
			if o.Result == history.OK {
				want--
			}
		}
		return want <= 0
	}
}

// observed is a recorder that ends a run.
type observed struct {
	*history.Recorder
	mu     sync.Mutex // guards what follows
	enough func(history.Operation) bool
	end    func()
}

func (r *observed) Record(o history.Operation) {
	r.Recorder.Record(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.enough != nil && r.enough(o) {
		r.enough = nil
		r.end()
	}
}

// during has a recorder call end when there is enough.
func (r *observed) during(enough func(history.Operation) bool, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enough, r.end = enough, end
}

// run runs a workload and returns its history.
func run(t testing.TB, name string, cfg workload.Config, p plan) []history.Operation {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	r, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	watched := &observed{Recorder: r}
	cfg.Recorder = watched
	w, err := workload.New(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	setup, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	if err := w.Setup(setup); err != nil {
		t.Fatal(err)
	}
	if p.before != nil {
		p.before()
	}
	running, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	watched.during(p.enough, cancel)
	if err := w.Run(running); err != nil {
		t.Fatal(err)
	}
	if errors.Is(running.Err(), context.DeadlineExceeded) {
		t.Error("the run has not come to its end")
	}
	watched.during(nil, nil)
	if p.after != nil {
		p.after()
	}
	finish, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	if err := w.Finish(finish); err != nil {
		t.Errorf("finish: %v", err)
	}
	w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ops, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// findings has the history of a workload checked, as a campaign does. Nothing is harmed, so nothing needs as much time as there, and no client
// comes to nothing.
func findings(name string, ops []history.Operation, cfg workload.Config) []check.Finding {
	_, all := judge.Workload(name, ops, judge.Limits{Grace: 10 * time.Second, AckWait: cfg.AckWait, AgeSlack: time.Second})
	for _, o := range ops {
		if o.Kind == history.Stall {
			all = append(all, check.Finding{Kind: check.Stalled, Text: o.Value + ": " + o.Error, Count: 1, Operations: []history.Operation{o}})
		}
	}
	return all
}

// clean fails the test if the checks find anything.
func clean(t testing.TB, found []check.Finding) {
	t.Helper()
	for _, f := range found {
		t.Errorf("%v", &f)
		for _, o := range f.Operations {
			t.Logf("  %+v", o)
		}
	}
}

// count is how many operations there are of a kind and a result.
func count(ops []history.Operation, kind string, result history.Result) (n int) {
	for _, o := range ops {
		if o.Kind == kind && o.Result == result {
			n++
		}
	}
	return n
}

// summary is how many operations there are, by kind and result, and what makes results unknown.
func summary(ops []history.Operation) string {
	var kinds []string
	for _, o := range ops {
		if name := o.Kind + " " + o.Result.String(); !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	for i, name := range kinds {
		kind, result, _ := strings.Cut(name, " ")
		n := 0
		for _, o := range ops {
			if o.Kind == kind && o.Result.String() == result {
				n++
			}
		}
		kinds[i] = fmt.Sprintf("%s %d", name, n)
	}
	for _, o := range ops {
		if o.Result == history.Unknown && o.Error != "" && !slices.Contains(kinds, o.Kind+": "+o.Error) {
			kinds = append(kinds, o.Kind+": "+o.Error)
		}
	}
	return strings.Join(kinds, ", ")
}
