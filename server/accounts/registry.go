package accounts

import (
	"cmp"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
)

// Registry keeps accounts by name, so that an account is the same before and
// after a reload. It is safe for concurrent use.
type Registry struct {
	key  digestKey
	pool profilePool

	// changing is held while what accounts share changes: by Activate, Put and Drop. It guards
	// active and single. While it is held, mu, the locks of Crossings and those of interest trees
	// may be taken, one at a time.
	changing sync.Mutex
	// active is what the accounts of the active policy share, single what those share that
	// were Put. Neither knows the accounts of the other.
	active, single *network

	mu sync.Mutex // guards all below; nothing else is locked while it is held
	// accounts are those of the active policy, those of policies compiled since, those that
	// were Put, and removed ones that are still in use.
	accounts map[string]*Account
	made     uint32 // how many there were
	// put are those that were Put.
	put map[string]*Account
}

// NewRegistry returns a Registry without accounts.
func NewRegistry() *Registry {
	r := &Registry{accounts: make(map[string]*Account), put: make(map[string]*Account), active: newNetwork(), single: newNetwork()}
	_, _ = rand.Read(r.key[:]) // it never fails
	return r
}

// account returns the account with that name, a new one when there is none.
func (r *Registry) account(name string) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.accounts[name]
	if a == nil {
		r.made++
		a = newAccount(name, r.made)
		r.accounts[name] = a
	}
	return a
}

// Account returns the account with that name, or nil.
func (r *Registry) Account(name string) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accounts[name]
}

// wasPut returns the account with that name if it was Put, else nil.
func (r *Registry) wasPut(name string) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.put[name]
}

// notePut notes that an account was Put, or with nil that it was dropped.
func (r *Registry) notePut(name string, a *Account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a == nil {
		delete(r.put, name)
		return
	}
	r.put[name] = a
}

// with returns the accounts that were Put and some others, sorted by name.
func (r *Registry) with(others map[string]*Account) []*Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.put)
	maps.Copy(all, others)
	return slices.SortedFunc(maps.Values(all), func(a, b *Account) int { return cmp.Compare(a.name, b.name) })
}

// Activate makes what p says of its accounts hold, and forgets accounts that p does not have once
// nobody uses them. Accounts that were Put stay as they are. The interest trees of accounts whose
// Crossings have changed are invalidated, and no others. It is called when p takes over.
func (r *Registry) Activate(p *Policy) {
	r.changing.Lock()
	defer r.changing.Unlock()
	for name, d := range p.network.definitions {
		if r.single.definitions[name] == nil {
			d.account.terms.Store(&d.terms)
			d.account.lead(p.network.crossings[d.account])
		}
	}
	for name, d := range r.active.definitions {
		if p.network.definitions[name] == nil && r.single.definitions[name] == nil {
			d.account.terms.Store(new(terms))
			d.account.lead(nil)
		}
	}
	r.active = p.network
	r.forget(func(name string) bool { return p.byName[name] != nil })
}

// lead makes x what leads subjects of the account elsewhere, unless it does so already.
func (a *Account) lead(x *Crossings) {
	if !a.crossings.Load().same(x) {
		a.crossings.Store(x)
		a.shift()
	}
}

// forget forgets accounts that nobody uses, but for those that were Put and those to keep.
func (r *Registry) forget(keep func(name string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, a := range r.accounts {
		if !keep(name) && r.single.definitions[name] == nil && a.unused() {
			delete(r.accounts, name)
		}
	}
}
