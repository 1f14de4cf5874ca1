package accounts_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"runnel/server/accounts"
)

// owner is a Subscriber.
type owner uint64

func (o owner) ID() uint64 { return uint64(o) }

func newSubscription(subject, queue string) *accounts.Subscription {
	return accounts.NewSubscription(owner(7), subject, queue, "1")
}

// count claims n deliveries and returns how many were granted, and whether the last
// of them was told to be.
func count(s *accounts.Subscription, n int) (granted int, done bool) {
	for range n {
		if number, last := s.Count(); number > 0 {
			granted++
			done = last
		}
	}
	return granted, done
}

func TestSubscriptionFields(t *testing.T) {
	s := newSubscription("a.b", "q")
	if s.Subject != "a.b" || s.Queue != "q" || s.SID != "1" || s.Value != s || s.Owner.ID() != 7 {
		t.Errorf("NewSubscription gave %+v", s)
	}
	if got, most := unsafe.Sizeof(*s), uintptr(96); got > most {
		t.Errorf("a subscription has %d bytes, want at most %d", got, most)
	}
}

func TestSubscriptionLimit(t *testing.T) {
	tests := []struct {
		name          string
		before, limit int
		reached       bool
		granted       int // of 10 claims after SetLimit
	}{
		{"nothing delivered", 0, 3, false, 3},
		{"one left", 2, 3, false, 1},
		{"reached", 3, 3, true, 0},
		{"passed", 5, 3, true, 0},
		{"zero", 0, 0, true, 0},
		{"negative", 0, -1, true, 0},
		{"far away", 5, math.MaxInt, false, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSubscription("a", "")
			if granted, done := count(s, tt.before); granted != tt.before || done {
				t.Fatalf("without a limit %d of %d granted, done = %v", granted, tt.before, done)
			}
			if got := s.SetLimit(int64(tt.limit)); got != tt.reached {
				t.Errorf("SetLimit(%d) = %v, want %v", tt.limit, got, tt.reached)
			}
			granted, done := count(s, 10)
			if granted != tt.granted || done != (granted > 0 && granted < 10) {
				t.Errorf("%d granted, done = %v, want %d", granted, done, tt.granted)
			}
			if got, want := s.Delivered(), int64(tt.before+granted); got != want {
				t.Errorf("Delivered() = %d, want %d", got, want)
			}
			if got, want := s.Limit(), int64(min(tt.limit, accounts.MaxLimit)); !tt.reached && got != want {
				t.Errorf("Limit() = %d, want %d", got, want)
			}
		})
	}
}

func TestSubscriptionLimitChanges(t *testing.T) {
	s := newSubscription("a", "")
	s.SetLimit(10)
	count(s, 4)
	if s.SetLimit(6) {
		t.Error("SetLimit(6) after 4 deliveries = true")
	}
	if granted, done := count(s, 5); granted != 2 || !done {
		t.Errorf("%d granted, done = %v, want 2, true", granted, done)
	}
}

func TestSubscriptionClose(t *testing.T) {
	for _, limit := range []int64{0, 5} {
		s := newSubscription("a", "")
		if limit > 0 {
			s.SetLimit(limit)
		}
		count(s, 2)
		if s.Closed() || !s.Close() || s.Close() || !s.Closed() {
			t.Error("Close must be true once")
		}
		if granted, _ := count(s, 1); granted != 0 || s.Delivered() != 2 || s.Limit() != limit {
			t.Errorf("closed: %d granted, %d delivered, limit %d", granted, s.Delivered(), s.Limit())
		}
		if s.SetLimit(9); !s.Closed() {
			t.Error("SetLimit opened it again")
		}
	}
}

// TestSubscriptionLimitConcurrently sets the limit while workers deliver: never more
// than the limit is granted after all, and exactly one is told to be last.
func TestSubscriptionLimitConcurrently(t *testing.T) {
	const limit, workers, claims = 1000, 4, 2000
	for range 20 {
		s := newSubscription("a", "")
		var granted, last atomic.Int64
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for range claims {
					n, done := s.Count()
					if n > 0 {
						granted.Add(1)
					}
					if done {
						last.Add(1)
					}
				}
			})
		}
		reached := s.SetLimit(limit)
		group.Wait()
		if reached {
			continue // the workers were faster
		}
		if granted.Load() != limit || last.Load() != 1 {
			t.Fatalf("%d granted, %d times last, want %d and 1", granted.Load(), last.Load(), limit)
		}
	}
}

func BenchmarkSubscriptionCount(b *testing.B) {
	b.ReportAllocs()
	s := newSubscription("a", "")
	for b.Loop() {
		s.Count()
	}
}
