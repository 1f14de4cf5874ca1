// Package intern keeps one copy of texts that many clients have in common, such as the names of their libraries.
package intern

import (
	"strings"
	"sync"
)

// most bounds a Table: clients can say anything. What comes later is not shared.
const most = 1024

// Table has the texts. Its zero value is empty, and it is safe for concurrent use.
type Table struct {
	mu    sync.Mutex // guards known
	known map[string]string
}

// Intern returns the copy of s, which does not keep the text around s alive.
func (t *Table) Intern(s string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, ok := t.known[s]; ok {
		return k
	}
	s = strings.Clone(s)
	if len(t.known) < most {
		if t.known == nil {
			t.known = make(map[string]string)
		}
		t.known[s] = s
	}
	return s
}
