package accounts

import "cmp"

// Identity is who a client has proved to be. It is immutable.
type Identity struct {
	Account *Account
	Profile *Profile
	// Username is the name of the user. It is what the client claimed when no
	// credentials are required, and may be empty.
	Username string
	// NKey is the public key of a user that logged in with one.
	NKey string
	// Proxy is the public key of the trusted proxy that the client came through, empty
	// for none.
	Proxy string
	// Grant is what the identity follows from, nil for a user of the policy.
	Grant *Grant

	display string
	kind    ConnectionType
	method  method
	user    *user   // nil for an open login
	policy  *Policy // whose word it is
}

// method is how a client logged in.
type method int

const (
	byNothing     method = iota // neither sent nor required
	byClaim                     // sent, but not required
	byPassword                  // name and password
	byToken                     // the one token
	byKey                       // nkey and signature
	byCertificate               // TLS
	byGrant                     // somebody else vouches
)

const redacted = "[REDACTED]"

// identity returns the Identity of u.
func (u *user) identity(m method, t ConnectionType) *Identity {
	return &Identity{
		Account:  u.profile.account,
		Profile:  u.profile,
		Username: u.name,
		NKey:     u.nkey,
		display:  cmp.Or(u.nkey, u.name),
		kind:     t,
		method:   m,
		user:     u,
	}
}

// Of reports whether the identity was given by p. One that was not may be outdated: see Revalidate.
func (id *Identity) Of(p *Policy) bool { return id.policy == p }

// DisplayName names the user in logs and monitoring, without a secret: nkey, name or
// "[REDACTED]" for a token. It is empty for clients without credentials.
func (id *Identity) DisplayName() string { return id.display }

// Revalidate tells what becomes of a client that logged in under another policy of
// the same Registry. It returns its identity under p, or false when it must be
// disconnected: the user is gone, or belongs to another account, has another
// secret, or may no longer use that kind of connection. Where it is only the account
// that is another, the identity there is returned beside false: the client may log in
// again. A Grant is taken to stand:
// whether it does only the caller knows.
func (p *Policy) Revalidate(old *Identity) (*Identity, bool) {
	if old.method == byGrant {
		id, err := p.Vouch(old.Grant, old.kind)
		return id, err == nil
	}
	id := p.again(old)
	if id != nil {
		id.Proxy = old.Proxy
		if id.user != nil && id.user.proxied && id.Proxy == "" {
			return nil, false
		}
	}
	if id == nil || id.user != nil && !id.user.mayUse(old.kind) {
		return nil, false
	}
	if id.Account != old.Account {
		return id, false
	}
	id.policy = p
	return id, true
}

// again returns the identity that the login of old leads to under p, or nil.
func (p *Policy) again(old *Identity) *Identity {
	switch old.method {
	case byNothing, byClaim:
		return p.againOpen(old)
	case byPassword:
		if u := p.users[old.Username]; u != nil && u.secret.same(&old.user.secret) {
			return u.identity(byPassword, old.kind)
		}
	case byToken:
		if p.token != nil && p.token.secret.same(&old.user.secret) {
			id := p.token.identity(byToken, old.kind)
			id.Username, id.display = old.Username, old.display
			return id
		}
	case byKey:
		if u := p.nkeys[old.NKey]; u != nil {
			return u.identity(byKey, old.kind)
		}
	case byCertificate:
		u := p.users[old.Username]
		if u != nil && p.mapCertificates && u.secret.same(&old.user.secret) {
			return u.identity(byCertificate, old.kind)
		}
	}
	return nil
}

// againOpen is again for a client whose credentials were not asked for.
func (p *Policy) againOpen(old *Identity) *Identity {
	switch {
	case !p.Required():
		id := p.openIdentity(old.method, old.kind)
		if old.user == nil {
			id.Username, id.display = old.Username, old.display
		}
		return id
	case old.method == byNothing && p.anonymous != nil:
		return p.anonymous.identity(byNothing, old.kind)
	}
	return nil
}

// openIdentity returns the identity of a client when no credentials are required.
func (p *Policy) openIdentity(m method, t ConnectionType) *Identity {
	return &Identity{Account: p.global, Profile: p.global.profile, kind: t, method: m, policy: p}
}
