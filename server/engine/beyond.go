package engine

import (
	"slices"
	"unsafe"

	"runnel/server/accounts"
	"runnel/server/engine/demand"
	"runnel/server/engine/latency"
	"runnel/subjects"
)

// The bounds of how far, and in how many ways, a message goes on into other accounts.
const (
	chainMost = accounts.ChainMost
	waysMost  = accounts.WaysMost
)

// beyond is what an entry knows that is not about the subscriptions of the publisher's account.
type beyond struct {
	stamps   []subjects.Stamp  // of the entry itself, the other accounts, and the subject that a mapping led to
	mapping  *accounts.Mapping // that draws another subject for each message, or nil
	mapped   string            // what a mapping always makes of the subject, empty when there is none
	services []service         // that a message enters, as a request
	groups   []string          // what other servers call the queue groups, as far as accounts that import have them
	far      *far              // nil when no other server gets anything
	witness  *Internal         // see RouteConfig.Witness; nil for most
}

// service is a service of another account that messages enter by an import.
type service struct {
	*accounts.ServiceImport
	subject, remote string // in the account that imports, and in the one that exports
	brief           []byte // beginning of what the service is told about who asks
}

// valid is false where the entry's own stamp counts.
func (b *beyond) valid() bool {
	for i := range b.stamps {
		if !b.stamps[i].Valid() {
			return false
		}
	}
	return len(b.stamps) > 0
}

// published is the subject of a message when mappings have been applied.
func (e *entry) published(subject []byte) []byte {
	if e.beyond == nil || e.beyond.mapped == "" {
		return subject
	}
	return []byte(e.beyond.mapped)
}

// extend is what e knows besides the subscriptions of its account, from now on.
func (e *entry) extend() *beyond {
	if e.beyond == nil {
		e.beyond = new(beyond)
		e.takes(int(unsafe.Sizeof(beyond{})))
	}
	return e.beyond
}

// further is extend for what depends on more than the stamp of e.
func (e *entry) further() *beyond {
	b := e.extend()
	if len(b.stamps) == 0 {
		b.stamps = append(b.stamps, e.stamp)
		e.stamp = subjects.Stamp{} // never valid
	}
	return b
}

// stampOf notes that e depends on subject in another account, or on another subject. What is asked afterwards holds as
// long as the stamp does.
func (e *entry) stampOf(a *accounts.Account, subject string) {
	b := e.further()
	b.stamps = append(b.stamps, a.Interest().Stamp([]byte(subject)))
	e.takes(int(unsafe.Sizeof(subjects.Stamp{})))
}

// applyMapping finds out what a mapping of the account makes of the subject of e, which it returns.
func (e *entry) applyMapping(x *accounts.Crossings) string {
	m := x.Mapping(e.subject)
	if m == nil {
		return e.subject
	}
	to, fixed := m.Fixed(e.subject)
	if !fixed {
		e.further().mapping = m
		e.flags |= entryDrawn
		return e.subject
	}
	if to != e.subject {
		e.stampOf(e.profile.Account(), to)
		e.beyond.mapped = to
		e.takes(len(to))
	}
	return to
}

// cross adds to e what becomes of a message on subject in account a by imports of streams: more targets in accounts that
// import what is published in a. There it enters no service, of another account or of the server: so what accounts share can
// be told from what each lists.
func (m *matchCache) cross(e *entry, a *accounts.Account, subject string, chain int) {
	x := a.Crossings()
	if x == nil || chain == chainMost {
		return
	}
	for i := range x.Streams(subject) {
		local, ok := i.Local(subject)
		if !ok {
			continue
		}
		if m.ways[i.Account] == waysMost {
			m.tooFar(a, subject)
			continue
		}
		m.ways[i.Account]++
		e.stampOf(i.Account, local)
		groups := len(e.queues)
		m.found = slices.DeleteFunc(i.Account.Interest().Match([]byte(local), m.found[:0]), staysOut)
		e.resolve(m.found, local)
		if m.routing != nil {
			e.nameGroups(i, groups)
		}
		m.cross(e, i.Account, local, chain+1)
	}
}

// nameGroups names queue groups for other servers: those from a place on are of the account that has the import i.
func (e *entry) nameGroups(i *accounts.StreamImport, from int) {
	b := e.beyond
	for len(b.groups) < len(e.queues) {
		name := ""
		if at := len(b.groups); at >= from {
			name = demand.Group(i, e.queues[at][0].sub.Queue)
		}
		b.groups = append(b.groups, name)
		e.takes(len(name) + int(unsafe.Sizeof(name)))
	}
}

// staysOut tells whether a subscription gets nothing that imports lead to it: by it the server itself serves the account, or
// it stands for another server, which leads on what is published by itself.
func staysOut(f *subjects.Entry[*accounts.Subscription]) bool {
	i, ok := f.Value.Owner.(*Internal)
	return ok && i.serves || isRemote(f)
}

func isRemote(f *subjects.Entry[*accounts.Subscription]) bool {
	r, _ := remoteOf(f.Value)
	return r != nil
}

// enter adds to e the services that a message on subject in account a enters.
func (e *entry) enter(x *accounts.Crossings, a *accounts.Account, subject string) {
	for i := range x.Services(subject) {
		if remote, ok := i.Remote(subject); ok {
			b := e.further()
			b.services = append(b.services, service{i, subject, remote, latency.Brief(a.Name())})
			e.takes(int(unsafe.Sizeof(service{})) + len(remote) + 64)
			e.flags |= entryLeaves
		}
	}
}

// nobody tells whether e leads nowhere at all.
func (e *entry) nobody() bool {
	return len(e.plain)+len(e.queues) == 0 && e.flags&(entryLeaves|entryFar|entryWitnessed) == 0
}
