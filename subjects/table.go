package subjects

// table holds values under literal subjects and finds those that match a pattern:
// the reverse of a Tree. It is not safe for concurrent use.
type table[V any] struct {
	root branch[V]
	// leaves has the places of all values, for look-ups of one subject.
	leaves map[string]*branch[V]
}

// branch is a place in the trie of the subjects: those that begin with the same
// tokens.
type branch[V any] struct {
	parent *branch[V] // nil for the root
	token  string     // under which it is the parent's child
	// children is nil when there are none.
	children map[string]*branch[V]
	// value counts when set: a subject ends here.
	value V
	set   bool
}

// get returns the value of a subject, the zero value when there is none.
func (t *table[V]) get(subject string) (value V) {
	if leaf := t.leaves[subject]; leaf != nil {
		value = leaf.value
	}
	return value
}

// put sets the value of a valid literal subject.
func (t *table[V]) put(subject string, value V) {
	leaf := t.leaves[subject]
	if leaf == nil {
		leaf = t.grow(subject)
	}
	leaf.value, leaf.set = value, true
}

// grow makes the place of a subject.
func (t *table[V]) grow(subject string) *branch[V] {
	n := &t.root
	for token := range Tokens(subject) {
		child := n.children[token]
		if child == nil {
			child = &branch[V]{parent: n, token: token}
			if n.children == nil {
				n.children = make(map[string]*branch[V])
			}
			n.children[token] = child
		}
		n = child
	}
	if t.leaves == nil {
		t.leaves = make(map[string]*branch[V])
	}
	t.leaves[subject] = n
	return n
}

// remove forgets the value of a subject.
func (t *table[V]) remove(subject string) {
	n := t.leaves[subject]
	if n == nil {
		return
	}
	delete(t.leaves, subject)
	var none V
	n.value, n.set = none, false
	for !n.set && len(n.children) == 0 && n.parent != nil {
		delete(n.parent.children, n.token)
		n = n.parent
	}
}

// size is how many subjects have a value.
func (t *table[V]) size() int { return len(t.leaves) }

// match calls visit for every value whose subject matches the pattern.
func (t *table[V]) match(pattern string, visit func(V)) { t.root.match(pattern, visit) }

// match visits what is below n and matches the rest of a pattern.
func (n *branch[V]) match(rest string, visit func(V)) {
	token, rest, more := cut(rest)
	switch {
	case token == tail && !more:
		for _, child := range n.children {
			child.all(visit)
		}
	case token == star:
		for _, child := range n.children {
			child.reached(rest, more, visit)
		}
	default:
		if child := n.children[token]; child != nil {
			child.reached(rest, more, visit)
		}
	}
}

// reached goes on at n, with the rest of the pattern if there is more of it.
func (n *branch[V]) reached(rest string, more bool, visit func(V)) {
	switch {
	case more:
		n.match(rest, visit)
	case n.set:
		visit(n.value)
	}
}

// all visits everything at and below n.
func (n *branch[V]) all(visit func(V)) {
	if n.set {
		visit(n.value)
	}
	for _, child := range n.children {
		child.all(visit)
	}
}
