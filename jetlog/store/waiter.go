package store

import (
	"sync"

	"runnel/jetlog"
)

// outcome is what became of a command.
type outcome struct {
	result jetlog.Result
	err    error
}

// waiter is one call of Propose.
type waiter struct {
	outcome chan outcome
	done    func(jetlog.Result, error)
}

// pools keep what calls need for further ones.
type pools struct {
	waiters  waiters
	readings readings
	looks    looks
	appliers appliers
}

// appliers keeps what replicas apply their entries with.
type appliers struct{ pool sync.Pool }

func (p *appliers) get() *applier {
	if w, ok := p.pool.Get().(*applier); ok {
		return w
	}
	return &applier{}
}

func (p *appliers) put(w *applier) { p.pool.Put(w) }

// waiters keeps waiters for further use.
type waiters struct{ pool sync.Pool }

// get returns a waiter for one call.
func (p *waiters) get() *waiter {
	if w, ok := p.pool.Get().(*waiter); ok {
		return w
	}
	w := &waiter{outcome: make(chan outcome, 1)}
	w.done = func(r jetlog.Result, err error) { w.outcome <- outcome{r, err} }
	return w
}

// put takes a waiter back whose outcome was taken, or will never come.
func (p *waiters) put(w *waiter) { p.pool.Put(w) }
