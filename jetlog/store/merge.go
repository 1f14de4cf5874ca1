package store

import (
	"container/heap"
	"iter"
)

// merge goes through sorted sources in order and yields what several of them have once. It ends at the
// first error.
func merge(sources []iter.Seq2[string, error]) iter.Seq2[string, error] {
	if len(sources) == 1 {
		return sources[0]
	}
	return func(yield func(string, error) bool) {
		var h heads
		for _, s := range sources {
			next, stop := iter.Pull2(s)
			defer stop()
			if n := (&head{next: next}); n.advance() {
				h = append(h, n)
			}
		}
		heap.Init(&h)
		last, begun := "", false
		for len(h) > 0 {
			n := h[0]
			if n.err != nil {
				yield("", n.err)
				return
			}
			if !begun || n.value != last {
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
type head struct {
	value string
	err   error
	next  func() (string, error, bool)
}

func (n *head) advance() (ok bool) {
	n.value, n.err, ok = n.next()
	return ok
}

// heads is a heap of them: errors first, then by value.
type heads []*head

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool {
	return h[i].err != nil || h[j].err == nil && h[i].value < h[j].value
}

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *heads) Push(x any) { *h = append(*h, x.(*head)) }

// Pop implements heap.Interface.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
