package order

import "slices"

// Grouper puts items of a batch together that belong to the same thing, and keeps their order otherwise. Its
// memory is used again. It is for one goroutine.
type Grouper[T any] struct {
	groups []group // by the time that they occur first
	out    []T
}

// group is one thing in a batch.
type group struct {
	slot *int
	next int // at first how many items it has, then where the next one goes
}

// Group returns the batch grouped, valid until Clear. Things are told apart by a slot that each has, which
// belongs to the Grouper and is 0 between Clear and Group.
func (g *Grouper[T]) Group(batch []T, slot func(*T) *int) []T {
	for i := range batch {
		p := slot(&batch[i])
		if *p == 0 {
			g.groups = append(g.groups, group{slot: p})
			*p = len(g.groups)
		}
		g.groups[*p-1].next++
	}
	if len(g.groups) == 1 {
		return batch
	}
	at := 0
	for i := range g.groups {
		x := &g.groups[i]
		x.next, at = at, at+x.next
	}
	g.out = slices.Grow(g.out, len(batch))[:len(batch)]
	for i := range batch {
		x := &g.groups[*slot(&batch[i])-1]
		g.out[x.next] = batch[i]
		x.next++
	}
	return g.out
}

// Clear forgets the batch.
func (g *Grouper[T]) Clear() {
	for _, x := range g.groups {
		*x.slot = 0
	}
	clear(g.groups)
	clear(g.out)
	g.groups, g.out = g.groups[:0], g.out[:0]
}
