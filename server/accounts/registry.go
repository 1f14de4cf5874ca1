package accounts

import (
	"crypto/rand"
	"sync"
)

// Registry keeps accounts by name, so that an account is the same before and
// after a reload. It is safe for concurrent use.
type Registry struct {
	key digestKey

	mu sync.Mutex // guards all below; nothing else is locked while it is held
	// accounts are those of the active policy, those of policies compiled since, and
	// removed ones that are still in use.
	accounts map[string]*Account
}

// NewRegistry returns a Registry without accounts.
func NewRegistry() *Registry {
	r := &Registry{accounts: make(map[string]*Account)}
	_, _ = rand.Read(r.key[:]) // it never fails
	return r
}

// account returns the account with that name, a new one when there is none.
func (r *Registry) account(name string) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.accounts[name]
	if a == nil {
		a = newAccount(name)
		r.accounts[name] = a
	}
	return a
}

// Activate makes the limits of p those of its accounts, and forgets accounts that p
// does not have once nobody uses them. It is called when p takes over, and never
// for two policies at the same time.
func (r *Registry) Activate(p *Policy) {
	for _, a := range p.accounts {
		limits := p.limits[a.name]
		a.limits.Store(&limits)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, a := range r.accounts {
		if p.byName[name] == nil && a.unused() {
			delete(r.accounts, name)
		}
	}
}
