package accounts

import (
	"maps"
	"slices"
)

// Put makes an account what cfg says, or changes it, whatever the active policy is; the users of cfg
// are not looked at. It is for accounts that come and change one by one, which share subjects among
// themselves only.
//
// What is wrong in cfg is left out and returned, each error with the account and the entry. So are
// imports that their exporters do not allow now or that would close a cycle; they come into force
// when a later Put of the exporter allows for them. The interest trees of accounts whose Crossings
// change are invalidated before Put returns, and no others.
func (r *Registry) Put(cfg AccountConfig) (*Account, []error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	a := r.account(cfg.Name)
	d, errs := newDefinition(a, &cfg)
	d.terms.single = true
	a.terms.Store(&d.terms)
	before := r.single.definitions[cfg.Name]
	r.single.define(d)
	changes := make(changes)
	if before == nil || !before.mappings.same(d.mappings) {
		changes.of(a)
	}
	errs = append(errs, r.single.refresh(d, changes)...)
	r.revise(cfg.Name, changes)
	r.notePut(cfg.Name, a)
	return a, errs
}

// Drop undoes Put: nothing leads to or from the account any more. The account itself lives on while
// somebody uses it. It reports whether it had been Put.
func (r *Registry) Drop(name string) bool {
	r.changing.Lock()
	defer r.changing.Unlock()
	n := r.single
	d := n.definitions[name]
	if d == nil {
		return false
	}
	n.undefine(name)
	changes := make(changes)
	changes.of(d.account)
	n.refresh(&definition{account: d.account}, changes)
	d.account.terms.Store(new(terms))
	r.notePut(name, nil)
	r.revise(name, changes)
	r.forget(func(other string) bool { return other != name || r.active.definitions[name] != nil })
	return true
}

// revise works out again what other accounts import from one that has changed, and makes all
// changes. changing is held.
func (r *Registry) revise(name string, changes changes) {
	n := r.single
	for _, importer := range slices.Sorted(maps.Keys(n.importers[name])) {
		if importer != name {
			n.refresh(n.definitions[importer], changes)
		}
	}
	for a, c := range changes {
		n.change(a, c)
		a.crossings.Store(n.crossings[a])
		a.shift()
	}
}
