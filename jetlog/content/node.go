package content

import "runnel/jetlog/document"

// roomBytes is how long a text may be that has escape sequences and is compared without an allocation.
const roomBytes = 256

// node is what a pattern asks of an object: tests of its fields, and a rule over which of them pass.
type node struct {
	tests  []test // at most fieldsMax; of one name there may be several, in alternatives of $or
	rule   rule
	absent uint64 // the tests that pass where their field is not there
	empty  bool   // whether an object without fields passes
}

// test is what a pattern asks of one field. Either leaf or object is set.
type test struct {
	name   string
	leaf   *leaf
	object *node
}

// rule says which tests must pass: all of some, and for each $or all that one of its alternatives asks for.
type rule struct {
	all uint64
	any [][]rule
}

func (r *rule) holds(passed uint64) bool {
	if passed&r.all != r.all {
		return false
	}
	for _, alternatives := range r.any {
		if !oneHolds(alternatives, passed) {
			return false
		}
	}
	return true
}

func oneHolds(rules []rule, passed uint64) bool {
	for i := range rules {
		if rules[i].holds(passed) {
			return true
		}
	}
	return false
}

// finish works out what depends on the tests and the rule.
func (n *node) finish() {
	for i, t := range n.tests {
		if t.passesAbsent() {
			n.absent |= 1 << i
		}
	}
	n.empty = n.rule.holds(n.absent)
}

// passesAbsent reports whether the test passes where its field is not there.
func (t *test) passesAbsent() bool {
	if t.object != nil {
		return t.object.empty
	}
	return t.leaf.absent
}

// value passes the next value of a document and reports whether it passes the test. Of an array one element is
// enough, also in arrays within it.
func (t *test) value(r *document.Reader) bool {
	switch r.Kind() {
	case document.Array:
		return t.array(r)
	case document.Object:
		if t.object != nil {
			return t.object.matches(r)
		}
		r.Skip()
		return t.leaf.present
	}
	if t.object != nil {
		r.Skip()
		return t.object.empty // it has none of the fields
	}
	return t.leaf.scalar(r)
}

func (t *test) array(r *document.Reader) bool {
	matches, elements := t.leaf != nil && t.leaf.present, false
	for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
		if elements = true; matches {
			r.Skip()
		} else {
			matches = t.value(r)
		}
	}
	return matches || !elements && t.object != nil && t.object.empty
}

// matches passes the object that comes next and reports whether it is as the node asks. Of fields with the
// same name the first one counts.
func (n *node) matches(r *document.Reader) bool {
	passed, seen := n.absent, uint64(0)
	for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
		key := r.Key()
		before, read := *r, false
		for i := range n.tests {
			if seen>>i&1 != 0 || !key.Is(n.tests[i].name) {
				continue
			}
			seen |= 1 << i
			*r, read = before, true
			passed &^= 1 << i
			if n.tests[i].value(r) {
				passed |= 1 << i
			}
		}
		if !read {
			r.Skip()
		}
	}
	return n.rule.holds(passed)
}
