package deadlines

import "slices"

// Expiries are the deadlines of the messages with a TTL of their own. A message that goes by another
// way is cancelled: its deadline is noted in a second heap and leaves together with its double. So
// neither needs to look at the message, which might be on disk.
//
// Invariants: every entry of gone has its double in all; the earliest of all is not cancelled. So whoever only asks changes
// nothing, and several may ask at once.
type Expiries struct {
	all, gone Heap
}

// slack is how many cancelled entries may lie around before they are cleared out.
const slack = 1024

// Add notes when a message expires.
func (e *Expiries) Add(at int64, seq uint64) { e.all.Push(Deadline{at, seq}) }

// Cancel forgets that.
func (e *Expiries) Cancel(at int64, seq uint64) {
	e.gone.Push(Deadline{at, seq})
	if len(e.gone) > slack && len(e.gone) > len(e.all)/2 {
		e.all = e.Sorted()
		e.gone = nil
	}
	e.settle()
}

// settle takes out what is cancelled and has become the earliest.
func (e *Expiries) settle() {
	for len(e.gone) > 0 && e.gone[0] == e.all[0] {
		e.all.Pop()
		e.gone.Pop()
	}
}

// Next returns the earliest deadline that still holds. It changes nothing.
func (e *Expiries) Next() (Deadline, bool) {
	if len(e.all) == 0 {
		return Deadline{}, false
	}
	return e.all[0], true
}

// Due appends to out, in order and at most limit of them, the deadlines <= now. They stay.
func (e *Expiries) Due(now int64, limit int, out []Deadline) []Deadline {
	// What is found is taken out and put back, so that a plan that fails has changed nothing.
	for len(out) < limit {
		d, ok := e.Next()
		if !ok || d.At > now {
			break
		}
		out = append(out, e.all.Pop())
		e.settle()
	}
	for _, d := range out {
		e.all.Push(d)
	}
	return out
}

// Drop forgets the deadlines of all sequences from..to.
func (e *Expiries) Drop(from, to uint64) {
	inside := func(d Deadline) bool { return from <= d.Sequence && d.Sequence <= to }
	e.all = slices.DeleteFunc(e.all, inside)
	e.gone = slices.DeleteFunc(e.gone, inside)
	e.all.Rebuild()
	e.gone.Rebuild()
	e.settle()
}

// Sorted returns the deadlines that hold, in order, which is a heap too.
func (e *Expiries) Sorted() Heap {
	all, gone := slices.Clone(e.all), slices.Clone(e.gone)
	slices.SortFunc(all, Compare)
	slices.SortFunc(gone, Compare)
	kept := all[:0]
	for _, d := range all {
		if len(gone) > 0 && gone[0] == d {
			gone = gone[1:]
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

// Ordered reports whether the heaps are heaps, for checks.
func (e *Expiries) Ordered() bool { return e.all.Ordered() && e.gone.Ordered() }

// Of returns the expiries of deadlines that all hold, which it takes over.
func Of(list Heap) Expiries { return Expiries{all: list} }
