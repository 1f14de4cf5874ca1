package subjects

// wildcards holds the patterns that have a wildcard, as a trie of their tokens.
type wildcards[V any] struct {
	root node[V]
	// edges leads from a node to its child under a literal token. One map for all
	// nodes costs far less memory than many small ones. It is nil until there is one.
	edges map[edge[V]]*node[V]
}

type edge[V any] struct {
	parent *node[V]
	token  string
}

// node is a place in the trie: the patterns that begin with the same tokens.
type node[V any] struct {
	// here has the entries whose pattern ends at this node, rest those that end
	// with `>` after it.
	here, rest *Entry[V]
	// star is the child under `*`.
	star *node[V]
	// literals counts the children under literal tokens, ends those among them
	// at which a pattern ends.
	literals, ends int32
}

// empty reports whether nothing is left at or below n.
func (n *node[V]) empty() bool {
	return n.here == nil && n.rest == nil && n.star == nil && n.literals == 0
}

func (w *wildcards[V]) insert(e *Entry[V]) {
	n, rest, more := &w.root, e.Subject, true
	for more {
		var token string
		token, rest, more = cut(rest)
		if token == tail && !more {
			n.rest = link(n.rest, e)
			return
		}
		child := w.ensure(n, token)
		if !more && child.here == nil && token != star {
			n.ends++
		}
		n = child
	}
	n.here = link(n.here, e)
}

// child returns the child of n under a token of a pattern, or nil.
func (w *wildcards[V]) child(n *node[V], token string) *node[V] {
	if token == star {
		return n.star
	}
	return w.edges[edge[V]{n, token}]
}

// ensure returns the child of n under a token of a pattern and makes it when
// there is none.
func (w *wildcards[V]) ensure(n *node[V], token string) *node[V] {
	if child := w.child(n, token); child != nil {
		return child
	}
	child := new(node[V])
	if token == star {
		n.star = child
	} else {
		if w.edges == nil {
			w.edges = make(map[edge[V]]*node[V])
		}
		w.edges[edge[V]{n, token}] = child
		n.literals++
	}
	return child
}

func (w *wildcards[V]) remove(e *Entry[V]) {
	w.removeBelow(&w.root, e.Subject, e)
}

// removeBelow removes e from below n, where the tokens in rest lead to it, and
// cuts off children that have become empty.
func (w *wildcards[V]) removeBelow(n *node[V], rest string, e *Entry[V]) {
	token, rest, more := cut(rest)
	if token == tail && !more {
		n.rest = unlink(n.rest, e)
		return
	}
	child := w.child(n, token)
	if more {
		w.removeBelow(child, rest, e)
	} else {
		child.here = unlink(child.here, e)
		if child.here == nil && token != star {
			n.ends--
		}
	}
	if !child.empty() {
		return
	}
	if token == star {
		n.star = nil
		return
	}
	delete(w.edges, edge[V]{n, token})
	n.literals--
}

// match appends the entries below n that match the rest of a subject.
func (w *wildcards[V]) match(n *node[V], rest []byte, out []*Entry[V]) []*Entry[V] {
	out = appendRing(out, n.rest)
	token, rest, more := cut(rest)
	if n.literals > 0 {
		if child := w.edges[edge[V]{n, string(token)}]; child != nil {
			out = w.matchChild(child, rest, more, out)
		}
	}
	if n.star != nil {
		out = w.matchChild(n.star, rest, more, out)
	}
	return out
}

func (w *wildcards[V]) matchChild(n *node[V], rest []byte, more bool, out []*Entry[V]) []*Entry[V] {
	if more {
		return w.match(n, rest, out)
	}
	return appendRing(out, n.here)
}

// matchPrefix appends the entries below n that match the rest of a prefix and
// any one token after it, or if deep any one or more. It clears uniform when some
// pattern wants certain tokens there, or a certain number of them.
func (w *wildcards[V]) matchPrefix(n *node[V], rest []byte, deep bool, out []*Entry[V], uniform *bool) []*Entry[V] {
	out = appendRing(out, n.rest)
	switch {
	case len(rest) == 0 && deep:
		if n.star != nil || n.literals > 0 {
			*uniform = false
		}
		return out
	case len(rest) == 0:
		if n.ends > 0 {
			*uniform = false
		}
		if n.star != nil {
			out = appendRing(out, n.star.here)
		}
		return out
	}
	token, rest, _ := cut(rest)
	if n.literals > 0 {
		if child := w.edges[edge[V]{n, string(token)}]; child != nil {
			out = w.matchPrefix(child, rest, deep, out, uniform)
		}
	}
	if n.star != nil {
		out = w.matchPrefix(n.star, rest, deep, out, uniform)
	}
	return out
}

// rings calls visit with the head of every ring until visit returns false, and
// reports whether it never did. Nodes may come and go during a visit.
func (w *wildcards[V]) rings(visit func(*Entry[V]) bool) bool {
	if !stars(&w.root, visit) {
		return false
	}
	for _, n := range w.edges {
		if !stars(n, visit) {
			return false
		}
	}
	return true
}

// stars visits the rings of n and of what is below it through `*` only. Every
// node is below exactly one edge, or the root, in this way.
func stars[V any](n *node[V], visit func(*Entry[V]) bool) bool {
	for ; n != nil; n = n.star {
		if n.here != nil && !visit(n.here) {
			return false
		}
		if n.rest != nil && !visit(n.rest) {
			return false
		}
	}
	return true
}
