package errands_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/server/errands"
)

// TestErrands: each name is done once, in the order in which they were asked for, and again only if that failed.
func TestErrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		var done []string
		proceed := make(chan bool)
		e := &errands.Errands{Context: ctx, Go: running.Go, Do: func(_ context.Context, name string) bool {
			done = append(done, name)
			return <-proceed
		}}
		for _, name := range []string{"a", "b", "a", "c", "b"} {
			e.Ask(name)
		}
		proceed <- true
		proceed <- false
		proceed <- true
		synctest.Wait()
		e.Ask("a")
		e.Ask("b")
		proceed <- true
		running.Wait()
		if got := fmt.Sprint(done); got != "[a b c b]" {
			t.Errorf("done: got %s", got)
		}
		e.Ask("d")
		e.Ask("e")
		synctest.Wait()
		cancel()
		proceed <- true
		running.Wait()
		if got := fmt.Sprint(done); got != "[a b c b d]" {
			t.Errorf("done until the end: got %s", got)
		}
		e.Ask("f") // nobody does it any more
		running.Wait()
	})
}

// TestConcurrently asks from many sides.
func TestConcurrently(t *testing.T) {
	var running, asking sync.WaitGroup
	var done int // Do is called by one goroutine at a time
	e := &errands.Errands{Context: t.Context(), Go: running.Go, Do: func(context.Context, string) bool { done++; return true }}
	for range 8 {
		asking.Go(func() {
			for i := range 100 {
				e.Ask(fmt.Sprint(i))
			}
		})
	}
	asking.Wait()
	running.Wait()
	if done != 100 {
		t.Errorf("got %d, want 100", done)
	}
}
