package meta

import (
	"sync"

	"runnel/cluster/meta/state"
)

// maxChanges bounds the changes that wait for those who watch. Behind more than that they look at everything again.
const maxChanges = 10_000

// Change is what a command has changed.
type Change struct {
	// View is the state after it.
	View *state.View
	// Old and New are the stream that has changed: before, nil if it is new, and after, nil if it was deleted.
	Old, New *state.Assignment
	// Members says that members have come, gone or changed.
	Members bool
	// All says that anything may have changed; Old and New are nil then.
	All bool
}

// nothing tells whether a change is none.
func (c *Change) nothing() bool { return c.Old == c.New && !c.Members && !c.All }

// watchers tells those who watch about changes, in order, from one goroutine that lives while there is something to tell.
type watchers struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards everything below
	watch   map[int]func(Change)
	next    int
	waiting []Change
	busy    bool
	applied chan struct{} // closed at the next change, nil if nobody waits
}

// add adds a watcher and returns what removes it.
func (w *watchers) add(f func(Change)) (remove func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next
	w.next++
	if w.watch == nil {
		w.watch = make(map[int]func(Change))
	}
	w.watch[id] = f
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watch, id)
	}
}

// tell queues a change.
func (w *watchers) tell(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.applied != nil {
		close(w.applied)
		w.applied = nil
	}
	if c.nothing() || len(w.watch) == 0 {
		return
	}
	if len(w.waiting) >= maxChanges {
		w.waiting = nil
		c = Change{View: c.View, All: true, Members: true}
	}
	w.waiting = append(w.waiting, c)
	if !w.busy {
		w.busy = true
		w.wg.Go(w.run)
	}
}

// run tells until nothing waits.
func (w *watchers) run() {
	for {
		c, watch := w.take()
		if watch == nil {
			return
		}
		for _, f := range watch {
			f(c)
		}
	}
}

// take takes the next change, and whom to tell it; nil for none.
func (w *watchers) take() (Change, []func(Change)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.busy = false
		return Change{}, nil
	}
	c := w.waiting[0]
	w.waiting = w.waiting[1:]
	all := make([]func(Change), 0, len(w.watch))
	for id := range w.next {
		if f := w.watch[id]; f != nil {
			all = append(all, f)
		}
	}
	return c, all
}

// nextChange returns a channel that is closed when something was applied.
func (w *watchers) nextChange() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.applied == nil {
		w.applied = make(chan struct{})
	}
	return w.applied
}
