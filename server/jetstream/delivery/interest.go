package delivery

import (
	"sync"

	"runnel/subjects"
)

// interestEntry is a filter of a consumer in the tree.
type interestEntry = subjects.Entry[*consumer]

// interest finds the consumers that a message may concern, by the tree of their filters.
type interest struct {
	tree *subjects.Tree[*consumer]

	mu    sync.Mutex // guards the next two
	known map[string]*matched
	size  int // of all that is known: a subject counts as one, and so does each consumer
}

// matched are the consumers that messages on a subject concern, while the stamp is valid. It does not change.
type matched struct {
	stamp     subjects.Stamp
	consumers []*consumer
}

// knownMax is how much is remembered.
const knownMax = 1 << 17

func newInterest() *interest {
	return &interest{tree: subjects.NewTree[*consumer](), known: make(map[string]*matched)}
}

// match returns the consumers that a message on the subject concerns. The slice must not be changed.
func (n *interest) match(subject string) []*consumer {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.known[subject]; m != nil && m.stamp.Valid() {
		return m.consumers
	}
	key := []byte(subject)
	m := &matched{stamp: n.tree.Stamp(key)}
	for _, e := range n.tree.Match(key, nil) {
		m.consumers = append(m.consumers, e.Value)
	}
	if n.size += 1 + len(m.consumers); n.size > knownMax {
		clear(n.known)
		n.size = 1 + len(m.consumers)
	}
	n.known[subject] = m
	return m.consumers
}

// change makes the filters of a consumer those given, none for all messages.
func (n *interest) change(c *consumer, filters []string) {
	if len(filters) == 0 {
		filters = []string{">"}
	}
	if c.hasFilters(filters) {
		return
	}
	old := c.entries
	c.entries = make([]*interestEntry, len(filters))
	for i, filter := range filters {
		c.entries[i] = &interestEntry{Subject: filter, Value: c}
		n.tree.Insert(c.entries[i])
	}
	for _, e := range old {
		n.tree.Remove(e)
	}
}

// leave takes the filters of a consumer out.
func (n *interest) leave(c *consumer) {
	for _, e := range c.entries {
		n.tree.Remove(e)
	}
	c.entries = nil
}

// hasFilters reports whether these are the filters in the tree.
func (c *consumer) hasFilters(filters []string) bool {
	if len(c.entries) != len(filters) {
		return false
	}
	for i, e := range c.entries {
		if e.Subject != filters[i] {
			return false
		}
	}
	return true
}
