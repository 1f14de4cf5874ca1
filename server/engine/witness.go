package engine

import (
	"strings"

	"runnel/server/accounts"
)

// PeerSilent says of another server, by its node, whether it does not answer at the moment, though its routes may stand. As long as
// that is so, others are preferred as members of queue groups, and what has a witness is not sent there.
func (e *Engine) PeerSilent(node string, silent bool) {
	if e.routing == nil {
		return
	}
	for _, r := range *e.routing.routes.Load() {
		if r.link.Peer.Node == node {
			r.silent.Store(silent)
		}
	}
}

// Keep tells that a witness has taken a message, which counts as delivered then. Only its handler may call it, on a message that
// is no clone.
func (m *Message) Keep() { m.worker.far.kept = true }

// watched is how all subjects begin that may have a witness.
const watched = "$JS."

// watch finds out whether the messages of e, on subject in account a, have a witness.
func (x *routing) watch(e *entry, a *accounts.Account, subject string) {
	if handler := x.witness(a, subject); handler != nil {
		e.extend().witness = &Internal{engine: x.engine, handler: handler, account: a}
		e.flags |= entryWitnessed
	}
}

// witness is that of a subject, nil for none, and for a server alone.
func (x *routing) witness(a *accounts.Account, subject string) func(*Message) {
	if x == nil || x.cfg.Witness == nil || !strings.HasPrefix(subject, watched) {
		return nil
	}
	return x.cfg.Witness(a, subject)
}

// show hands a message to the witness of e, and returns how many have it then.
func (w *worker) show(e *entry, m Message) (delivered int) {
	m.Peer, w.far.peer, w.far.kept = w.far.peer, "", false
	w.hand(e.beyond.witness, m)
	if w.far.kept {
		m.Got++
	}
	return m.Got
}
