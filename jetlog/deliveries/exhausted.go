package deliveries

import "slices"

// Exhausted are the sequences, ascending, of messages that were delivered as often as allowed and are neither settled nor
// gone. The zero value is empty.
type Exhausted []uint64

// Has reports whether a message is one of them.
func (e Exhausted) Has(seq uint64) bool {
	_, found := slices.BinarySearch(e, seq)
	return found
}

// Add adds a message that is none of them.
func (e *Exhausted) Add(seq uint64) {
	i, _ := slices.BinarySearch(*e, seq)
	*e = slices.Insert(*e, i, seq)
}

// Remove takes a message out and reports whether it was there.
func (e *Exhausted) Remove(seq uint64) bool {
	i, found := slices.BinarySearch(*e, seq)
	if found {
		*e = slices.Delete(*e, i, i+1)
	}
	return found
}

// RemoveUpTo takes out all messages with a sequence <= seq.
func (e *Exhausted) RemoveUpTo(seq uint64) {
	for len(*e) > 0 && (*e)[0] <= seq {
		*e = (*e)[1:]
	}
}

// UpTo returns those with a sequence <= seq. It must not be changed.
func (e Exhausted) UpTo(seq uint64) []uint64 {
	i, found := slices.BinarySearch(e, seq)
	if found {
		i++
	}
	return e[:i]
}
