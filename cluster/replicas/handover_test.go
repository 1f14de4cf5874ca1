package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/jetlog/command"
)

// TestHandOverAfterSilence hands the leadership to a follower that has heard nothing for a while. Where the silence has made somebody
// else lead there is nothing to see; most of the cases must have shown something.
func TestHandOverAfterSilence(t *testing.T) {
	cases, shown := 0, 0
	for _, silence := range []time.Duration{3 * time.Second, 7 * time.Second} {
		for _, quiet := range []time.Duration{0, 5 * time.Second} {
			cases++
			t.Run(fmt.Sprintf("%v/%v", silence, quiet), func(t *testing.T) {
				inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
					l, follower := w.leader(a.ID), w.follower(a.ID)
					w.silence(l, follower, silence, a.ID)
					<-time.After(quiet)
					if w.leader(a.ID) == l {
						shown++
						w.handOver(a.ID, l, follower)
					}
				})
			})
		}
	}
	if shown <= cases/2 {
		t.Errorf("in %d of %d cases the leader was still the same", shown, cases)
	}
}

// silence cuts a follower off for a while, under load.
func (w *world) silence(l, follower *node, silence time.Duration, id uint64) {
	ctx, stop := context.WithCancel(context.Background())
	var load sync.WaitGroup
	stream := l.stream(id)
	for range 4 {
		load.Go(func() {
			for ctx.Err() == nil {
				_, _ = stream.Propose(context.Background(), &command.Publish{Time: time.Now().UnixNano(), Subject: "S.x", Payload: []byte("x")})
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	<-time.After(time.Second)
	for _, n := range w.nodes {
		if n != follower {
			w.net.Freeze(n.name, follower.name)
			w.net.Freeze(follower.name, n.name)
		}
	}
	<-time.After(silence)
	w.net.HealAll()
	<-time.After(time.Second)
	stop()
	load.Wait()
	synctest.Wait()
}

// handOver has a follower lead, as soon as it is not too far behind any more.
func (w *world) handOver(id uint64, l, follower *node) {
	w.t.Helper()
	for begin := time.Now(); ; <-time.After(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := l.replicas.StepDown(ctx, id, follower.name)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, group.ErrBehind) || time.Since(begin) > 40*time.Second {
			w.t.Fatalf("after %v: %v%s", time.Since(begin), err, w.describe())
		}
	}
	w.until("the new leader", func() bool { return follower.leads(id) })
}
