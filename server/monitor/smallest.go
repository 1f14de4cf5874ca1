package monitor

import (
	"math"
	"slices"
)

// smallest keeps the first of many elements by their order, and no more than it must: so that a page of a long list is
// the same list's page each time, and the list need not be in memory.
type smallest[T any] struct {
	compare func(a, b T) int
	most    int // how many to keep
	kept    []T // up to twice as many; the first most of them are sorted if full
	full    bool
}

// newSmallest keeps what the window shows and all before that.
func newSmallest[T any](w paging, compare func(a, b T) int) *smallest[T] {
	most := w.Limit
	if w.Offset > math.MaxInt32 {
		most = math.MaxInt32 // nobody has that many
	} else {
		most += w.Offset
	}
	return &smallest[T]{compare: compare, most: int(most)}
}

// add takes the next element.
func (s *smallest[T]) add(v T) {
	if s.full && s.compare(v, s.kept[s.most-1]) >= 0 {
		return
	}
	s.kept = append(s.kept, v)
	if len(s.kept) >= 2*s.most {
		s.trim()
	}
}

// trim drops all but the first.
func (s *smallest[T]) trim() {
	slices.SortFunc(s.kept, s.compare)
	if len(s.kept) >= s.most {
		s.kept, s.full = s.kept[:s.most], true
	}
}

// shown returns what the window shows, in order.
func (s *smallest[T]) shown(w paging) []T {
	s.trim()
	return cut(s.kept, w)
}
