// Package leaders knows which server leads which stream: each server tells the others when it begins to lead a stream and
// when that ends, and all it leads when a connection comes.
//
// What is known may be old: a server that leads no more may not have been able to say so. Who asks looks whether that
// server can be reached.
package leaders

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Table is what one server knows. Its methods are safe for concurrent use.
type Table struct {
	mu    sync.Mutex                   // guards everything below
	own   map[uint64]uint64            // term by stream, of those that this server leads
	known map[uint64]leader            // of others
	by    map[string]map[uint64]uint64 // the same by server
	news  Notice                       // what others were not told yet
	waits map[uint64][]chan struct{}   // by stream, closed when somebody is known to lead it
}

// leader is who is known to lead a stream.
type leader struct {
	node string
	term uint64
}

// Notice is what a server tells others. It is sent as JSON.
type Notice struct {
	// All says that Leads is all there is: what was known of the sender before is void.
	All bool `json:"all,omitempty"`
	// Leads are the streams that the sender leads, with the term.
	Leads map[uint64]uint64 `json:"leads,omitempty"`
	// Ends are those that it does not lead any more.
	Ends []uint64 `json:"ends,omitempty"`
}

// New returns a table of a server that leads nothing.
func New() *Table {
	return &Table{own: make(map[uint64]uint64), known: make(map[uint64]leader), by: make(map[string]map[uint64]uint64)}
}

// Lead notes that this server leads a stream in a term.
func (t *Table) Lead(id, term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own[id] = term
	if t.news.Leads == nil {
		t.news.Leads = make(map[uint64]uint64)
	}
	t.news.Leads[id] = term
	t.found(id)
}

// Wait returns a channel that is closed when some server begins to lead a stream, as far as is known here, and what gives it back, which
// has to be called.
func (t *Table) Wait(id uint64) (led <-chan struct{}, stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{})
	if t.waits == nil {
		t.waits = make(map[uint64][]chan struct{})
	}
	t.waits[id] = append(t.waits[id], c)
	return c, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if list := slices.DeleteFunc(t.waits[id], func(o chan struct{}) bool { return o == c }); len(list) > 0 {
			t.waits[id] = list
		} else {
			delete(t.waits, id)
		}
	}
}

// found lets those go on who wait for a stream. The caller holds mu.
func (t *Table) found(id uint64) {
	for _, c := range t.waits[id] {
		close(c)
	}
	delete(t.waits, id)
}

// End notes that this server does not lead a stream any more.
func (t *Table) End(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, led := t.own[id]; !led {
		return
	}
	delete(t.own, id)
	delete(t.news.Leads, id)
	t.news.Ends = append(t.news.Ends, id)
}

// Forget notes that there is no such stream any more.
func (t *Table) Forget(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.own, id)
	t.drop(id)
}

// drop forgets who else leads a stream.
func (t *Table) drop(id uint64) {
	if l, ok := t.known[id]; ok {
		delete(t.known, id)
		delete(t.by[l.node], id)
	}
}

// Leader returns the server that is known to lead a stream, self for this one, and the term; empty for none.
func (t *Table) Leader(id uint64, self string) (node string, term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.known[id]
	if own, led := t.own[id]; led && own >= l.term {
		return self, own
	}
	return l.node, l.term
}

// Led is how many streams this server leads.
func (t *Table) Led() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.own)
}

// Hear takes in what another server has told.
func (t *Table) Hear(from string, notice []byte) error {
	var n Notice
	if err := json.Unmarshal(notice, &n); err != nil {
		return fmt.Errorf("what server %s says it leads: %w", from, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.All {
		for id := range t.by[from] {
			delete(t.known, id)
		}
		delete(t.by, from)
	}
	for _, id := range n.Ends {
		if t.known[id].node == from {
			t.drop(id)
		}
	}
	for id, term := range n.Leads {
		if term < t.known[id].term {
			continue // a later leader has told already
		}
		t.drop(id)
		t.known[id] = leader{from, term}
		if t.by[from] == nil {
			t.by[from] = make(map[uint64]uint64)
		}
		t.by[from][id] = term
		t.found(id)
	}
	return nil
}

// News returns what others are to be told since the last call, nil for nothing.
func (t *Table) News() []byte {
	t.mu.Lock()
	n := t.news
	t.news = Notice{}
	t.mu.Unlock()
	if len(n.Leads) == 0 && len(n.Ends) == 0 {
		return nil
	}
	return n.encode()
}

// All returns all that this server leads, for one that knows nothing of it.
func (t *Table) All() []byte {
	t.mu.Lock()
	n := Notice{All: true, Leads: maps.Clone(t.own)}
	t.mu.Unlock()
	return n.encode()
}

func (n *Notice) encode() []byte {
	b, _ := json.Marshal(n) // numbers and a flag: it cannot fail
	return b
}
