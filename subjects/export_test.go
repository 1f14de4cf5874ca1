package subjects

// Nodes returns how many places the tree keeps for its patterns: literal
// subjects and nodes below the root.
func (t *Tree[V]) Nodes() int {
	n := len(t.literals)
	count := func(n *node[V]) (stars int) {
		for n = n.star; n != nil; n = n.star {
			stars++
		}
		return stars
	}
	n += count(&t.wildcards.root)
	for _, child := range t.wildcards.edges {
		n += 1 + count(child)
	}
	return n
}

// ManyEntries is the size from which on a tree has many counters.
const ManyEntries = manyEntries

// WatchNodes returns how many places the tree keeps for subjects that are
// watched.
func (t *Tree[V]) WatchNodes() int {
	var count func(n *branch[[]*Watch]) int
	count = func(n *branch[[]*Watch]) int {
		sum := len(n.children)
		for _, child := range n.children {
			sum += count(child)
		}
		return sum
	}
	return count(&t.watches.root) + len(t.watches.leaves)
}

// Places returns how many places there are for patterns below the root.
func (p *Patterns[V]) Places() int {
	var count func(n *place[V]) int
	count = func(n *place[V]) (sum int) {
		for _, child := range n.literals {
			sum += 1 + count(child)
		}
		if n.star != nil {
			sum += 1 + count(n.star)
		}
		return sum
	}
	return count(&p.root)
}
