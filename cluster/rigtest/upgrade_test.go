//go:build unix

package rigtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/process"
	"runnel/cluster/rigtest"
)

// old is a server of the version before this one.
var old = flag.String("old", "", "a server of the version before this one, for the scenarios of upgrades")

// TestUpgrade: servers are replaced one after the other by those of the next version, and by those of the last one again, while
// clients go on.
func TestUpgrade(t *testing.T) {
	if *old == "" {
		t.Skip("needs a server of the version before: -old FILE")
	}
	before, err := process.Find(t.Context(), *old)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, rigtest.Config{Servers: 3, Program: &before}, nil)
	requests, chatter := w.StartRequests(2, slack), w.StartChatter(slack)
	makers := w.StartMakers(w.Connect(), 1, slack)
	for range upgrades {
		for _, p := range []process.Program{rigtest.This(t), before} {
			for _, n := range w.Nodes {
				w.replace(n, p)
				t.Logf("%s runs %s", n.Name, p.Path)
			}
			w.whole()
		}
	}
	makers.Stop()
	requests.Stop()
	w.verify()
	chatter.Stop()
}

// replace has a server run another program, as an operator does it.
func (w *world) replace(n *rigtest.Node, p process.Program) {
	w.t.Helper()
	w.WaitSafe(n)
	n.LameDuck()
	n.Use(p)
	w.writers.Progress(20)
	n.Start()
	w.whole()
}

// TestFeatureLevel: what only some servers know is not used: the level rises when the last one has been replaced by a server that
// knows more, and not before. Until then each can be replaced by the old one again; afterwards such a one takes no part, and
// says so.
func TestFeatureLevel(t *testing.T) {
	t.Parallel()
	this := rigtest.This(t)
	if this.Dialect == process.Incumbent {
		t.Skip("there are no feature levels")
	}
	before := rigtest.BuildChanged(t, "server/server.go", "featureLevel = ", "featureLevel = -1 + ")
	c := rigtest.New(t, rigtest.Config{JetStream: true})
	c.Nodes[2].Use(before)
	for _, n := range c.Nodes {
		n.Start()
	}
	c.WaitReady()
	w := inhabit(t, c, nil)
	level := w.level(func(int) bool { return true })
	first, last := w.Nodes[0], w.Nodes[2]
	w.replace(first, before)
	w.replace(first, this)
	if got := w.level(func(int) bool { return true }); got != level {
		t.Errorf("the level is %d before all servers know it, want %d", got, level)
	}
	const notKnown = 11090
	var refusal *jetstream.APIError
	if err := w.keyed(); !errors.As(err, &refusal) || refusal.ErrorCode != notKnown {
		t.Errorf("a consumer with keys, which not all servers know: got %v, want error %d", err, notKnown)
	}
	w.replace(last, this)
	w.level(func(got int) bool { return got == level+1 })
	if err := w.keyed(); err != nil {
		t.Errorf("a consumer with keys, which all servers know: %v", err)
	}
	first.LameDuck()
	first.Use(before)
	first.Start()
	rigtest.Eventually(t, "the old server to say that it is too old", func() error {
		_, err := first.Get("/healthz")
		if err != nil && strings.Contains(err.Error(), "feature level") {
			return nil
		}
		return fmt.Errorf("it says %v", err)
	})
	w.writers.Progress(20)
	first.LameDuck()
	first.Use(this)
	first.Start()
	w.verify()
}

// keyed makes a consumer that needs commands of the second level.
func (w *world) keyed() error {
	js, err := jetstream.New(w.nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	_, err = js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: "KEYED", AckPolicy: jetstream.AckExplicitPolicy, Metadata: map[string]string{"runnel.key": "token:1"},
	})
	return err
}

// level waits until all servers say the same of the feature level, and it is one that is wanted.
func (w *world) level(wanted func(int) bool) int {
	w.t.Helper()
	level := 0
	rigtest.Eventually(w.t, "all servers to agree on the feature level", func() (err error) {
		if level, err = w.Nodes[0].FeatureLevel(); err != nil {
			return err
		}
		for _, n := range w.Nodes {
			if got, err := n.FeatureLevel(); err != nil || got != level || got == 0 || !wanted(got) {
				return fmt.Errorf("%s has %d, %v; %s has %d", n.Name, got, err, w.Nodes[0].Name, level)
			}
		}
		return nil
	})
	return level
}
