package subjects

import "iter"

// Patterns holds values under patterns and finds those of the patterns that a subject
// matches, or that another pattern overlaps. Each costs about as much as it finds, however
// many patterns there are. The zero value is empty and ready.
//
// It is for what changes rarely: unlike a Tree it has no lock and no stamps. Any number of
// goroutines may ask while none changes it.
type Patterns[V comparable] struct {
	root place[V]
	size int
}

// place is where the patterns that begin with the same tokens are kept.
type place[V comparable] struct {
	// here has the values whose pattern ends at this place, rest those whose pattern ends
	// with `>` after it, both in the order in which they were added.
	here, rest []V
	// star is the place under `*`, literals has those under all other tokens.
	star     *place[V]
	literals map[string]*place[V]
}

// Len returns the number of values.
func (p *Patterns[V]) Len() int { return p.size }

// Add puts v under a pattern. It reports whether the pattern is valid; if not, v is not
// added.
func (p *Patterns[V]) Add(pattern string, v V) bool {
	if !ValidPattern(pattern) {
		return false
	}
	n, rest, more := &p.root, pattern, true
	for more {
		var token string
		if token, rest, more = cut(rest); token == tail {
			n.rest = append(n.rest, v)
			p.size++
			return true
		}
		n = n.ensure(token)
	}
	n.here = append(n.here, v)
	p.size++
	return true
}

// Remove takes v from under a pattern and reports whether it was there.
func (p *Patterns[V]) Remove(pattern string, v V) bool {
	if !ValidPattern(pattern) || !p.root.remove(pattern, v) {
		return false
	}
	p.size--
	return true
}

// Match iterates over the values whose pattern the subject matches. The subject is taken
// literally.
func (p *Patterns[V]) Match(subject string) iter.Seq[V] {
	return func(yield func(V) bool) {
		if wellFormed(subject) {
			p.root.match(subject, yield)
		}
	}
}

// Overlapping iterates over the values of the patterns that have a subject in common with
// the one given.
func (p *Patterns[V]) Overlapping(pattern string) iter.Seq[V] {
	return func(yield func(V) bool) {
		if ValidPattern(pattern) {
			p.root.overlap(pattern, yield)
		}
	}
}

// child returns the place under a token of a pattern, or nil.
func (n *place[V]) child(token string) *place[V] {
	if token == star {
		return n.star
	}
	return n.literals[token]
}

// ensure returns the place under a token of a pattern, and makes it when there is none.
func (n *place[V]) ensure(token string) *place[V] {
	child := n.child(token)
	if child != nil {
		return child
	}
	child = new(place[V])
	switch {
	case token == star:
		n.star = child
	case n.literals == nil:
		n.literals = map[string]*place[V]{token: child}
	default:
		n.literals[token] = child
	}
	return child
}

// remove takes v from where the tokens in rest lead to, and cuts off what has become empty.
func (n *place[V]) remove(rest string, v V) (found bool) {
	token, rest, more := cut(rest)
	if token == tail {
		n.rest, found = without(n.rest, v)
		return found
	}
	child := n.child(token)
	switch {
	case child == nil:
		return false
	case more:
		found = child.remove(rest, v)
	default:
		child.here, found = without(child.here, v)
	}
	if child.here != nil || child.rest != nil || child.star != nil || len(child.literals) > 0 {
		return found
	}
	if token == star {
		n.star = nil
	} else {
		delete(n.literals, token)
	}
	return found
}

// without returns values less one v, nil when none is left.
func without[V comparable](values []V, v V) (left []V, found bool) {
	for i := range values {
		if values[i] != v {
			continue
		}
		if len(values) == 1 {
			return nil, true
		}
		return append(values[:i:i], values[i+1:]...), true
	}
	return values, false
}

// match visits the values below n whose pattern the rest of a subject matches, until visit
// returns false, which it returns then.
func (n *place[V]) match(rest string, visit func(V) bool) bool {
	if !visitAll(n.rest, visit) {
		return false
	}
	token, rest, more := cut(rest)
	for _, child := range [...]*place[V]{n.literals[token], n.star} {
		switch {
		case child == nil:
		case more && !child.match(rest, visit), !more && !visitAll(child.here, visit):
			return false
		}
	}
	return true
}

// overlap is match for the rest of a pattern, and for the patterns that overlap it.
func (n *place[V]) overlap(rest string, visit func(V) bool) bool {
	if !visitAll(n.rest, visit) {
		return false
	}
	token, rest, more := cut(rest)
	reached := func(child *place[V]) bool {
		switch {
		case child == nil:
			return true
		case token == tail:
			return child.all(visit)
		case more:
			return child.overlap(rest, visit)
		}
		return visitAll(child.here, visit)
	}
	if token == star || token == tail {
		for _, child := range n.literals {
			if !reached(child) {
				return false
			}
		}
	} else if !reached(n.literals[token]) {
		return false
	}
	return reached(n.star)
}

// all visits every value at and below n.
func (n *place[V]) all(visit func(V) bool) bool {
	if !visitAll(n.here, visit) || !visitAll(n.rest, visit) {
		return false
	}
	for _, child := range n.literals {
		if !child.all(visit) {
			return false
		}
	}
	return n.star == nil || n.star.all(visit)
}

// visitAll visits values until visit returns false, which it returns then.
func visitAll[V any](values []V, visit func(V) bool) bool {
	for _, v := range values {
		if !visit(v) {
			return false
		}
	}
	return true
}
