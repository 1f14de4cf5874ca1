package accounts

import (
	"slices"

	"runnel/subjects"
)

// changes is what is to change in the crossings of accounts, each in one step.
type changes map[*Account]*change

// change is what is to change in the crossings of one account.
type change struct {
	gone, come []*passage // out of the account, and streams into it
}

// of returns the change of an account, one of nothing at first.
func (c changes) of(a *Account) *change {
	if c[a] == nil {
		c[a] = new(change)
	}
	return c[a]
}

// add notes that p begins, where it leaves and where its arrival counts.
func (c changes) add(p *passage) {
	for _, a := range p.concerned() {
		c.of(a).come = append(c.of(a).come, p)
	}
}

// remove notes that p ends.
func (c changes) remove(p *passage) {
	for _, a := range p.concerned() {
		c.of(a).gone = append(c.of(a).gone, p)
	}
}

// concerned returns the accounts whose crossings have p.
func (p *passage) concerned() []*Account {
	if p.kind == serviceKind || p.exporter == p.importer {
		return []*Account{p.importer}
	}
	return []*Account{p.exporter, p.importer}
}

// change makes one change to the crossings of a, which get the mappings of its definition.
func (n *network) change(a *Account, c *change) {
	x := n.crossings[a]
	if x == nil {
		x = new(Crossings)
		n.crossings[a] = x
	}
	var m *mappings
	if d := n.definitions[a.name]; d != nil {
		m = d.mappings
	}
	if x.apply(a, c, m) {
		delete(n.crossings, a)
	}
}

// apply makes a change in one step, and reports whether nothing is left then.
func (x *Crossings) apply(a *Account, c *change, m *mappings) (empty bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mappings = m
	for _, p := range c.gone {
		x.put(a, p, false)
	}
	for _, p := range c.come {
		x.put(a, p, true)
	}
	return x.mappings == nil && x.services.Len()+x.streams.Len()+x.sources.Len() == 0
}

// put adds or removes what p is to account a.
func (x *Crossings) put(a *Account, p *passage, add bool) {
	if p.kind == serviceKind {
		put(&x.services, p.local, p.service, add)
		return
	}
	if a == p.exporter {
		put(&x.streams, p.remote, p.stream, add)
	}
	if a == p.importer {
		put(&x.sources, p.local, p.stream, add)
	}
}

// put adds v to a table or removes it.
func put[V comparable](table *subjects.Patterns[V], pattern string, v V, add bool) {
	if add {
		table.Add(pattern, v)
	} else {
		table.Remove(pattern, v)
	}
}

// same reports whether x and other, either of which may be nil, lead the same subjects to the same
// places.
func (x *Crossings) same(other *Crossings) bool {
	if x == nil || other == nil {
		return x == other
	}
	one, another := x.links(), other.links()
	if len(one) != len(another) || !x.mappings.same(other.mappings) {
		return false
	}
	for l := range one {
		if !another[l] {
			return false
		}
	}
	return true
}

// links returns all that x has to do with.
func (x *Crossings) links() map[link]bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make(map[link]bool)
	for i := range x.services.Overlapping(">") {
		all[i.link] = true
	}
	for i := range x.streams.Overlapping(">") {
		all[i.link] = true
	}
	for i := range x.sources.Overlapping(">") {
		all[i.link] = true
	}
	return all
}

// same reports whether both, either of which may be nil, were configured alike.
func (x *mappings) same(other *mappings) bool {
	if x == nil || other == nil {
		return x == other
	}
	return slices.EqualFunc(x.config, other.config, func(a, b MappingConfig) bool {
		return a.Source == b.Source && slices.Equal(a.Destinations, b.Destinations)
	})
}
