package engine

import (
	"runnel/server/engine/demand"
	"runnel/server/engine/peers"
)

// Demand is what other servers are told, or will be.
func (e *Engine) Demand() []peers.Entry {
	var all []demand.Change
	for _, a := range e.routing.demand.Accounts() {
		all = e.routing.demand.Whole(a, all)
	}
	entries := make([]peers.Entry, 0, len(all))
	for _, c := range all {
		entries = append(entries, peers.Entry{Account: c.Account.Name(), Subject: c.Subject, Queue: c.Queue, Weight: c.Weight})
	}
	return entries
}
