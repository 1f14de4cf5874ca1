package accounts

import (
	"iter"
	"slices"
)

// Policy is a compiled Config: who may log in, and as what. It is immutable and
// safe for concurrent use.
type Policy struct {
	key  *digestKey
	pool *profilePool

	accounts       []*Account // sorted by name
	byName         map[string]*Account
	network        *network
	noPublish      map[string][]string
	global, system *Account // system is nil when there is none

	users map[string]*user // by name
	nkeys map[string]*user // by public key
	token *user            // whose secret is the token, nil without one
	// names has the users whose names are distinguished names, by canonical form.
	names map[string]*user
	// anonymous is whom clients without credentials become, nil when they may not
	// log in.
	anonymous *user
	// dummy is compared with the password of users that do not exist. It is the most
	// expensive secret of all, so that a failure never takes less time.
	dummy secret
	// empty is the secret of users without a password.
	empty secret

	mapCertificates, requireNonce bool

	// grantsOnly: the accounts that were Put are accounts of the policy too.
	grantsOnly bool
	registry   *Registry
}

// user is one compiled user.
type user struct {
	name    string
	nkey    string
	profile *Profile
	secret  secret
	// types are the kinds of connection allowed, all when empty.
	types []ConnectionType
	// proxied users must come through a trusted proxy.
	proxied bool
}

// mayUse reports whether the user may log in over a connection of kind t. An
// empty kind is Standard.
func (u *user) mayUse(t ConnectionType) bool { return allowed(u.types, t) }

// Required reports whether clients must be known to log in. With AnonymousAllowed
// they need no credentials even so.
func (p *Policy) Required() bool {
	return len(p.users) > 0 || len(p.nkeys) > 0 || p.token != nil || p.grantsOnly
}

// AnonymousAllowed reports whether clients may log in without credentials.
func (p *Policy) AnonymousAllowed() bool { return p.anonymous != nil || !p.Required() }

// NeedsNonce reports whether INFO must have a nonce for clients to sign.
func (p *Policy) NeedsNonce() bool { return p.requireNonce || len(p.nkeys) > 0 }

// Accounts iterates over all accounts, sorted by name.
func (p *Policy) Accounts() iter.Seq[*Account] {
	if !p.grantsOnly {
		return slices.Values(p.accounts)
	}
	return slices.Values(p.registry.with(p.byName))
}

// Account returns the account with that name, or nil.
func (p *Policy) Account(name string) *Account {
	if a := p.byName[name]; a != nil || !p.grantsOnly {
		return a
	}
	return p.registry.wasPut(name)
}

// Limits returns the limits of the account with that name, which hold once the
// policy is active.
func (p *Policy) Limits(name string) Limits {
	if d := p.network.definitions[name]; d != nil {
		return d.terms.limits
	}
	return Limits{}
}

// System returns the system account, or nil when there is none.
func (p *Policy) System() *Account { return p.system }

// Global returns the account of users that no account is configured for.
func (p *Policy) Global() *Account { return p.global }
