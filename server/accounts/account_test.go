package accounts_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"runnel/server/accounts"
)

// limited returns an account with these limits.
func limited(t testing.TB, limits accounts.Limits) *accounts.Account {
	t.Helper()
	return compile(t, accounts.Config{
		Accounts: []accounts.AccountConfig{{Name: "A", Limits: limits}},
	}).Account("A")
}

func TestAccountLimits(t *testing.T) {
	tests := []struct {
		limit int64
		want  int // of 5
	}{{3, 3}, {0, 5}, {-1, 5}, {10, 5}}
	for _, tt := range tests {
		a := limited(t, accounts.Limits{MaxConnections: tt.limit, MaxSubscriptions: tt.limit})
		connections, subscriptions := 0, 0
		for range 5 {
			if a.TryAddConnection() {
				connections++
			}
			if a.TryAddSubscription() {
				subscriptions++
			}
		}
		if connections != tt.want || subscriptions != tt.want {
			t.Errorf("limit %d: %d connections, %d subscriptions, want %d", tt.limit, connections, subscriptions, tt.want)
		}
		if a.Connections() != int64(tt.want) || a.TotalConnections() != int64(tt.want) || a.Subscriptions() != int64(tt.want) {
			t.Errorf("limit %d: counters are %d, %d, %d", tt.limit, a.Connections(), a.TotalConnections(), a.Subscriptions())
		}
		a.RemoveConnection()
		a.RemoveSubscription()
		if !a.TryAddConnection() || !a.TryAddSubscription() {
			t.Errorf("limit %d: what was given back cannot be had again", tt.limit)
		}
	}
}

func TestAccountLimitsConcurrently(t *testing.T) {
	const limit, workers = 2, 4
	a := limited(t, accounts.Limits{MaxConnections: limit})
	var now, tooMany, added atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range 5000 {
				if !a.TryAddConnection() {
					continue
				}
				added.Add(1)
				if now.Add(1) > limit {
					tooMany.Add(1)
				}
				now.Add(-1)
				a.RemoveConnection()
			}
		})
	}
	group.Wait()
	if tooMany.Load() > 0 {
		t.Errorf("more than %d connections at a time", limit)
	}
	if got := a.TotalConnections(); got != added.Load() {
		t.Errorf("TotalConnections() = %d, want %d", got, added.Load())
	}
	if got := a.Connections(); got != 0 {
		t.Errorf("%d connections left, want 0", got)
	}
}

func TestAccountInterest(t *testing.T) {
	a := limited(t, accounts.Limits{})
	sub := newSubscription("a.*", "")
	a.Interest().Insert(&sub.Entry)
	found := a.Interest().Match([]byte("a.b"), nil)
	if len(found) != 1 || found[0].Value != sub {
		t.Errorf("found %v, want the subscription", found)
	}
}
