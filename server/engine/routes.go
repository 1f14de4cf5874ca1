package engine

import (
	"time"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
)

// RouteConfig says how an engine meets those of other servers. It must not change once it was given to the engine.
type RouteConfig struct {
	// Account returns the account with that name if it is in use here, else nil. It must neither block nor load what is
	// not: others name accounts, and as many as they like.
	Account func(name string) *accounts.Account
	// Import bounds what others may send here, Export what they are sent: subjects.
	Import, Export accounts.Rules
	// WriteDeadline is how long a route may take nothing of what waits for it; 0 is that of Settings.
	WriteDeadline time.Duration
	// MaxPendingBytes may wait for one route; 0 is that of Settings.
	MaxPendingBytes int
	// Cluster returns the name of the cluster, which services are told about the server of who asks.
	Cluster func() string
}

// RouteView is a route as monitoring shows it.
type RouteView struct {
	// ID is unique in the life of the server, among connections too.
	ID uint64
	// Link is the link below: who is at the other end, since when, pool, account, round trip, compression.
	Link *mesh.Link
	// Counters count messages to (Out) and from (In) the other server.
	Counters      Counters
	PendingBytes  int
	LastActivity  time.Time
	Subscriptions int // that the other server has told on this route
}

// RouteSubscription is what another server wants to be sent: of one subject and queue group, whoever has subscribed there.
type RouteSubscription struct {
	Account, Subject, Queue string
	// Weight is how many members the queue group has there; 1 without one.
	Weight int
}

// RouteLinked takes over a link of kind [mesh.Route], which may have ended already. It is called by the mesh's goroutine.
func (e *Engine) RouteLinked(l *mesh.Link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.links[l] = struct{}{}
}

// RouteUnlinked forgets a link that has ended.
func (e *Engine) RouteUnlinked(l *mesh.Link, _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.links, l)
}

// Routes returns the routes that are there now, in no particular order.
func (e *Engine) Routes() []RouteView {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []RouteView
	for l := range e.links {
		all = append(all, RouteView{Link: l, LastActivity: l.Start})
	}
	return all
}

// RouteSubscriptions returns what the other server has told on the route with that id; nil when there is none.
func (e *Engine) RouteSubscriptions(uint64) []RouteSubscription { return nil }

// AccountsChanged is to be called after accounts have come: what other servers have told about them counts from now on.
func (e *Engine) AccountsChanged() {}
