// Package producers remembers how far those are who number what they publish, so that a message that is published again
// is known again, however much later: one small entry for each producer, whatever it has published. It is part of the
// state of a stream: equal tables give equal bytes.
package producers

import (
	"maps"
	"slices"

	"runnel/jetlog/codec"
)

const (
	// Most is how many producers a stream remembers. None is forgotten for another one, since a forgotten one could
	// have its messages stored twice: further ones are refused.
	Most = 65536
	// NameMax is how long a name may be, in bytes.
	NameMax = 256
)

// Verdict says what a number is to a stream.
type Verdict uint8

const (
	// Next is the number behind the last, or the first that a producer is known by: the message is new.
	Next Verdict = iota
	// Duplicate is a number that was taken before.
	Duplicate
	// Gap is a number behind one that has not come.
	Gap
	// Full is a new producer for which there is no room.
	Full
)

// Mark is how far a producer is: the number of its last message, and the sequence that the stream gave it.
type Mark struct {
	Number, Sequence uint64
}

// Table has the marks of all producers, by name. The zero value is empty. It is not safe for concurrent use.
type Table struct {
	marks map[string]Mark
}

// Judge says what the message with the number of a producer is, and how far the producer was before.
func (t *Table) Judge(name []byte, number uint64) (Verdict, Mark) {
	last, known := t.marks[string(name)]
	switch {
	case !known && len(t.marks) >= Most:
		return Full, last
	case !known:
		return Next, last
	case number <= last.Number:
		return Duplicate, last
	case number == last.Number+1:
		return Next, last
	}
	return Gap, last
}

// Note sets how far a producer is.
func (t *Table) Note(name []byte, m Mark) {
	if t.marks == nil {
		t.marks = make(map[string]Mark)
	}
	t.marks[string(name)] = m
}

// Get returns how far a producer is; it is false for one that is not known.
func (t *Table) Get(name string) (Mark, bool) {
	m, known := t.marks[name]
	return m, known
}

// Forget forgets a producer if it is still at the number, and reports whether it was: one that has gone on is in use.
func (t *Table) Forget(name string, number uint64) bool {
	m, known := t.marks[name]
	if !known || m.Number != number {
		return false
	}
	delete(t.marks, name)
	return true
}

// Clone returns a copy.
func (t *Table) Clone() *Table { return &Table{marks: maps.Clone(t.marks)} }

// Len returns how many producers are known.
func (t *Table) Len() int { return len(t.marks) }

// All calls yield for all producers in the order of their names until it returns false.
func (t *Table) All(yield func(name string, m Mark) bool) {
	for _, name := range slices.Sorted(maps.Keys(t.marks)) {
		if !yield(name, t.marks[name]) {
			return
		}
	}
}

// AppendSnapshot appends all, by name.
func (t *Table) AppendSnapshot(out []byte) []byte {
	out = codec.AppendUint(out, uint64(len(t.marks)))
	for name, m := range t.All {
		out = codec.AppendBytes(out, name)
		out = codec.AppendUint(codec.AppendUint(out, m.Number), m.Sequence)
	}
	return out
}

// minBytes is the least that one takes in a snapshot.
const minBytes = 4

// Restore fills an empty table from a snapshot, and is false if it is not in order.
func (t *Table) Restore(r *codec.Reader) bool {
	last, sound := "", true
	for range r.Count(minBytes) {
		name := r.String()
		t.Note([]byte(name), Mark{Number: r.Uint(), Sequence: r.Uint()})
		sound = sound && name > last
		last = name
	}
	return sound
}

// Admits reports whether a producer that the table does not know may be set to a mark, after so many others, in a stream of which the
// last message has that sequence.
func (t *Table) Admits(name string, m Mark, others int, last uint64) bool {
	_, known := t.Get(name)
	return !known && m.Number > 0 && m.Sequence > 0 && m.Sequence <= last && len(name) <= NameMax+1 && t.Len()+others < Most
}
