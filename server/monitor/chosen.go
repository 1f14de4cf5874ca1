package monitor

import (
	"cmp"
	"slices"
	"sync"
)

// chosen remembers which of many things have series of their own. A thing keeps them as long as it exists, so that
// no series comes and goes with the ranking.
type chosen struct {
	mu  sync.Mutex
	was map[string]bool // guarded by mu
}

// candidate is a thing that could have series of its own.
type candidate struct {
	name string
	rank uint64 // the higher, the sooner it gets them
}

// choose returns at most that many names: of those chosen before that are still there, and while there is room of
// the rest by their rank.
func (c *chosen) choose(candidates []candidate, most int) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(c.order(a)-c.order(b), cmp.Compare(b.rank, a.rank), cmp.Compare(a.name, b.name))
	})
	now := make(map[string]bool, min(len(candidates), most))
	for _, a := range candidates[:min(len(candidates), most)] {
		now[a.name] = true
	}
	c.was = now
	return now
}

// order puts what was chosen before first. The caller holds mu.
func (c *chosen) order(a candidate) int {
	if c.was[a.name] {
		return 0
	}
	return 1
}
