package engine

import (
	"context"
	"slices"
	"sync"

	"runnel/server/accounts"
	"runnel/subjects"
)

// announcer tells those who watch interest what has changed, on a goroutine of its own: subscriptions come and go
// under locks that a watcher must not have to think of.
type announcer struct {
	bell chan struct{} // has an element when something is due
	// placing is held while the places of watches are changed, before any other lock.
	placing sync.Mutex
	watches map[*interestWatch]struct{} // guarded by placing
	// mu guards what follows and all interestWatches. Nothing else is locked while it is held; it is taken with the
	// lock of an interest tree held.
	mu  sync.Mutex
	due []*interestWatch // each once
}

// interestWatch is one call of WatchInterest.
type interestWatch struct {
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

// place is a subject in one account, watched for an interestWatch.
type place struct {
	account *accounts.Account
	subject string
	stamp   subjects.Stamp // while it holds, the same accounts import the subject
	watch   *subjects.Watch
	matched bool // guarded by the announcer's mu
}

// WatchInterest calls changed with whether anybody subscribed to a literal subject in account a, or to what other
// accounts have imported it as, with a queue whether that queue group has members: at once, and then whenever it has
// changed. Changes that follow one another fast may be left out, the last one never; that imports have come or gone is
// seen at the next tick of housekeeping. The calls come one after the other, so changed must be quick; it may use
// the engine. It is not called any more once cancel was, but for a call that is under way. Nothing happens
// to a watch whose account is removed: there is no interest any more.
func (e *Engine) WatchInterest(a *accounts.Account, subject, queue string, changed func(bool)) (cancel func()) {
	n := &e.announcer
	w := &interestWatch{account: a, subject: subject, queue: queue, changed: changed, due: true} // nothing comes before the first call
	n.placing.Lock()
	n.place(w)
	n.watches[w] = struct{}{}
	n.placing.Unlock()
	n.mu.Lock()
	w.told = w.now
	n.mu.Unlock()
	changed(w.told)
	n.mu.Lock()
	w.due = false
	n.schedule(w)
	n.mu.Unlock()
	return func() { n.cancel(w) }
}

// cancel ends w.
func (n *announcer) cancel(w *interestWatch) {
	n.placing.Lock()
	defer n.placing.Unlock()
	delete(n.watches, w)
	for _, p := range w.places {
		p.account.Interest().Unwatch(p.watch)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.ended, w.places = true, nil
}

// place finds out where subscriptions count for w, and watches there what is not watched yet. placing is held.
func (n *announcer) place(w *interestWatch) {
	places := appendPlaces(nil, w.account, w.subject, 0)
	for i, p := range places {
		known := func(old *place) bool { return old.account == p.account && old.subject == p.subject }
		if j := slices.IndexFunc(w.places, known); j >= 0 {
			w.places[j].stamp = p.stamp
			places[i] = w.places[j]
			continue
		}
		p.watch = p.account.Interest().Watch(p.subject, w.queue, func(matched bool) { n.note(w, p, matched) })
	}
	for _, old := range w.places {
		if !slices.Contains(places, old) {
			old.account.Interest().Unwatch(old.watch)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w.places = places
	n.sum(w)
}

// appendPlaces appends where a message on subject in account a gets to.
func appendPlaces(places []*place, a *accounts.Account, subject string, chain int) []*place {
	same := func(p *place) bool { return p.account == a && p.subject == subject }
	if chain == chainMost || slices.ContainsFunc(places, same) {
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

// refresh looks whether imports have come or gone since the last time.
func (n *announcer) refresh() {
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
func (n *announcer) note(w *interestWatch, p *place, matched bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.matched = matched
	n.sum(w)
}

// sum finds out whether there is interest in any place. mu is held.
func (n *announcer) sum(w *interestWatch) {
	w.now = slices.ContainsFunc(w.places, func(p *place) bool { return p.matched })
	n.schedule(w)
}

// schedule has w told what it does not know. mu is held.
func (n *announcer) schedule(w *interestWatch) {
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

// run tells watchers until ctx ends.
func (n *announcer) run(ctx context.Context) {
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
func (n *announcer) take(w *interestWatch) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.due = false
	if w.ended || w.told == w.now {
		return false
	}
	w.told = w.now
	return true
}
