package state

import (
	"iter"
	"math/rand/v2"
	"strings"
)

// tree is an ordered map that never changes: set and without return another one, which shares all but a few nodes with it.
// It is a treap: ordered by key from left to right, by priority from top to bottom. Priorities are random, so that nobody can
// choose names that make it deep; its shape shows nowhere. The zero tree is empty.
type tree[V any] struct{ root *node[V] }

// node is a place in a tree. Invariant: its priority is not below those of its children, and size counts it and all below.
type node[V any] struct {
	key         string
	value       V
	priority    uint64
	left, right *node[V]
	size        int
}

// count is the number of nodes, 0 of nil.
func (n *node[V]) count() int {
	if n == nil {
		return 0
	}
	return n.size
}

// with returns a copy that has other children.
func (n *node[V]) with(left, right *node[V]) *node[V] {
	c := *n
	c.left, c.right, c.size = left, right, left.count()+right.count()+1
	return &c
}

// split parts what is before a key from what is behind it. What has the key is in neither.
func split[V any](n *node[V], key string) (before, behind *node[V]) {
	switch {
	case n == nil:
		return nil, nil
	case n.key < key:
		inner, behind := split(n.right, key)
		return n.with(n.left, inner), behind
	case n.key > key:
		before, inner := split(n.left, key)
		return before, n.with(inner, n.right)
	}
	return n.left, n.right
}

// merge joins two trees, all keys of one being before those of the other.
func merge[V any](before, behind *node[V]) *node[V] {
	switch {
	case before == nil:
		return behind
	case behind == nil:
		return before
	case before.priority >= behind.priority:
		return before.with(before.left, merge(before.right, behind))
	}
	return behind.with(merge(before, behind.left), behind.right)
}

// set returns a tree in which the key has the value.
func (t tree[V]) set(key string, value V) tree[V] {
	before, behind := split(t.root, key)
	n := &node[V]{key: key, value: value, priority: rand.Uint64(), size: 1}
	return tree[V]{merge(merge(before, n), behind)}
}

// without returns a tree that does not have the key.
func (t tree[V]) without(key string) tree[V] {
	if _, ok := t.get(key); !ok {
		return t
	}
	return tree[V]{merge(split(t.root, key))}
}

// get returns the value of a key.
func (t tree[V]) get(key string) (value V, ok bool) {
	for n := t.root; n != nil; {
		switch {
		case key < n.key:
			n = n.left
		case key > n.key:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

// len is the number of keys.
func (t tree[V]) len() int { return t.root.count() }

// from yields the keys that are not before the given one, in order.
func (t tree[V]) from(key string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.walk(key, yield) }
}

// below yields the values of the keys that begin like that, in order.
func (t tree[V]) below(prefix string) iter.Seq[V] {
	return func(yield func(V) bool) {
		for key, v := range t.from(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(v) {
				return
			}
		}
	}
}

// walk yields from a key on and is false when it was told to end.
func (n *node[V]) walk(from string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if n.key < from {
		return n.right.walk(from, yield)
	}
	return n.left.walk(from, yield) && yield(n.key, n.value) && n.right.walk(from, yield)
}
