package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
	"runnel/jetlog/command"
)

// TestHandOverAfterSilence hands the leadership to a follower that has heard nothing for a while.
func TestHandOverAfterSilence(t *testing.T) {
	for _, silence := range []time.Duration{3 * time.Second, 7 * time.Second} {
		for _, quiet := range []time.Duration{0, 5 * time.Second} {
			t.Run(fmt.Sprintf("%v/%v", silence, quiet), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "a", "b", "c")
					defer w.close()
					id := w.create("S", "a", "b", "c").ID
					w.publish(id, 10)
					l := w.leader(id)
					var follower *node
					for _, n := range w.nodes {
						if n != l {
							follower = n
						}
					}
					stream := l.stream(id)
					var stop atomic.Bool
					done := make(chan struct{}, 4)
					for range 4 {
						go func() {
							defer func() { done <- struct{}{} }()
							for !stop.Load() {
								_, _ = stream.Propose(context.Background(), &command.Publish{Time: time.Now().UnixNano(), Subject: "S.x", Payload: []byte("x")})
								time.Sleep(5 * time.Millisecond)
							}
						}()
					}
					time.Sleep(time.Second)
					for _, n := range w.nodes {
						if n != follower {
							w.net.Freeze(n.name, follower.name)
							w.net.Freeze(follower.name, n.name)
						}
					}
					time.Sleep(silence)
					w.net.HealAll()
					time.Sleep(time.Second)
					stop.Store(true)
					for range 4 {
						<-done
					}
					time.Sleep(quiet)
					if w.leader(id) != l {
						t.Skip("somebody else leads")
					}
					begin := time.Now()
					for {
						ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
						err := l.replicas.StepDown(ctx, id, follower.name)
						cancel()
						if err == nil {
							break
						}
						t.Log(time.Since(begin), err)
						if !errors.Is(err, group.ErrBehind) || time.Since(begin) > 40*time.Second {
							t.Fatalf("after %v: %v%s", time.Since(begin), err, w.describe())
						}
						time.Sleep(100 * time.Millisecond)
					}
					w.until("the new leader", func() bool { return follower.leads(id) })
				})
			})
		}
	}
}
