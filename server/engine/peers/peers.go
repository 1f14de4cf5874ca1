// Package peers keeps what other servers want to be sent, as they tell on their routes: as subscriptions in the trees of
// the accounts that they are about. Accounts that are not in use here are kept by name until they are.
package peers

import (
	"errors"
	"sync"

	"runnel/server/accounts"
	"runnel/subjects"
)

const (
	// waitingMost bounds, in bytes, the interest of one route in accounts that are not in use here. What is dropped beyond
	// is asked for again when the account is.
	waitingMost = 32 << 20
	// accountsMost bounds the accounts of one route, nameMost their names.
	accountsMost = 1 << 20
	nameMost     = 1 << 10
	entryBytes   = 256 // about what an entry takes besides its texts
)

// Errors refuse an account.
var (
	// ErrTooMany: beyond what one route may have.
	ErrTooMany = errors.New("the other server has interest in too many accounts")
	// ErrName: no account has such a name.
	ErrName = errors.New("the other server has interest in an account with too long a name")
)

// Remote is one account on one route. It owns the plain subscriptions that stand for the other server.
type Remote struct {
	// Subscriber is the route.
	accounts.Subscriber
	// Number is the other server's of the account.
	Number uint32

	name string
	// What follows is guarded by the set's lock.
	account    *accounts.Account // nil when it is not in use here
	entries    map[key]*accounts.Subscription
	incomplete bool // something was dropped
}

// Group owns the subscription that stands for the members of a queue group on the other server.
type Group struct {
	*Remote
	// Weight is how many members there are.
	Weight int
}

type key struct{ subject, queue string }

// Set is what one route was told. It is made by New and safe for concurrent use.
type Set struct {
	route accounts.Subscriber
	may   func(pattern string) bool
	find  func(name string) *accounts.Account

	// mu guards what follows. Trees of interest are locked while it is held, and find is called, which locks for itself.
	mu      sync.Mutex
	remotes map[uint32]*Remote
	names   map[string]*Remote // the same by name
	waiting int                // bytes of interest in accounts that are not in use here
	count   int                // of entries
	closed  bool
}

// New returns the set of a route. may tells which patterns the other server may be sent, find returns the account of a
// name if it is in use here.
func New(route accounts.Subscriber, may func(pattern string) bool, find func(name string) *accounts.Account) *Set {
	return &Set{route: route, may: may, find: find, remotes: make(map[uint32]*Remote), names: make(map[string]*Remote)}
}

// Define takes over what the other server calls an account.
func (s *Set) Define(number uint32, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	switch {
	case len(name) > nameMost:
		return ErrName
	case len(s.remotes) >= accountsMost:
		return ErrTooMany
	}
	for _, old := range [...]*Remote{s.remotes[number], s.names[name]} {
		if old != nil {
			s.drop(old)
		}
	}
	r := &Remote{Subscriber: s.route, Number: number, name: name, account: s.find(name)}
	s.remotes[number], s.names[name] = r, r
	return nil
}

// Tell takes over that the other server wants to be sent a subject, for a queue group of that weight or for itself; with
// weight 0 not any more. An account that was not defined is left out.
func (s *Set) Tell(number uint32, subject, queue string, weight int) {
	if !subjects.ValidPattern(subject) || !s.may(subject) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.remotes[number]
	if r == nil {
		return
	}
	old := r.entries[key{subject, queue}]
	if weight > 0 {
		s.insert(r, subject, queue, weight)
	}
	if old != nil {
		s.remove(r, old, weight == 0)
	}
}

// insert adds an entry. mu is held.
func (s *Set) insert(r *Remote, subject, queue string, weight int) {
	var owner accounts.Subscriber = r
	if queue != "" {
		owner = &Group{r, weight}
	}
	sub := accounts.NewSubscription(owner, subject, queue, "")
	if r.entries == nil {
		r.entries = make(map[key]*accounts.Subscription)
	}
	r.entries[key{subject, queue}] = sub
	s.count++
	if r.account != nil {
		r.account.Interest().Insert(&sub.Entry)
		return
	}
	if s.waiting += entrySize(sub); s.waiting > waitingMost {
		s.empty(r)
		r.incomplete = true
	}
}

// remove takes sub out of where it counts; forget says that no other has taken its place in the entries. mu is held.
func (s *Set) remove(r *Remote, sub *accounts.Subscription, forget bool) {
	if forget {
		delete(r.entries, key{sub.Subject, sub.Queue})
	}
	s.count--
	sub.Close()
	if r.account != nil {
		r.account.Interest().Remove(&sub.Entry)
		return
	}
	s.waiting -= entrySize(sub)
}

func entrySize(sub *accounts.Subscription) int {
	return entryBytes + len(sub.Subject) + len(sub.Queue)
}

// empty removes all entries of r. mu is held.
func (s *Set) empty(r *Remote) {
	for _, sub := range r.entries {
		s.remove(r, sub, false)
	}
	r.entries = nil
}

// drop forgets r. mu is held.
func (s *Set) drop(r *Remote) {
	s.empty(r)
	delete(s.remotes, r.Number)
	delete(s.names, r.name)
}

// Forget takes over that the other server has no interest in an account any more.
func (s *Set) Forget(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.remotes[number]; r != nil {
		s.drop(r)
	}
}

// Leave forgets the account with that name: the other server tells about it on another route from now on.
func (s *Set) Leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.names[name]; r != nil {
		s.drop(r)
	}
}

// Settle moves what is about the account of that name, which may have come or gone, to where it belongs. It tells whether the
// other server has to tell everything about it again, and which number it has there.
func (s *Set) Settle(name string) (number uint32, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.names[name]; r != nil {
		return r.Number, s.settle(r)
	}
	return 0, false
}

// SettleAll is Settle for all accounts; it returns the numbers of those that are to be told again.
func (s *Set) SettleAll() (again []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.remotes {
		if s.settle(r) {
			again = append(again, r.Number)
		}
	}
	return again
}

func (s *Set) settle(r *Remote) (again bool) {
	if a := s.find(r.name); a != r.account {
		s.move(r, a)
	}
	again = r.account != nil && r.incomplete
	r.incomplete = r.incomplete && !again
	return again
}

// move makes r one of account a. mu is held.
func (s *Set) move(r *Remote, a *accounts.Account) {
	entries := r.entries
	s.empty(r)
	r.account = a
	for _, sub := range entries {
		weight := 1
		if g, ok := sub.Owner.(*Group); ok {
			weight = g.Weight
		}
		if r.incomplete {
			return
		}
		s.insert(r, sub.Subject, sub.Queue, weight)
	}
}

// Close forgets everything, and whatever comes. A second time it does nothing.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.remotes {
		s.drop(r)
	}
}

// Len is how many entries there are.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Entry is what the other server wants to be sent.
type Entry struct {
	Account, Subject, Queue string
	// Weight is how many members the queue group has there; 1 without one.
	Weight int
}

// Entries returns all of them in no particular order.
func (s *Set) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Entry, 0, s.count)
	for _, r := range s.remotes {
		for k, sub := range r.entries {
			e := Entry{Account: r.name, Subject: k.subject, Queue: k.queue, Weight: 1}
			if g, ok := sub.Owner.(*Group); ok {
				e.Weight = g.Weight
			}
			all = append(all, e)
		}
	}
	return all
}
