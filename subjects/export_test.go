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
