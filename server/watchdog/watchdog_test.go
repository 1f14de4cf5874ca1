package watchdog_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/watchdog"
)

// TestRun lets work go on, idle, be slow and hang, and checks who is told when.
func TestRun(t *testing.T) {
	// A step is whether work is under way, for how many seconds, and how many pieces are done then.
	type step struct {
		busy    bool
		seconds int
		done    uint64
	}
	steady := make([]step, 60)
	for i := range steady {
		steady[i] = step{true, 1, 1}
	}
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"idle", []step{{false, 60, 0}}, ""},
		{"busy", steady, ""},
		{"slow once", []step{{true, 5, 1}, {false, 60, 0}}, "slow well"},
		{"hung", []step{{true, 60, 0}}, "slow hung"},
		{"two that are slow", []step{{true, 14, 1}, {true, 14, 1}, {false, 1, 0}}, "slow well slow well"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var done atomic.Uint64
				var busy atomic.Bool
				var told []string
				note := func(word string, least time.Duration) func(time.Duration) {
					return func(since time.Duration) {
						told = append(told, word)
						if since < least || since > least+15*time.Second {
							t.Errorf("%s after %s", word, since)
						}
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					watchdog.Run(ctx, watchdog.Config{
						Look:   func() (uint64, bool) { return done.Load(), busy.Load() },
						OnSlow: note("slow", 3*time.Second), OnWell: note("well", 3*time.Second), OnHung: note("hung", 15*time.Second),
					})
				}()
				for _, now := range tt.steps {
					busy.Store(now.busy)
					time.Sleep(time.Duration(now.seconds) * time.Second)
					done.Add(now.done)
				}
				cancel()
				<-ended
				if got := strings.Join(told, " "); got != tt.want {
					t.Errorf("told %q, want %q", got, tt.want)
				}
			})
		})
	}
}
