package accounts

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"
)

// Grant is what somebody outside of the policy says a user may do, such as an auth callout service. It must not
// change once it was given away.
type Grant struct {
	// Account is an account of the policy, or one that was Put.
	Account *Account
	// Permissions are nil when nothing is restricted.
	Permissions *Permissions
	// NoPublish are subjects that the user may not publish to, whatever its permissions say; see Config.NoPublish, which
	// holds besides.
	NoPublish []string
	// ConnectionTypes are the kinds of connection that the user may use, all when empty.
	ConnectionTypes []ConnectionType
	// Limits are those of the one connection, besides those of its account. MaxConnections does not count.
	Limits Limits
	// Expires is when the grant ends, zero when it does not. Whoever holds the connection keeps to it.
	Expires time.Time

	// Username and NKey are shown as the user, whichever is there; Username first.
	Username, NKey string
	// Proxy is the trusted proxy that the client came through, empty for none.
	Proxy string
	// Issuer is the public key that the grant was signed with, Tags what its issuer labelled it with: to be shown.
	Issuer string
	Tags   []string
	// By is whoever vouches, for the caller to know whether the grant stands still.
	By any
}

// Vouch returns the identity of a user who has a grant. An error, which is ErrAuthorization, says that the account is
// none of these, that the permissions make no sense, or that the user may not use this kind of connection.
func (p *Policy) Vouch(g *Grant, t ConnectionType) (*Identity, error) {
	if g.Account == nil || p.byName[g.Account.name] != g.Account && !g.Account.terms.Load().single {
		return nil, fmt.Errorf("%w: no such account", ErrAuthorization)
	}
	if err := g.Permissions.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuthorization, err)
	}
	display := cmp.Or(g.Username, g.NKey)
	if !allowed(g.ConnectionTypes, t) {
		return nil, fmt.Errorf("%w: user %q", ErrConnectionType, short(display))
	}
	profile := g.Account.profile
	if noPublish := slices.Concat(p.noPublish[g.Account.name], g.NoPublish); g.Permissions != nil || len(noPublish) > 0 {
		profile = p.pool.profile(g.Account, g.Permissions, noPublish)
	}
	return &Identity{
		Account:  g.Account,
		Profile:  profile,
		Username: g.Username,
		NKey:     g.NKey,
		Grant:    g,
		Proxy:    g.Proxy,
		display:  display,
		kind:     t,
		method:   byGrant,
		policy:   p,
	}, nil
}

// allowed reports whether t is among types, or these are all kinds of connection since they are empty. An empty kind
// is Standard.
func allowed(types []ConnectionType, t ConnectionType) bool {
	return len(types) == 0 || slices.Contains(types, cmp.Or(t, Standard))
}

// profilePool hands out one profile for all users and grants that say the same, as long as somebody has it: what is
// worked out for one connection serves all. Its zero value is empty.
type profilePool struct {
	mu    sync.Mutex // guards what follows; nothing else is locked while it is held
	known map[profileKey]weak.Pointer[Profile]
}

// profile returns the one profile for that account and permissions.
func (pool *profilePool) profile(a *Account, permissions *Permissions, noPublish []string) *Profile {
	key := newProfileKey(a, permissions, noPublish)
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if p := pool.known[key].Value(); p != nil {
		return p
	}
	if pool.known == nil {
		pool.known = make(map[profileKey]weak.Pointer[Profile])
	}
	p := newProfile(a, permissions, noPublish...)
	pool.known[key] = weak.Make(p)
	runtime.AddCleanup(p, pool.forget, key)
	return p
}

// forget drops a profile that nobody has any more, unless there is another one by now.
func (pool *profilePool) forget(key profileKey) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.known[key].Value() == nil {
		delete(pool.known, key)
	}
}
