// Package interest watches whether anybody subscribes to a subject: in an account, and in those that import the subject
// from it.
package interest

import (
	"context"
	"slices"
	"sync"

	"runnel/server/accounts"
	"runnel/subjects"
)

// chainMost is through how many accounts a subject is followed at most.
const chainMost = accounts.ChainMost

// waysMost is under how many subjects one account is watched for a watch at most. Imports that each lead on twice would
// make 2^16 of one subject.
const waysMost = 128

// Announcer tells those who watch interest what has changed, on a goroutine of its own, which runs Run: subscriptions
// come and go under locks that a watcher must not have to think of. It is made by New and safe for concurrent use.
type Announcer struct {
	bell chan struct{} // has an element when something is due
	// placing is held while the places of watches are changed, before any other lock.
	placing sync.Mutex
	watches map[*watch]struct{} // guarded by placing
	// mu guards what follows and what is in the watches. Nothing else is locked while it is held; it is taken with the
	// lock of an interest tree held.
	mu  sync.Mutex
	due []*watch // each once
}

// watch is one call of Watch.
type watch struct {
	account        *accounts.Account
	subject, queue string
	changed        func(bool)
	// places is where a subscription counts: in the account, and in those that import the subject from it, one after
	// the other. Changed with placing held, too.
	places []*place
	now    bool // whether there is interest
	told   bool // what changed was told last
	due    bool // is in the announcer's list, or must not get there
	ended  bool
}

// place is a subject in one account, watched for a watch.
type place struct {
	account *accounts.Account
	subject string
	stamp   subjects.Stamp // while it holds, the same accounts import the subject
	watched *subjects.Watch
	matched bool // guarded by the announcer's mu
}

// New returns an Announcer without watches.
func New() *Announcer {
	return &Announcer{bell: make(chan struct{}, 1), watches: make(map[*watch]struct{})}
}

// Watch calls changed with whether anybody subscribed to a literal subject in account a, or to what other accounts have
// imported it as, with a queue whether that queue group has members: at once, and then whenever it has changed. Changes
// that follow one another fast may be left out, the last one never; that imports have come or gone is seen by Refresh.
// The calls come one after the other, so changed must be quick. It is not called any more once cancel was, but for a
// call that is under way. Nothing happens to a watch whose account is removed: there is no interest any more.
func (n *Announcer) Watch(a *accounts.Account, subject, queue string, changed func(bool)) (cancel func()) {
	w := &watch{account: a, subject: subject, queue: queue, changed: changed, due: true} // nothing comes before the first call
	n.begin(w)
	changed(w.told)
	n.mu.Lock()
	defer n.mu.Unlock()
	w.due = false
	n.schedule(w)
	return func() { n.cancel(w) }
}

// begin finds out what w is told first.
func (n *Announcer) begin(w *watch) {
	n.placing.Lock()
	defer n.placing.Unlock()
	n.place(w)
	n.watches[w] = struct{}{}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.told = w.now
}

// cancel ends w.
func (n *Announcer) cancel(w *watch) {
	n.placing.Lock()
	defer n.placing.Unlock()
	delete(n.watches, w)
	for _, p := range w.places {
		p.account.Interest().Unwatch(p.watched)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.ended, w.places = true, nil
}

// place finds out where subscriptions count for w, and watches there what is not watched yet. placing is held.
func (n *Announcer) place(w *watch) {
	places := appendPlaces(nil, w.account, w.subject, 0)
	for i, p := range places {
		known := func(old *place) bool { return old.account == p.account && old.subject == p.subject }
		if j := slices.IndexFunc(w.places, known); j >= 0 {
			w.places[j].stamp = p.stamp
			places[i] = w.places[j]
			continue
		}
		p.watched = p.account.Interest().Watch(p.subject, w.queue, func(matched bool) { n.note(w, p, matched) })
	}
	for _, old := range w.places {
		if !slices.Contains(places, old) {
			old.account.Interest().Unwatch(old.watched)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.places = places
	n.sum(w)
}

// appendPlaces appends where a message on subject in account a gets to.
func appendPlaces(places []*place, a *accounts.Account, subject string, chain int) []*place {
	ways := 0
	for _, p := range places {
		if p.account == a {
			ways++
			if p.subject == subject || ways == waysMost {
				return places
			}
		}
	}
	if chain == chainMost {
		return places
	}
	places = append(places, &place{account: a, subject: subject, stamp: a.Interest().Stamp([]byte(subject))})
	if x := a.Crossings(); x != nil {
		for i := range x.Streams(subject) {
			if local, ok := i.Local(subject); ok {
				places = appendPlaces(places, i.Account, local, chain+1)
			}
		}
	}
	return places
}

// Refresh looks whether imports have come or gone since the last time.
func (n *Announcer) Refresh() {
	n.placing.Lock()
	defer n.placing.Unlock()
	for w := range n.watches {
		if len(w.places) == 1 && w.account.Crossings() == nil {
			continue
		}
		if slices.ContainsFunc(w.places, func(p *place) bool { return !p.stamp.Valid() }) {
			n.place(w)
		}
	}
}

// note takes a change. The tree is locked.
func (n *Announcer) note(w *watch, p *place, matched bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.matched = matched
	n.sum(w)
}

// sum finds out whether there is interest in any place. mu is held.
func (n *Announcer) sum(w *watch) {
	w.now = slices.ContainsFunc(w.places, func(p *place) bool { return p.matched })
	n.schedule(w)
}

// schedule has w told what it does not know. mu is held.
func (n *Announcer) schedule(w *watch) {
	if w.due || w.now == w.told {
		return
	}
	w.due = true
	n.due = append(n.due, w)
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

// Run tells watchers until ctx ends.
func (n *Announcer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.bell:
		}
		n.mu.Lock()
		due := n.due
		n.due = nil
		n.mu.Unlock()
		for _, w := range due {
			if n.take(w) {
				w.changed(w.told)
			}
		}
	}
}

// take tells whether w has something to learn still, which is what told then says.
func (n *Announcer) take(w *watch) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.due = false
	if w.ended || w.told == w.now {
		return false
	}
	w.told = w.now
	return true
}
