// Package deadlines orders sequences by when something has to happen to them. It knows no clock.
package deadlines

import "cmp"

// Deadline is when something has to happen to a sequence, in nanoseconds since 1970.
type Deadline struct {
	At       int64
	Sequence uint64
}

// Compare orders deadlines by time, those of one time by sequence.
func Compare(a, b Deadline) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Sequence, b.Sequence))
}

func (d Deadline) before(e Deadline) bool {
	return d.At < e.At || d.At == e.At && d.Sequence < e.Sequence
}

// Heap has the earliest first. It has no pointers, so its size costs the collector nothing.
type Heap []Deadline

// Push adds a deadline.
func (h *Heap) Push(d Deadline) {
	s := append(*h, d)
	*h = s
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !s[i].before(s[parent]) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

// First returns when the earliest is, 0 for none.
func (h Heap) First() int64 {
	if len(h) == 0 {
		return 0
	}
	return h[0].At
}

// Pop removes the earliest. The heap must not be empty.
func (h *Heap) Pop() Deadline {
	s := *h
	top := s[0]
	n := len(s) - 1
	s[0] = s[n]
	*h = s[:n]
	h.sink(0)
	return top
}

func (h Heap) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// Rebuild restores the order after the slice was changed freely.
func (h Heap) Rebuild() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// Ordered reports whether it is a heap.
func (h Heap) Ordered() bool {
	for i := range h {
		if h[i].before(h[max(i-1, 0)/2]) {
			return false
		}
	}
	return true
}
