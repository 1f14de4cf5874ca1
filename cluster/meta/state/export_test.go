package state

import "iter"

// Tree is a tree of numbers, for its own test.
type Tree struct{ t tree[int] }

func (t Tree) Set(key string, value int) Tree         { return Tree{t.t.set(key, value)} }
func (t Tree) Without(key string) Tree                { return Tree{t.t.without(key)} }
func (t Tree) Get(key string) (int, bool)             { return t.t.get(key) }
func (t Tree) Len() int                               { return t.t.len() }
func (t Tree) From(key string) iter.Seq2[string, int] { return t.t.from(key) }
func (t Tree) Depth() int                             { return depth(t.t.root) }

func depth(n *node[int]) int {
	if n == nil {
		return 0
	}
	return 1 + max(depth(n.left), depth(n.right))
}
