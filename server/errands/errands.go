// Package errands does something for each of many names, once and one after the other, beside those who ask for it.
package errands

import (
	"context"
	"sync"
)

// Errands are names for which something is done. There is a goroutine only while there is something to do. Ask is safe for concurrent
// use; the fields must not change.
type Errands struct {
	// Context ends what is done, and what waits is not done then.
	Context context.Context
	// Do is called for a name, and returns whether that was the last time: otherwise it is called again when somebody asks again.
	Do func(ctx context.Context, name string) (done bool)
	// Go runs a goroutine that is waited for when all ends.
	Go func(func())

	mu      sync.Mutex // guards what follows; nobody is called while it is held
	known   map[string]bool
	waiting []string
	busy    bool
}

// Ask has the errand of a name done, unless it was, or is about to be. It does not wait.
func (e *Errands) Ask(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[name] || e.Context.Err() != nil {
		return
	}
	if e.known == nil {
		e.known = make(map[string]bool)
	}
	e.known[name] = true
	e.waiting = append(e.waiting, name)
	if !e.busy {
		e.busy = true
		e.Go(e.run)
	}
}

// run does what waits until nothing does.
func (e *Errands) run() {
	for {
		name, ok := e.next()
		if !ok {
			return
		}
		if !e.Do(e.Context, name) {
			e.forget(name)
		}
	}
}

// next returns the next name, false if there is none.
func (e *Errands) next() (name string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) == 0 || e.Context.Err() != nil {
		e.busy = false
		return "", false
	}
	name = e.waiting[0]
	e.waiting = e.waiting[1:]
	return name, true
}

// forget lets somebody ask again.
func (e *Errands) forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, name)
}
