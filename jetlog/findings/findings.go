// Package findings describes what was found damaged in the files of a store, and remembers it.
package findings

import (
	"slices"
	"sync"
)

// Max is how many damages a List remembers.
const Max = 100

// List has damages, each of them once, by their text. The zero List has none. Its methods may be called by any number of goroutines.
type List struct {
	mu    sync.Mutex // guards what follows
	found []error
	known map[string]bool // texts of found
}

// Add adds a damage, and reports whether nobody knows of it yet, so that it is to be told. A full List knows of everything: a disk that is
// broken in a thousand places is not to fill the log too.
func (l *List) Add(err error) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := err.Error()
	if l.known[text] || len(l.found) == Max {
		return false
	}
	if l.known == nil {
		l.known = make(map[string]bool)
	}
	l.known[text] = true
	l.found = append(l.found, err)
	return true
}

// All returns the damages in the order in which they were found.
func (l *List) All() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found)
}
