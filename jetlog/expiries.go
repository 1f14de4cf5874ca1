package jetlog

import "slices"

// expiries are the deadlines of the messages with a TTL of their own. A message that goes by another
// way is cancelled: its deadline is noted in a second heap and leaves together with its double. So
// neither needs to look at the message, which might be on disk.
//
// Invariants: every entry of gone has its double in all; the earliest of all is not cancelled. So whoever only asks changes
// nothing, and several may ask at once.
type expiries struct {
	all, gone deadlines
}

// slack is how many cancelled entries may lie around before they are cleared out.
const slack = 1024

func (e *expiries) add(at int64, seq uint64) { e.all.push(deadline{at, seq}) }

func (e *expiries) cancel(at int64, seq uint64) {
	e.gone.push(deadline{at, seq})
	if len(e.gone) > slack && len(e.gone) > len(e.all)/2 {
		e.all = e.sorted()
		e.gone = nil
	}
	e.settle()
}

// settle takes out what is cancelled and has become the earliest.
func (e *expiries) settle() {
	for len(e.gone) > 0 && e.gone[0] == e.all[0] {
		e.all.pop()
		e.gone.pop()
	}
}

// next returns the earliest deadline that still holds. It changes nothing.
func (e *expiries) next() (deadline, bool) {
	if len(e.all) == 0 {
		return deadline{}, false
	}
	return e.all[0], true
}

// due appends to out, in order and at most limit of them, the deadlines <= now. They stay.
func (e *expiries) due(now int64, limit int, out []deadline) []deadline {
	// What is found is taken out and put back, so that a plan that fails has changed nothing.
	for len(out) < limit {
		d, ok := e.next()
		if !ok || d.at > now {
			break
		}
		out = append(out, e.all.pop())
		e.settle()
	}
	for _, d := range out {
		e.all.push(d)
	}
	return out
}

// drop forgets the deadlines of all sequences from..to.
func (e *expiries) drop(from, to uint64) {
	inside := func(d deadline) bool { return from <= d.seq && d.seq <= to }
	e.all = slices.DeleteFunc(e.all, inside)
	e.gone = slices.DeleteFunc(e.gone, inside)
	e.all.rebuild()
	e.gone.rebuild()
	e.settle()
}

// sorted returns the deadlines that hold, in order, which is a heap too.
func (e *expiries) sorted() deadlines {
	all, gone := slices.Clone(e.all), slices.Clone(e.gone)
	slices.SortFunc(all, compareDeadlines)
	slices.SortFunc(gone, compareDeadlines)
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

func compareDeadlines(a, b deadline) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}
