package engine_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// watcher collects what WatchInterest tells.
type watcher chan bool

func (w watcher) expect(t *testing.T, want bool) {
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

// watch begins a watch.
func (h *harness) watch(subject, queue string) (w watcher, cancel func()) {
	w = make(watcher, 100)
	return w, h.engine.WatchInterest(h.policy.Global(), subject, queue, func(found bool) { w <- found })
}

func TestWatchInterest(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.connect()
		c.send("SUB a.b q 1\r\n")
		c.flush()
		anybody, cancel := h.watch("a.b", "")
		group, _ := h.watch("a.b", "q")
		other, _ := h.watch("a.b", "other")
		anybody.expect(t, true)
		group.expect(t, true)
		other.expect(t, false)
		c.send("UNSUB 1\r\n")
		anybody.expect(t, false)
		group.expect(t, false)
		c.send("SUB a.* other 2\r\nUNSUB 2 1\r\n")
		anybody.expect(t, true)
		other.expect(t, true)
		h.engine.Publish(h.policy.Global(), "a.b", "", nil, nil) // the last one that it wants
		anybody.expect(t, false)
		other.expect(t, false)
		c.send("SUB > 3\r\n")
		anybody.expect(t, true)
		_ = c.nc.Close()
		anybody.expect(t, false)
		cancel()
		cancel()
		h.engine.Subscribe(h.policy.Global(), "a.b", "q", func(*engine.Message) {})
		group.expect(t, true)
		if len(anybody) != 0 {
			t.Error("told after the end")
		}
	})
}

// TestWatchUsesEngine: a watcher may do with the engine what it likes, also end itself.
func TestWatchUsesEngine(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	c := h.connect()
	var cancel func()
	told := make(watcher, 10)
	cancel = h.engine.WatchInterest(h.policy.Global(), "a", "", func(found bool) {
		if found {
			h.engine.Publish(h.policy.Global(), "a", "", nil, []byte("welcome"))
			cancel()
		}
		told <- found
	})
	told.expect(t, false)
	c.send("SUB a 1\r\n")
	c.expect("MSG a 1 7", "welcome")
	told.expect(t, true)
	c.send("UNSUB 1\r\n")
	c.flush()
	if len(told) != 0 {
		t.Error("told after the end")
	}
}

// TestWatchFirstCall: what changes while a watcher is told for the first time is told afterwards.
func TestWatchFirstCall(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	told := make(watcher, 10)
	first := true
	h.engine.WatchInterest(h.policy.Global(), "a", "", func(found bool) {
		if first {
			first = false
			h.engine.Subscribe(h.policy.Global(), "a", "", func(*engine.Message) {})
		}
		told <- found
	})
	told.expect(t, false)
	told.expect(t, true)
}

// TestWatchEnds: who has ended a watch is not told what had happened before.
func TestWatchEnds(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	account := h.policy.Global()
	busy, release := make(chan struct{}), make(chan struct{})
	h.engine.WatchInterest(account, "a", "", func(found bool) {
		if found {
			close(busy)
			<-release
		}
	})
	ended, cancel := h.watch("b", "")
	ended.expect(t, false)
	other, _ := h.watch("c", "")
	other.expect(t, false)
	h.engine.Subscribe(account, "a", "", func(*engine.Message) {})
	<-busy
	h.engine.Subscribe(account, "b", "", func(*engine.Message) {})
	h.engine.Subscribe(account, "c", "", func(*engine.Message) {})
	cancel()
	close(release)
	other.expect(t, true)
	if len(ended) != 0 {
		t.Error("told after the end")
	}
}

// TestWatchManyChanges: however fast subscriptions come and go, the last state is told, and never twice the same.
func TestWatchManyChanges(t *testing.T) {
	h := start(t, 0, accounts.Config{}, nil)
	account := h.policy.Global()
	var mu sync.Mutex
	var told []bool
	h.engine.WatchInterest(account, "a.b", "", func(found bool) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, found)
	})
	together(4, func(i int) {
		for n := range 200 {
			s := h.engine.Subscribe(account, []string{"a.b", "a.*"}[n%2], "", func(*engine.Message) {})
			if n < 199 || i > 0 {
				s.Unsubscribe()
			}
		}
	})
	until(t, "the last state is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return told[len(told)-1]
	})
	mu.Lock()
	defer mu.Unlock()
	for i, found := range told {
		if found != (i%2 == 1) {
			t.Fatalf("told %v", fmt.Sprint(told))
		}
	}
}

// TestWatchAccountGone: the watch of an account that a reload removes ends quietly.
func TestWatchAccountGone(t *testing.T) {
	h := start(t, 0, accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Users: []accounts.UserConfig{{Username: "a", Password: "a"}}},
	}}, nil)
	account := h.policy.Account("A")
	told := make(watcher, 10)
	cancel := h.engine.WatchInterest(account, "x", "", func(found bool) { told <- found })
	told.expect(t, false)
	c := h.login("a")
	c.send("SUB x 1\r\n")
	told.expect(t, true)
	h.served(c).Close(engine.ReasonRevoked, "")
	told.expect(t, false)
	cancel()
	if n := account.Interest().Len(); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
