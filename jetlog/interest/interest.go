// Package interest finds who wants messages on a subject: members with several patterns each, every one once, however many of
// its patterns match. It is part of the state of a stream.
package interest

import "runnel/subjects"

// Member is somebody with patterns. The zero value is in no table. It must not be copied while it is in one.
//
// Invariant: who wants all has no entries and a place, others have no place; in no table there is neither.
type Member[T any] struct {
	value   T
	entries []subjects.Entry[*Member[T]]
	round   uint64 // in which it was found last; of who wants all, the place in the list of those, counted from 1
}

// everything is the pattern that nobody needs who wants all: it matches every subject that is one.
const everything = ">"

// Table has members. It is not safe for concurrent use, also not by several that only ask.
type Table[T any] struct {
	tree    *subjects.Tree[*Member[T]]
	all     []*Member[T] // who wants all subjects: an entry in the tree takes more
	subject []byte
	matched []*subjects.Entry[*Member[T]]
	round   uint64
}

// New returns an empty table.
func New[T any]() Table[T] { return Table[T]{tree: subjects.NewTree[*Member[T]]()} }

// Enter takes in a member that is in no table, with a value and the patterns that it wants; none stands for all.
func (t *Table[T]) Enter(m *Member[T], value T, patterns []string) {
	m.value, m.round = value, 0
	if len(patterns) == 0 {
		t.all = append(t.all, m)
		m.round = uint64(len(t.all))
		return
	}
	m.entries = make([]subjects.Entry[*Member[T]], len(patterns))
	for i, pattern := range patterns {
		m.entries[i].Subject, m.entries[i].Value = pattern, m
		t.tree.Insert(&m.entries[i])
	}
}

// Leave takes a member out.
func (t *Table[T]) Leave(m *Member[T]) {
	if len(m.entries) == 0 && m.round > 0 {
		t.leaveAll(int(m.round) - 1)
	}
	for i := range m.entries {
		t.tree.Remove(&m.entries[i])
	}
	m.entries, m.round = nil, 0
}

// leaveAll takes the member at a place out of those that want all. The last one takes the place.
func (t *Table[T]) leaveAll(place int) {
	end := len(t.all) - 1
	t.all[place] = t.all[end]
	t.all[place].round = uint64(place) + 1
	t.all[end] = nil
	t.all = t.all[:end]
}

// Matching calls do for everyone of whose patterns one matches the subject, once each, until it returns false. What is done
// must not depend on the order, and must not ask the table.
func (t *Table[T]) Matching(subject string, do func(T) bool) {
	if len(t.all) > 0 && subjects.Match(everything, subject) {
		for _, m := range t.all {
			if !do(m.value) {
				return
			}
		}
	}
	if t.tree.Len() == 0 {
		return
	}
	t.subject = append(t.subject[:0], subject...)
	t.matched = t.tree.Match(t.subject, t.matched[:0])
	t.round++
	for _, e := range t.matched {
		if m := e.Value; m.round != t.round {
			m.round = t.round
			if !do(m.value) {
				return
			}
		}
	}
}
