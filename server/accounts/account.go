package accounts

import (
	"math"
	"sync/atomic"

	"runnel/subjects"
)

const (
	// GlobalName is the account of users that no account is configured for.
	GlobalName = "$G"
	// SystemName is the account of the server's own services and events, unless
	// another one is configured.
	SystemName = "$SYS"
)

// Nothing is the limit that allows none at all.
const Nothing = math.MinInt64

// Limits bound what the users of one account may use together. Zero or less
// means no limit, but for Nothing.
type Limits struct {
	// MaxConnections is the number of client connections at the same time.
	MaxConnections int64
	// MaxSubscriptions is the number of subscriptions of all connections.
	MaxSubscriptions int64
	// MaxPayload is the largest message, headers included, in bytes.
	MaxPayload int64
	// MaxLeafNodes is the number of leaf node connections at the same time.
	MaxLeafNodes int64
}

// Payload returns how large a message may be, in bytes, where it is most without these limits.
func (l *Limits) Payload(most int) int {
	switch {
	case l.MaxPayload == Nothing:
		return 0
	case l.MaxPayload > 0:
		return int(min(int64(most), l.MaxPayload))
	}
	return most
}

// terms is what holds for an account as a whole. It is immutable.
type terms struct {
	limits Limits
	nkey   string
	trace  *TraceConfig
	single bool // it was Put
	// What the account shares and rewrites, for people to look at.
	exports  []ExportConfig
	imports  []*wanted
	mappings []MappingConfig
}

// Traffic counts messages and bytes since the account was created.
type Traffic struct {
	// InMsgs and InBytes count what clients of the account published.
	InMsgs, InBytes atomic.Int64
	// OutMsgs and OutBytes count what was delivered to them.
	OutMsgs, OutBytes atomic.Int64
	// SlowConsumers counts connections that were cut since they read too slowly.
	SlowConsumers atomic.Int64
}

// Account is a space of subjects of its own. It is created once by a Registry and
// kept across reloads, so it may be compared by pointer. It is safe for
// concurrent use.
type Account struct {
	// Traffic is counted by the engine.
	Traffic Traffic

	name      string
	number    uint32
	shifts    atomic.Uint64
	interest  *subjects.Tree[*Subscription]
	profile   *Profile
	terms     atomic.Pointer[terms]
	crossings atomic.Pointer[Crossings]

	// connections and subscriptions are what is reserved now; connectionsTotal only
	// grows.
	connections, connectionsTotal, subscriptions atomic.Int64
}

func newAccount(name string, number uint32) *Account {
	a := &Account{name: name, number: number, interest: subjects.NewTree[*Subscription]()}
	a.profile = newProfile(a, nil)
	a.terms.Store(new(terms))
	return a
}

// Name returns the name of the account.
func (a *Account) Name() string { return a.name }

// Number tells the account from all others that its Registry has had, also from one of the same name.
func (a *Account) Number() uint32 { return a.number }

// Shifts is how often Crossings has come to say something else.
func (a *Account) Shifts() uint64 { return a.shifts.Load() }

// shift makes invalid what is remembered of the account's Crossings, which have changed.
func (a *Account) shift() {
	a.shifts.Add(1)
	a.interest.Invalidate()
}

// Interest returns the tree of the account's subscriptions.
func (a *Account) Interest() *subjects.Tree[*Subscription] { return a.interest }

// Profile returns the profile of users without configured permissions, which is
// also the one for the server's own messages. It is always the same.
func (a *Account) Profile() *Profile { return a.profile }

// Limits returns the limits in force.
func (a *Account) Limits() Limits { return a.terms.Load().limits }

// NKey returns the public key of the account, empty when it has none.
func (a *Account) NKey() string { return a.terms.Load().nkey }

// Trace says how messages with a traceparent header are traced, nil for not at all. It must not
// be changed.
func (a *Account) Trace() *TraceConfig { return a.terms.Load().trace }

// Crossings returns what leads subjects of the account elsewhere, nil for nothing: then there is
// neither a mapping, nor an import, nor an import of another account from this one.
func (a *Account) Crossings() *Crossings { return a.crossings.Load() }

// TryAddConnection reserves one connection. It returns false, and reserves
// nothing, when the account has as many as it may.
func (a *Account) TryAddConnection() bool {
	if !reserve(&a.connections, a.terms.Load().limits.MaxConnections) {
		return false
	}
	a.connectionsTotal.Add(1)
	return true
}

// RemoveConnection gives back what TryAddConnection reserved.
func (a *Account) RemoveConnection() { a.connections.Add(-1) }

// Connections returns the number of reserved connections. It is above the limit
// after a reload that lowered it.
func (a *Account) Connections() int64 { return a.connections.Load() }

// TotalConnections returns the number of connections reserved since the account
// was created.
func (a *Account) TotalConnections() int64 { return a.connectionsTotal.Load() }

// TryAddSubscription reserves one subscription. It returns false, and reserves
// nothing, when the account has as many as it may.
func (a *Account) TryAddSubscription() bool {
	return reserve(&a.subscriptions, a.terms.Load().limits.MaxSubscriptions)
}

// RemoveSubscription gives back what TryAddSubscription reserved.
func (a *Account) RemoveSubscription() { a.subscriptions.Add(-1) }

// Subscriptions returns the number of reserved subscriptions.
func (a *Account) Subscriptions() int64 { return a.subscriptions.Load() }

// unused reports whether nobody is connected to the account and nothing
// subscribes in it.
func (a *Account) unused() bool {
	return a.connections.Load() == 0 && a.subscriptions.Load() == 0 && a.interest.Len() == 0
}

// reserve adds one to counter unless that would pass limit, if there is one.
func reserve(counter *atomic.Int64, limit int64) bool {
	for {
		n := counter.Load()
		if limit == Nothing || limit > 0 && n >= limit {
			return false
		}
		if counter.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
