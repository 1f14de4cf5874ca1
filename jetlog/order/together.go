package order

import "sync"

// Together lets things that are to be done at the same time be done at once, by one of those who want them: the first
// does what has come, while others come, of whom the next does theirs. The zero value is ready. It is safe for
// concurrent use.
type Together[T any] struct {
	mu      sync.Mutex // guards the next two
	waiting []*turn[T]
	busy    bool // somebody has the turn
}

// turn is one who waits.
type turn[T any] struct {
	item T
	next chan bool // gets true if it is his turn, false if his item was done
}

// Do returns when all has been called with a list that has the item, among at most so many. The lists are in the order
// of the calls, and all runs on the goroutine of one of the callers, one at a time.
func (g *Together[T]) Do(item T, most int, all func([]T)) {
	t := &turn[T]{item: item, next: make(chan bool, 1)}
	if !g.enter(t) && !<-t.next {
		return
	}
	batch, items := g.take(most) // he is the first of them
	all(items)
	for _, other := range batch[1:] {
		other.next <- false
	}
	g.pass()
}

// enter is true for who has the turn at once.
func (g *Together[T]) enter(t *turn[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, t)
	first := !g.busy
	g.busy = true
	return first
}

// take returns the first who wait.
func (g *Together[T]) take(most int) (batch []*turn[T], items []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), most)
	batch, g.waiting = g.waiting[:n:n], g.waiting[n:]
	for _, t := range batch {
		items = append(items, t.item)
	}
	return batch, items
}

// pass gives the turn to the next who waits.
func (g *Together[T]) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy = len(g.waiting) > 0; g.busy {
		g.waiting[0].next <- true
	}
}
