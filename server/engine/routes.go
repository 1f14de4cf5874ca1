package engine

import (
	"errors"
	"fmt"
	"time"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
	"runnel/server/engine/peers"
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
	// MaxPendingBytes may wait for one route, however scarce memory is; 0 is that of Settings when the route begins.
	MaxPendingBytes int
	// Witness returns who is shown the messages that are published on a subject in an account by clients of this server, or
	// by the server itself, when all others have them; nil for nobody. It must be quick, and what it says of a subject holds as long
	// as the account is there, and whatever its last token is. Messages that have a witness are not sent to servers of which PeerSilent
	// was told.
	Witness func(a *accounts.Account, subject string) func(*Message)
	// Stray is told of a message that asks for an answer and was sent here by a server that did not know yet that nobody wants it
	// here any more; nil for nobody. It must be quick, and keep nothing.
	Stray func(a *accounts.Account, subject, reply []byte)
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
type RouteSubscription = peers.Entry

// RouteLinked takes over a link of kind [mesh.Route], which may have ended already. It and RouteUnlinked are called by one
// goroutine, the mesh's.
func (e *Engine) RouteLinked(l *mesh.Link) {
	x := e.routing
	if x == nil || l.Kind != mesh.Route || !e.enter() {
		l.CloseWith(errors.New("this server takes no routes"))
		return
	}
	defer e.running.Done()
	r := newRoute(e, l)
	if !r.Serve(l.Conn, nil, e.pollers) {
		l.CloseWith(errors.New(ReasonShutdown.String()))
		return
	}
	x.add(r)
	if r.Closing() {
		x.remove(r) // its end may have come before
		return
	}
	e.running.Go(func() { e.tellMissing(r) })
}

// RouteUnlinked forgets a link that has ended, and why.
func (e *Engine) RouteUnlinked(l *mesh.Link, reason error) {
	if e.routing == nil {
		return
	}
	if r := e.routing.of(l); r != nil {
		e.logger.Debug("route has ended", append(r.describe(), "error", reason)...)
		r.End(ReasonRouteRemoved, nil, false)
	}
}

// Routes returns the routes that are there now, oldest first.
func (e *Engine) Routes() []RouteView {
	if e.routing == nil {
		return nil
	}
	var all []RouteView
	for _, r := range *e.routing.routes.Load() {
		all = append(all, RouteView{
			ID: r.ID(), Link: r.link, Counters: r.Counters(), PendingBytes: r.PendingBytes(), LastActivity: r.LastActivity(),
			Subscriptions: r.set.Len(),
		})
	}
	return all
}

// RouteSubscriptions returns what the other server has told on the route with that id; nil when there is none.
func (e *Engine) RouteSubscriptions(id uint64) []RouteSubscription {
	if e.routing == nil {
		return nil
	}
	for _, r := range *e.routing.routes.Load() {
		if r.ID() == id {
			return r.set.Entries()
		}
	}
	return nil
}

// RouteCounters returns the traffic of all routes, also of those that are gone. It is part of what [Engine.Counters] says.
func (e *Engine) RouteCounters() Counters {
	if e.routing == nil {
		return Counters{}
	}
	return e.routing.counters()
}

// AccountUsed is to be called when an account has come into use, if that is not because a client logs in to it: what other
// servers have told about it counts from now on.
func (e *Engine) AccountUsed(a *accounts.Account) { e.settle(a) }

// AccountsChanged is to be called after any accounts have come or gone; it looks at all of them: what other servers have told about them counts
// from now on, or does not any more.
func (e *Engine) AccountsChanged() {
	if e.routing == nil {
		return
	}
	for _, r := range *e.routing.routes.Load() {
		for _, number := range r.set.SettleAll() {
			r.askAgain(number)
		}
	}
	e.refreshDemand()
}

// newRouting compiles the configuration.
func newRouting(e *Engine, cfg *RouteConfig) (*routing, error) {
	imports, err := accounts.NewBounds(cfg.Import)
	if err != nil {
		return nil, fmt.Errorf("what routes import: %w", err)
	}
	exports, err := accounts.NewBounds(cfg.Export)
	if err != nil {
		return nil, fmt.Errorf("what routes export: %w", err)
	}
	return openRouting(e, cfg, imports, exports), nil
}
