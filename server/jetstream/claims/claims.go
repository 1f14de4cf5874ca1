// Package claims knows which streams claim which subjects, so that no two streams of an account get the same message:
// with ten thousand streams the question who has subjects in common with a pattern costs what it does with ten.
package claims

import "strings"

// Tree has the patterns that owners claim, by their tokens: the question who has subjects in common with a pattern goes
// past all that differ from it in an early token. The zero Tree has none. It is not safe for concurrent use.
//
// Invariant: a place that nobody claims, and that leads to none, is not there.
type Tree struct{ root claim }

// claim is a place in the tree: what the patterns that lead here go on with, and who has one that ends here.
type claim struct {
	next   map[string]*claim // by token, wildcards included
	owners map[string]int    // with how often each claims it
}

// Add notes that an owner claims the patterns. They may be added more than once.
func (t *Tree) Add(owner string, patterns []string) {
	for _, pattern := range patterns {
		at := &t.root
		for token := range strings.SplitSeq(pattern, ".") {
			next := at.next[token]
			if next == nil {
				if at.next == nil {
					at.next = make(map[string]*claim)
				}
				next = &claim{}
				at.next[token] = next
			}
			at = next
		}
		if at.owners == nil {
			at.owners = make(map[string]int)
		}
		at.owners[owner]++
	}
}

// Remove undoes one Add.
func (t *Tree) Remove(owner string, patterns []string) {
	for _, pattern := range patterns {
		t.root.remove(owner, strings.Split(pattern, "."))
	}
}

// Empty tells whether nobody claims anything.
func (t *Tree) Empty() bool { return len(t.root.next) == 0 }

// remove undoes one claim of a pattern whose tokens lead on from here, and takes away places that are of no use then.
func (c *claim) remove(owner string, tokens []string) {
	if len(tokens) == 0 {
		if c.owners[owner] > 1 {
			c.owners[owner]--
		} else {
			delete(c.owners, owner)
		}
		return
	}
	next := c.next[tokens[0]]
	if next == nil {
		return
	}
	next.remove(owner, tokens[1:])
	if len(next.next)+len(next.owners) == 0 {
		delete(c.next, tokens[0])
	}
}

// Overlapping calls yield with the owner of every claim that has a subject in common with the pattern, perhaps more than
// once, until yield is false.
func (t *Tree) Overlapping(pattern string, yield func(owner string) bool) {
	t.root.overlapping(strings.Split(pattern, "."), yield)
}

// overlapping goes on from this place with the rest of a pattern.
func (c *claim) overlapping(tokens []string, yield func(string) bool) bool {
	if len(tokens) == 0 {
		return c.tell(yield)
	}
	if rest := c.next[">"]; rest != nil && !rest.tell(yield) {
		return false
	}
	switch tokens[0] {
	case ">":
		for token, next := range c.next {
			if token != ">" && !next.all(yield) {
				return false
			}
		}
	case "*":
		for token, next := range c.next {
			if token != ">" && !next.overlapping(tokens[1:], yield) {
				return false
			}
		}
	default:
		for _, token := range [...]string{tokens[0], "*"} {
			if next := c.next[token]; next != nil && !next.overlapping(tokens[1:], yield) {
				return false
			}
		}
	}
	return true
}

// tell names the owners of this very place.
func (c *claim) tell(yield func(string) bool) bool {
	for owner := range c.owners {
		if !yield(owner) {
			return false
		}
	}
	return true
}

// all names the owners of this place and of all behind it.
func (c *claim) all(yield func(string) bool) bool {
	if !c.tell(yield) {
		return false
	}
	for _, next := range c.next {
		if !next.all(yield) {
			return false
		}
	}
	return true
}
