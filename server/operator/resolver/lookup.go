package resolver

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// absence is how long an account is not looked for again that was not there.
	absence = time.Second
	// absentMost bounds how many such accounts are remembered: whoever makes names up can make up many.
	absentMost = 4096
	// fetchesMost bounds how many accounts are looked for at the same time.
	fetchesMost = 32
)

// Lookup looks for accounts once at a time. It is safe for concurrent use.
type Lookup struct {
	resolver Resolver
	timeout  time.Duration
	slots    chan struct{} // has an element for each fetch under way
	running  sync.WaitGroup
	ending   context.Context // of all fetches; stop ends it
	stop     context.CancelFunc

	mu      sync.Mutex // guards what follows; nobody is called while it is held
	flights map[string]*flight
	absent  map[string]failure
	closed  bool
}

// flight is a fetch that is under way, for all who wait for it.
type flight struct {
	done  chan struct{} // closed when the rest is there
	token string
	err   error
}

// failure is why an account was not found, and until when this stands.
type failure struct {
	err   error
	until time.Time
}

// NewLookup makes a Lookup. timeout bounds one fetch. Close it.
func NewLookup(r Resolver, timeout time.Duration) *Lookup {
	l := &Lookup{
		resolver: r,
		timeout:  timeout,
		slots:    make(chan struct{}, fetchesMost),
		flights:  make(map[string]*flight),
		absent:   make(map[string]failure),
	}
	l.ending, l.stop = context.WithCancel(context.Background())
	return l
}

// Close gives up all fetches and returns when they have ended. Later ones fail.
func (l *Lookup) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.running.Wait()
}

// Fetch implements Resolver. The fetch goes on when the caller gives up, for others who wait.
func (l *Lookup) Fetch(ctx context.Context, account string) (string, error) {
	if !validName(account) {
		return "", ErrName
	}
	f, mine, err := l.join(account)
	if err != nil {
		return "", err
	}
	if mine {
		go func() {
			defer l.running.Done()
			l.fly(account, f)
		}()
	}
	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		return "", fmt.Errorf("resolver: look for account %s: %w", account, context.Cause(ctx))
	}
}

// join returns the flight for the account, and whether the caller has to start it; or why there is none.
func (l *Lookup) join(account string) (f *flight, mine bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false, ErrClosed
	}
	if a, ok := l.absent[account]; ok {
		if time.Now().Before(a.until) {
			return nil, false, a.err
		}
		delete(l.absent, account)
	}
	if f := l.flights[account]; f != nil {
		return f, false, nil
	}
	f = &flight{done: make(chan struct{})}
	l.flights[account] = f
	l.running.Add(1) // Close, which has not begun, waits for it
	return f, true, nil
}

// fly fetches, when it is its turn.
func (l *Lookup) fly(account string, f *flight) {
	ctx, cancel := context.WithTimeout(l.ending, l.timeout)
	defer cancel()
	defer close(f.done)
	select {
	case l.slots <- struct{}{}:
		f.token, f.err = l.resolver.Fetch(ctx, account)
		<-l.slots
	case <-ctx.Done():
		f.err = fmt.Errorf("resolver: too many accounts are looked for: %w", ctx.Err())
	}
	l.land(account, f)
}

// land takes a flight off the list, and remembers a failure.
func (l *Lookup) land(account string, f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flights[account] != f {
		return // forgotten: what was found may be outdated, what was not may be there
	}
	delete(l.flights, account)
	if f.err == nil {
		return
	}
	if len(l.absent) >= absentMost {
		clear(l.absent)
	}
	l.absent[account] = failure{f.err, time.Now().Add(absence)}
}

// Forget has the account looked for anew: its JWT has changed.
func (l *Lookup) Forget(account string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.absent, account)
	delete(l.flights, account)
}
