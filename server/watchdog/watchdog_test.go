package watchdog_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/watchdog"
)

// TestRun lets work go on, idle, be slow and hang, and checks who is told when.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name string
		work func(done *atomic.Uint64, busy *atomic.Bool)
		want string
	}{
		{"idle", func(*atomic.Uint64, *atomic.Bool) { time.Sleep(time.Minute) }, ""},
		{"busy", func(done *atomic.Uint64, busy *atomic.Bool) {
			busy.Store(true)
			for range 60 {
				time.Sleep(time.Second)
				done.Add(1)
			}
		}, ""},
		{"slow once", func(done *atomic.Uint64, busy *atomic.Bool) {
			busy.Store(true)
			time.Sleep(5 * time.Second)
			done.Add(1)
			busy.Store(false)
			time.Sleep(time.Minute)
		}, "slow well"},
		{"hung", func(_ *atomic.Uint64, busy *atomic.Bool) {
			busy.Store(true)
			time.Sleep(time.Minute)
		}, "slow hung"},
		{"one that ended, then one that hangs", func(done *atomic.Uint64, busy *atomic.Bool) {
			busy.Store(true)
			time.Sleep(14 * time.Second)
			done.Add(1)
			time.Sleep(14 * time.Second)
			done.Add(1)
			busy.Store(false)
			time.Sleep(time.Second)
		}, "slow well slow well"},
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
				tt.work(&done, &busy)
				cancel()
				<-ended
				if got := fmt.Sprint(strings.Join(told, " ")); got != tt.want {
					t.Errorf("told %q, want %q", got, tt.want)
				}
			})
		})
	}
}
