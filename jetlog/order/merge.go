// Package order puts things in order: it merges what is sorted, and groups what is not.
package order

import (
	"container/heap"
	"iter"
)

// Merge goes through sorted sources in order. Of values that are equal it yields one, that of the last source
// that has it. It ends at the first error.
func Merge[T any](sources []iter.Seq2[T, error], compare func(a, b T) int) iter.Seq2[T, error] {
	if len(sources) == 1 {
		return sources[0]
	}
	return func(yield func(T, error) bool) {
		h := heads[T]{compare: compare}
		for i, s := range sources {
			next, stop := iter.Pull2(s)
			defer stop()
			if n := (&head[T]{source: i, next: next}); n.advance() {
				h.list = append(h.list, n)
			}
		}
		heap.Init(&h)
		var last T
		for begun := false; len(h.list) > 0; {
			n := h.list[0]
			if n.err != nil {
				yield(n.value, n.err)
				return
			}
			if !begun || compare(n.value, last) != 0 {
				last, begun = n.value, true
				if !yield(last, nil) {
					return
				}
			}
			if n.advance() {
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
	}
}

// head is the next value of a source.
type head[T any] struct {
	source int
	value  T
	err    error
	next   func() (T, error, bool)
}

func (n *head[T]) advance() (ok bool) {
	n.value, n.err, ok = n.next()
	return ok
}

// heads is a heap of them: errors first, then by value, then the last source.
type heads[T any] struct {
	list    []*head[T]
	compare func(a, b T) int
}

func (h *heads[T]) Len() int { return len(h.list) }

func (h *heads[T]) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	if a.err != nil || b.err != nil {
		return a.err != nil
	}
	if c := h.compare(a.value, b.value); c != 0 {
		return c < 0
	}
	return a.source > b.source
}

func (h *heads[T]) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

// Push implements heap.Interface.
func (h *heads[T]) Push(x any) { h.list = append(h.list, x.(*head[T])) }

// Pop implements heap.Interface.
func (h *heads[T]) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
