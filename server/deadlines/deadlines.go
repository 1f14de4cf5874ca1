// Package deadlines has many things end, each at its time, with one timer for all of them: connections whose
// credentials expire, say, of which there may be a hundred thousand, most of them with hours to go.
package deadlines

import (
	"container/heap"
	"sync"
	"time"
)

// look is how long the clock is trusted: timers do not notice when it is set.
const look = time.Minute

// Set is a set of deadlines by key, each with a value that is handed over when its time has come. Its methods are safe
// for concurrent use.
//
// Invariant: while there are deadlines and the set is not stopped, the timer rings at the first of them, or earlier.
type Set[K comparable, V any] struct {
	due func(K, V) // called on a goroutine of its own, once for each deadline that was reached

	mu      sync.Mutex // guards what follows; nothing else is locked and nobody is called while it is held
	heap    entries[K, V]
	byKey   map[K]*entry[K, V]
	timer   *time.Timer // nil before the first deadline
	stopped bool
}

// entry is one deadline.
type entry[K comparable, V any] struct {
	key   K
	value V
	at    time.Time
	slot  int // in the heap
}

// New makes a set that calls due for each deadline that is reached. A deadline that is changed at that very moment may
// be reached all the same.
func New[K comparable, V any](due func(K, V)) *Set[K, V] {
	return &Set[K, V]{due: due, byKey: make(map[K]*entry[K, V])}
}

// Put sets the deadline of key, in place of what it was before. A zero time removes it. Whoever puts one removes it when
// the key is of no use any more.
func (s *Set[K, V]) Put(key K, at time.Time, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	switch {
	case s.stopped || e == nil && at.IsZero():
		return
	case at.IsZero():
		s.remove(e)
	case e != nil:
		e.at, e.value = at, value
		heap.Fix(&s.heap, e.slot)
	default:
		e = &entry[K, V]{key: key, value: value, at: at}
		s.byKey[key] = e
		heap.Push(&s.heap, e)
	}
	s.wind()
}

// Remove removes the deadline of key, if it has one.
func (s *Set[K, V]) Remove(key K) {
	var none V
	s.Put(key, time.Time{}, none)
}

// Len is how many deadlines there are.
func (s *Set[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.heap)
}

// Stop ends the set: no deadline is reached any more, and none taken on.
func (s *Set[K, V]) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.heap, s.byKey = nil, nil
	if s.timer != nil {
		s.timer.Stop()
	}
}

// remove drops e. mu is held.
func (s *Set[K, V]) remove(e *entry[K, V]) {
	heap.Remove(&s.heap, e.slot)
	delete(s.byKey, e.key)
}

// wind sets the timer for the next deadline. mu is held.
func (s *Set[K, V]) wind() {
	if len(s.heap) == 0 {
		if s.timer != nil {
			s.timer.Stop()
		}
		return
	}
	wait := min(max(0, time.Until(s.heap[0].at)), look)
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.ring)
		return
	}
	s.timer.Reset(wait)
}

// ring hands over all that is due.
func (s *Set[K, V]) ring() {
	for _, e := range s.take(time.Now()) {
		s.due(e.key, e.value)
	}
}

// take removes what is due by now, and winds the timer for the rest.
func (s *Set[K, V]) take(now time.Time) (due []*entry[K, V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.heap) > 0 && !s.heap[0].at.After(now) {
		e := s.heap[0]
		s.remove(e)
		due = append(due, e)
	}
	s.wind()
	return due
}

// entries is a heap by time.
type entries[K comparable, V any] []*entry[K, V]

func (h entries[K, V]) Len() int           { return len(h) }
func (h entries[K, V]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h entries[K, V]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}

// Push implements heap.Interface.
func (h *entries[K, V]) Push(x any) {
	e := x.(*entry[K, V])
	e.slot = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *entries[K, V]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
