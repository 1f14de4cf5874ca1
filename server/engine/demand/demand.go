// Package demand counts what the subscribers of this server want to be sent by other servers: one entry for each
// subject and queue group of an account, and what has changed since the others were told.
//
// What an account imports as a stream is published in another one. So its subscribers count there too, under the subject
// that it has there: plain ones as plain ones, those of a queue group as members of a group with a name that no client
// can have, see [Group].
package demand

import (
	"sync"
	"sync/atomic"

	"runnel/server/accounts"
)

// Change is interest that others have to be told of.
type Change struct {
	// Account is whose interest it is.
	Account *accounts.Account
	// Subject is empty when there is no interest in the account any more.
	Subject, Queue string
	// Weight is how many members the queue group has, or 1 for plain interest; 0 when it has gone.
	Weight int
}

// Table has the demand of all accounts. It is made by New and safe for concurrent use.
type Table struct {
	bounds  *accounts.Bounds
	answers string
	// unsaid counts the marks that Said has not taken back.
	unsaid atomic.Int64

	expecting sync.RWMutex // guards expected; mu is locked while it is held
	expected  map[*accounts.Account]bool

	mu      sync.Mutex // guards what follows and what is in it; nothing else is locked while it is held
	wants   map[uint32]*wants
	changed []*entry // each once
	marks   int64    // since the last Take
}

// wants is the demand of one account. It is there as long as it has entries.
type wants struct {
	account *accounts.Account
	entries map[key]*entry
	// seen is how often the accounts that imports lead to had shifted when it was found out where they lead.
	seen map[*accounts.Account]uint64
}

type key struct{ subject, queue string }

// entry is one subject and queue group. Its count is that of the members in the account and in those that import.
type entry struct {
	wants *wants
	key
	own, count int
	told       int
	changed    bool
	onward     []*entry // where own members count, too
}

// New returns an empty table. Others are told of what bounds cover only, and of the subject of answers, which is for
// Expect.
func New(bounds *accounts.Bounds, answers string) *Table {
	return &Table{bounds: bounds, answers: answers, wants: make(map[uint32]*wants), expected: make(map[*accounts.Account]bool)}
}

// Add counts a subscription that has come (1) or gone (-1).
func (t *Table) Add(a *accounts.Account, subject, queue string, by int) {
	var w way
	if by > 0 {
		w = follow(a, subject, queue)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entry(a, key{subject, queue})
	if e.own == 0 {
		t.lead(e, &w)
	}
	t.count(e, by)
	if e.own == 0 {
		e.onward = nil
	}
}

// count changes how many own members e has. mu is held.
func (t *Table) count(e *entry, by int) {
	e.own += by
	t.bump(e, by)
	for _, o := range e.onward {
		t.bump(o, by)
	}
}

// lead has the own members of e count where w says. mu is held.
func (t *Table) lead(e *entry, w *way) {
	for a, shifts := range w.seen {
		if _, ok := e.wants.seen[a]; !ok {
			if e.wants.seen == nil {
				e.wants.seen = make(map[*accounts.Account]uint64)
			}
			e.wants.seen[a] = shifts
		}
	}
	e.onward = nil
	for _, p := range w.places {
		e.onward = append(e.onward, t.entry(p.account, p.key))
	}
}

// entry returns the entry, a new one when there is none. mu is held.
func (t *Table) entry(a *accounts.Account, k key) *entry {
	w := t.wants[a.Number()]
	if w == nil {
		w = &wants{account: a, entries: make(map[key]*entry)}
		t.wants[a.Number()] = w
	}
	e := w.entries[k]
	if e == nil {
		e = &entry{wants: w, key: k}
		w.entries[k] = e
	}
	return e
}

// bump changes the count of e and marks it. mu is held.
func (t *Table) bump(e *entry, by int) {
	e.count += by
	t.marks++
	t.unsaid.Add(1)
	if !e.changed {
		e.changed = true
		t.changed = append(t.changed, e)
	}
}

// Expect makes plain interest in the subject of answers last until Release, as long as the account is in use. To ask
// again costs little.
func (t *Table) Expect(a *accounts.Account) {
	if t.expects(a) {
		return
	}
	t.expecting.Lock()
	defer t.expecting.Unlock()
	if !t.expected[a] {
		t.expected[a] = true
		t.hold(a, 1)
	}
}

func (t *Table) expects(a *accounts.Account) bool {
	t.expecting.RLock()
	defer t.expecting.RUnlock()
	return t.expected[a]
}

// Release ends what Expect has made in accounts that are not in use.
func (t *Table) Release(used func(*accounts.Account) bool) {
	t.expecting.Lock()
	defer t.expecting.Unlock()
	for a := range t.expected {
		if !used(a) {
			delete(t.expected, a)
			t.hold(a, -1)
		}
	}
}

func (t *Table) hold(a *accounts.Account, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bump(t.entry(a, key{subject: t.answers}), by)
}

// Pending tells whether something was not said yet. It takes no lock.
func (t *Table) Pending() bool { return t.unsaid.Load() != 0 }

// Take appends what has changed since the last call. The caller tells all others, and then calls Said with marks; calls
// come one after the other.
func (t *Table) Take(out []Change) (changes []Change, marks int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range t.changed {
		t.changed[i] = nil
		e.changed = false
		w := e.wants
		if weight := t.weight(e); weight != e.told {
			e.told = weight
			out = append(out, Change{w.account, e.subject, e.queue, weight})
		}
		if e.count > 0 || w.entries[e.key] != e {
			continue
		}
		delete(w.entries, e.key)
		if len(w.entries) == 0 {
			delete(t.wants, w.account.Number())
			out = append(out, Change{Account: w.account})
		}
	}
	t.changed = t.changed[:0]
	marks, t.marks = t.marks, 0
	return out, marks
}

// Said notes that everybody was told what Take has returned with marks.
func (t *Table) Said(marks int64) { t.unsaid.Add(-marks) }

// weight is what others are told of e.
func (t *Table) weight(e *entry) int {
	switch {
	case e.count <= 0 || e.subject != t.answers && !t.bounds.Covers(e.subject):
		return 0
	case e.queue == "":
		return 1
	}
	return e.count
}

// Whole appends all interest in an account that others were told of.
func (t *Table) Whole(a *accounts.Account, out []Change) []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.wants[a.Number()]
	if w == nil {
		return out
	}
	for _, e := range w.entries {
		if e.told > 0 {
			out = append(out, Change{a, e.subject, e.queue, e.told})
		}
	}
	return out
}

// Accounts returns those in which there is interest.
func (t *Table) Accounts() []*accounts.Account {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*accounts.Account, 0, len(t.wants))
	for _, w := range t.wants {
		all = append(all, w.account)
	}
	return all
}

// Account returns the account with that number if there is interest in it, else nil.
func (t *Table) Account(number uint32) *accounts.Account {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.wants[number]; w != nil {
		return w.account
	}
	return nil
}
