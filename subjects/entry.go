package subjects

// Entry is one value under a pattern. It is made to be embedded in what it
// stands for, such as a subscription: a Tree links entries through their own
// fields and allocates nothing for a further entry of the same subject.
//
// An entry is in one tree at most. Subject, Queue and Value must not change
// while it is in a tree, and then may be read by anybody without a lock. An
// entry must not be copied.
type Entry[V any] struct {
	// Subject is the pattern: ValidPattern holds.
	Subject string
	// Queue is the name of the queue group, empty for none.
	Queue string
	// Value is what the owner wants back from a match.
	Value V

	// next and prev form a ring of all entries with the same subject, guarded by
	// the lock of the tree. Both are nil outside a tree.
	next, prev *Entry[V]
}

// link puts e at the end of the ring that begins at head, which may be nil, and
// returns the head.
func link[V any](head, e *Entry[V]) *Entry[V] {
	if head == nil {
		e.next, e.prev = e, e
		return e
	}
	last := head.prev
	e.prev, e.next = last, head
	last.next, head.prev = e, e
	return head
}

// unlink takes e out of the ring that begins at head and returns the new head,
// nil when none is left.
func unlink[V any](head, e *Entry[V]) *Entry[V] {
	next := e.next
	e.prev.next, next.prev = next, e.prev
	e.next, e.prev = nil, nil
	switch {
	case next == e:
		return nil
	case head == e:
		return next
	}
	return head
}

// appendRing appends all entries of the ring that begins at head.
func appendRing[V any](out []*Entry[V], head *Entry[V]) []*Entry[V] {
	if head == nil {
		return out
	}
	out = append(out, head)
	for e := head.next; e != head; e = e.next {
		out = append(out, e)
	}
	return out
}
