package accounts_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/accounts"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// allow returns how many of n answers on subject are allowed.
func allow(r *accounts.Responses, subject string, n int, now time.Time) (allowed int) {
	for range n {
		if r.Allow(subject, now) {
			allowed++
		}
	}
	return allowed
}

func TestResponses(t *testing.T) {
	tests := []struct {
		name       string
		permission accounts.ResponsePermission
		expect     int           // messages with that reply
		later      time.Duration // of the answers
		want       int           // answers allowed, of 10
	}{
		{"nothing expected", accounts.ResponsePermission{}, 0, 0, 0},
		{"defaults", accounts.ResponsePermission{}, 1, 0, 1},
		{"default time", accounts.ResponsePermission{}, 1, 2*time.Minute - 1, 1},
		{"default time is over", accounts.ResponsePermission{}, 1, 2 * time.Minute, 0},
		{"max", accounts.ResponsePermission{Max: 3}, 1, 0, 3},
		{"max for each message", accounts.ResponsePermission{Max: 3}, 2, 0, 6},
		{"any number", accounts.ResponsePermission{Max: -1}, 2, time.Minute, 10},
		{"huge number", accounts.ResponsePermission{Max: math.MaxInt - 1}, 2, time.Minute, 10},
		{"any number expires", accounts.ResponsePermission{Max: -1}, 1, 2 * time.Minute, 0},
		{"for ever", accounts.ResponsePermission{Expires: -1}, 1, 1000 * time.Hour, 1},
		{"own time", accounts.ResponsePermission{Expires: time.Second}, 1, time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := accounts.NewResponses(tt.permission)
			for range tt.expect {
				r.Expect("reply", start)
			}
			if allow(r, "other", 1, start) != 0 {
				t.Error("an answer on another subject is allowed")
			}
			if got := allow(r, "reply", 10, start.Add(tt.later)); got != tt.want {
				t.Errorf("%d of 10 answers allowed, want %d", got, tt.want)
			}
		})
	}
}

func TestResponsesForget(t *testing.T) {
	r := accounts.NewResponses(accounts.ResponsePermission{Expires: time.Minute})
	for i := range 10 {
		r.Expect(fmt.Sprint(i), start)
	}
	allow(r, "0", 1, start)
	allow(r, "9", 1, start)
	allow(r, "5", 1, start)
	if got := r.Len(); got != 7 {
		t.Errorf("%d left after 3 of 10 were answered, want 7", got)
	}
	r.Expect("1", start.Add(time.Second)) // the oldest becomes the newest
	r.Expect("new", start.Add(time.Minute))
	if got := r.Len(); got != 2 {
		t.Errorf("%d left after all but two expired, want 2", got)
	}
	if got := allow(r, "1", 3, start.Add(time.Minute)); got != 2 {
		t.Errorf("%d answers to two messages allowed, want 2", got)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	r := accounts.NewResponses(accounts.ResponsePermission{})
	for i := range accounts.MaxResponses + 10 {
		r.Expect(fmt.Sprint(i), start)
	}
	if got := r.Len(); got != accounts.MaxResponses {
		t.Errorf("Len() = %d, want %d", got, accounts.MaxResponses)
	}
	if r.Allow("9", start) || !r.Allow("10", start) {
		t.Error("it is not the oldest ones that were forgotten")
	}
}

func TestResponsesConcurrently(t *testing.T) {
	r := accounts.NewResponses(accounts.ResponsePermission{})
	const each = 1000
	var allowed atomic.Int64
	var group sync.WaitGroup
	for g := range 2 {
		group.Go(func() {
			for i := range each {
				r.Expect(fmt.Sprint(g, i), start)
			}
		})
		group.Go(func() {
			for i := range each {
				for !r.Allow(fmt.Sprint(g, i), start) {
				}
				allowed.Add(1)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 2*each || r.Len() != 0 {
		t.Errorf("%d allowed, %d left, want %d, 0", allowed.Load(), r.Len(), 2*each)
	}
}

func BenchmarkResponses(b *testing.B) {
	b.ReportAllocs()
	r := accounts.NewResponses(accounts.ResponsePermission{})
	for b.Loop() {
		r.Expect("_INBOX.abc.def", start)
		r.Allow("_INBOX.abc.def", start)
	}
}
