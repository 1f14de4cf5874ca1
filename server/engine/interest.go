package engine

import (
	"context"
	"sync"

	"runnel/server/accounts"
)

// announcer tells those who watch interest what has changed, on a goroutine of its own: subscriptions come and go
// under locks that a watcher must not have to think of.
type announcer struct {
	bell chan struct{} // has an element when something is due
	// mu guards what follows and all interestWatches. Nothing else is locked while it is held; it is taken with the
	// lock of an interest tree held.
	mu  sync.Mutex
	due []*interestWatch // each once
}

// interestWatch is one call of WatchInterest.
type interestWatch struct {
	changed func(bool)
	now     bool // whether there is interest
	told    bool // what changed was told last
	due     bool // is in the announcer's list, or must not get there
	ended   bool
}

// WatchInterest calls changed with whether anybody subscribed to a literal subject in account a, with a queue whether
// that queue group has members: at once, and then whenever it has changed. Changes that follow one another fast
// may be left out, the last one never. The calls come one after the other, so changed must be quick; it may use
// the engine. It is not called any more once cancel was, but for a call that is under way. Nothing happens
// to a watch whose account is removed: there is no interest any more.
func (e *Engine) WatchInterest(a *accounts.Account, subject, queue string, changed func(bool)) (cancel func()) {
	n := &e.announcer
	w := &interestWatch{changed: changed, due: true} // nothing comes before the first call
	watch := a.Interest().Watch(subject, queue, func(matched bool) { n.note(w, matched) })
	n.mu.Lock()
	w.told = w.now
	n.mu.Unlock()
	changed(w.told)
	n.mu.Lock()
	w.due = false
	n.schedule(w)
	n.mu.Unlock()
	return func() {
		a.Interest().Unwatch(watch)
		n.mu.Lock()
		defer n.mu.Unlock()
		w.ended = true
	}
}

// note takes a change. The tree is locked.
func (n *announcer) note(w *interestWatch, matched bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.now = matched
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
