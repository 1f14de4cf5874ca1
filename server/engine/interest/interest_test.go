package interest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/interest"
)

// patience is how long a test waits for what must come.
const patience = 15 * time.Second

// subscriber is somebody who subscribes.
type subscriber struct{}

func (subscriber) ID() uint64 { return 1 }

// told collects what a watch is told.
type told chan bool

func (w told) expect(t *testing.T, want bool) {
	t.Helper()
	select {
	case got := <-w:
		if got != want {
			t.Fatalf("told %t, want %t", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("not told, want %t", want)
	}
}

// start returns an Announcer that runs, and accounts A and B.
func start(t *testing.T) (n *interest.Announcer, r *accounts.Registry, a, b *accounts.Account) {
	n = interest.New()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	r = accounts.NewRegistry()
	p := share(t, r, false)
	return n, r, p.Account("A"), p.Account("B")
}

// share makes B import what A publishes, or not.
func share(t *testing.T, r *accounts.Registry, yes bool) *accounts.Policy {
	t.Helper()
	cfg := accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Exports: []accounts.ExportConfig{{Subject: "s.*"}}}, {Name: "B"},
	}}
	if yes {
		cfg.Accounts[1].Imports = []accounts.ImportConfig{{Account: "A", Subject: "s.*", To: "local.*"}}
	}
	p, err := r.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Activate(p)
	return p
}

func insert(a *accounts.Account, pattern, queue string) *accounts.Subscription {
	s := accounts.NewSubscription(subscriber{}, pattern, queue, "1")
	a.Interest().Insert(&s.Entry)
	return s
}

func TestWatch(t *testing.T) {
	n, _, a, _ := start(t)
	all, group := make(told, 10), make(told, 10)
	cancel := n.Watch(a, "s.x", "", func(yes bool) { all <- yes })
	defer n.Watch(a, "s.x", "q", func(yes bool) { group <- yes })()
	all.expect(t, false)
	group.expect(t, false)
	one := insert(a, "s.>", "")
	all.expect(t, true)
	two := insert(a, "s.x", "q")
	group.expect(t, true)
	a.Interest().Remove(&one.Entry)
	a.Interest().Remove(&two.Entry)
	all.expect(t, false)
	group.expect(t, false)
	cancel()
	insert(a, "s.x", "q")
	group.expect(t, true)
	if len(all) > 0 {
		t.Error("told after cancel")
	}
}

func TestWatchImporters(t *testing.T) {
	n, r, a, b := start(t)
	watch := make(told, 10)
	cancel := n.Watch(a, "s.x", "", func(yes bool) { watch <- yes })
	watch.expect(t, false)
	sub := insert(b, "local.*", "")
	n.Refresh()
	share(t, r, true)
	n.Refresh()
	watch.expect(t, true)
	share(t, r, false)
	n.Refresh()
	watch.expect(t, false)
	share(t, r, true)
	n.Refresh()
	watch.expect(t, true)
	b.Interest().Remove(&sub.Entry)
	watch.expect(t, false)
	cancel()
	cancel() // a second time is nothing
	insert(b, "local.x", "")
	n.Refresh()
	if len(watch) > 0 {
		t.Error("told after cancel")
	}
}

// TestWatchManyWays: accounts that each import twice what the one before has do not hold up a watch.
func TestWatchManyWays(t *testing.T) {
	n, r, _, _ := start(t)
	var cfg accounts.Config
	for i := range 16 {
		a := accounts.AccountConfig{Name: fmt.Sprint("L", i), Exports: []accounts.ExportConfig{{Subject: ">"}}}
		if i > 0 {
			from := fmt.Sprint("L", i-1)
			a.Imports = []accounts.ImportConfig{{Account: from, Subject: ">", To: "a.>"}, {Account: from, Subject: ">", To: "b.>"}}
		}
		cfg.Accounts = append(cfg.Accounts, a)
	}
	p, err := r.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Activate(p)
	heard := make(told, 10)
	defer n.Watch(p.Account("L0"), "x", "", func(yes bool) { heard <- yes })()
	heard.expect(t, false)
	insert(p.Account("L15"), ">", "")
	heard.expect(t, true)
}
