package rigtest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// The client's own retry: what a program does that uses the client library well. A request that is not answered in time
// is asked again after a pause. Only when all attempts are used up has it failed.
const (
	attemptTimeout = time.Second
	attemptPause   = 100 * time.Millisecond
	attemptsMax    = 500
	attemptsNoted  = 30 // so many are told in the log
)

// load is what all loads have in common: goroutines that go on until somebody stops them.
type load struct {
	t    testing.TB
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
}

// newLoad makes a load that ends with the test at the latest. Its connections must be there already, so that they are
// closed after it.
func newLoad(t testing.TB) *load {
	l := &load{t: t}
	l.ctx, l.stop = context.WithCancel(context.Background())
	t.Cleanup(l.end)
	return l
}

// end stops the goroutines and waits for them. It may be called twice.
func (l *load) end() {
	l.stop()
	l.all.Wait()
}

// running reports whether nobody has stopped the load.
func (l *load) running() bool { return l.ctx.Err() == nil }

// pause waits a little, or until the load is stopped.
func (l *load) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// Retry makes attempts until one succeeds, each with a second of time and a pause after it, and returns how many it took and
// what was wrong with the last one. It goes on when the load is stopped: what was begun is brought to an end.
func Retry(attempt func(context.Context) error) (attempts int, err error) {
	for attempts < attemptsMax {
		attempts++
		ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
		err = attempt(ctx)
		cancel()
		if err == nil {
			return attempts, nil
		}
		timer := time.NewTimer(attemptPause)
		<-timer.C
	}
	return attempts, err
}
