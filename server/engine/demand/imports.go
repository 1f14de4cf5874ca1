package demand

import (
	"runnel/server/accounts"
)

// Group names a queue group of an account that imports a stream, among those who are sent what is published in the
// exporting account. No client's queue group has a blank in its name.
func Group(i *accounts.StreamImport, queue string) string {
	remote, local := i.Patterns()
	return " " + i.Account.Name() + " " + i.Exporter.Name() + " " + remote + " " + local + " " + queue
}

// place is where a subscriber counts besides its own account.
type place struct {
	account *accounts.Account
	key
}

// way is where a subscription counts, and how often the accounts had shifted that were looked at for that.
type way struct {
	places []place
	seen   map[*accounts.Account]uint64
}

// follow finds out where a subscription in account a counts.
func follow(a *accounts.Account, subject, queue string) (w way) {
	w.from(a, subject, queue, 0)
	return w
}

// from follows the imports of a; named is the name of the queue group, once it has one.
func (w *way) from(a *accounts.Account, subject, named string, chain int) {
	shifts := a.Shifts()
	x := a.Crossings()
	if chain == 0 && x == nil && shifts == 0 {
		return // as most accounts
	}
	if w.seen == nil {
		w.seen = make(map[*accounts.Account]uint64)
	}
	w.seen[a] = shifts
	if x == nil || chain == accounts.ChainMost {
		return
	}
	for i, remote := range x.Sources(subject) {
		if len(w.places) == accounts.WaysMost {
			return
		}
		group := named
		if chain == 0 && named != "" {
			group = Group(i, named)
		}
		w.places = append(w.places, place{i.Exporter, key{remote, group}})
		w.from(i.Exporter, remote, group, chain+1)
	}
}

// Refresh looks where imports lead that have come or gone since the last time.
func (t *Table) Refresh() {
	for _, s := range t.shifted() {
		for _, k := range s.keys {
			w := follow(s.account, k.subject, k.queue)
			t.move(s.account, k, &w)
		}
	}
}

// shifted is an account whose subscriptions may count elsewhere than they do.
type shifted struct {
	account *accounts.Account
	keys    []key
}

func (t *Table) shifted() (all []shifted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.wants {
		if !w.outdated() {
			continue
		}
		s := shifted{account: w.account}
		for k, e := range w.entries {
			if e.own > 0 {
				s.keys = append(s.keys, k)
			}
		}
		w.seen = map[*accounts.Account]uint64{w.account: w.account.Shifts()}
		all = append(all, s)
	}
	return all
}

// outdated tells whether imports of the account have changed.
func (w *wants) outdated() bool {
	if _, ok := w.seen[w.account]; !ok && w.account.Shifts() > 0 {
		return true // it had none before
	}
	for a, shifts := range w.seen {
		if a.Shifts() != shifts {
			return true
		}
	}
	return false
}

// move has the own members of an entry count where w says instead of where they do.
func (t *Table) move(a *accounts.Account, k key, w *way) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.wants[a.Number()]
	if of == nil || of.entries[k] == nil || of.entries[k].own == 0 {
		return
	}
	e := of.entries[k]
	old := e.onward
	t.lead(e, w)
	for _, o := range e.onward {
		t.bump(o, e.own)
	}
	for _, o := range old {
		t.bump(o, -e.own)
	}
}
