package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// Table is what the streams of all accounts have. Its methods are safe for concurrent use.
type Table struct {
	// instance tells this table from those of other servers, and of this one before its last start.
	instance int64
	changes  atomic.Uint64 // of what is led here

	mu       sync.Mutex // guards what follows
	accounts map[string]*Used
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{instance: time.Now().UnixNano(), accounts: make(map[string]*Used)}
}

// Account returns what an account has.
func (t *Table) Account(name string) *Used {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.accounts[name]
	if u == nil {
		u = &Used{table: t, streams: make(map[uint64]*entry)}
		t.accounts[name] = u
	}
	return u
}

// boundedAccounts returns the accounts whose bytes are limited, by name.
func (t *Table) boundedAccounts() map[string]*Used {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list map[string]*Used
	for name, u := range t.accounts {
		if u.bounded.Load() {
			if list == nil {
				list = make(map[string]*Used)
			}
			list[name] = u
		}
	}
	return list
}

// Mark says how much of another server's table is known. Zero is nothing.
type Mark struct {
	Instance int64  `json:"instance,omitempty"`
	Change   uint64 `json:"change,omitempty"`
}

// News are what has changed of the streams that a server leads, in accounts whose bytes are limited, and the mark behind that.
type News struct {
	Mark     Mark                `json:"mark"`
	Accounts map[string][]Stored `json:"accounts,omitempty"`
}

// Since returns the news behind a mark of this table: all that there is if the mark is another table's.
func (t *Table) Since(m Mark) *News {
	if m.Instance != t.instance {
		m.Change = 0
	}
	n := &News{Mark: Mark{t.instance, t.changes.Load()}}
	for name, u := range t.boundedAccounts() {
		if list := u.since(m.Change); len(list) > 0 {
			if n.Accounts == nil {
				n.Accounts = make(map[string][]Stored)
			}
			n.Accounts[name] = list
		}
	}
	return n
}

// Hear takes in what another server says of the streams that it leads.
func (t *Table) Hear(n *News) {
	for name, list := range n.Accounts {
		t.Account(name).hear(list)
	}
}

// Bounded tells whether there are accounts whose bytes are limited, so that others have to be asked.
func (t *Table) Bounded() bool { return len(t.boundedAccounts()) > 0 }
