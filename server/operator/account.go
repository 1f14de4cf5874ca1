package operator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Account is an account as its JWT describes it. It is immutable, and good as long as Check says so.
type Account struct {
	token  string
	claims *jwt.AccountClaims
	strict bool // its users are signed with signing keys only
}

// ReadAccount verifies the JWT of an account, whose public key is name unless that is empty. It says nothing about
// time: see Check.
func (t *Trust) ReadAccount(token, name string, now time.Time) (*Account, error) {
	c, err := decode(token, MaxAccountBytes, jwt.DecodeAccountClaims)
	if err != nil {
		return nil, err
	}
	if name != "" && c.Subject != name {
		return nil, fmt.Errorf("%w: %s, expected %s", ErrWrongSubject, c.Subject, name)
	}
	strict, err := t.issuer(c.Issuer, now)
	if err != nil {
		return nil, err
	}
	if err := validate(c); err != nil {
		return nil, err
	}
	if err := withinLimits(c); err != nil {
		return nil, err
	}
	return &Account{token: token, claims: c, strict: strict}, nil
}

// withinLimits checks what the operator allows the account to export and to import. The claims are valid otherwise: an
// export in them may be null before.
func withinLimits(c *jwt.AccountClaims) error {
	l := &c.Limits
	switch {
	case l.Exports >= 0 && int64(len(c.Exports)) > l.Exports:
		return fmt.Errorf("%w: %d exports, the operator allows %d", ErrClaims, len(c.Exports), l.Exports)
	case l.Imports >= 0 && int64(len(c.Imports)) > l.Imports:
		return fmt.Errorf("%w: %d imports, the operator allows %d", ErrClaims, len(c.Imports), l.Imports)
	case l.WildcardExports:
		return nil
	}
	for _, e := range c.Exports {
		if e.Subject.HasWildCards() {
			return fmt.Errorf("%w: export of %q: the operator allows no wildcards", ErrClaims, short(string(e.Subject)))
		}
	}
	return nil
}

// Bootstrap is an account without a JWT, for the system account of a server that is to be told by it about all
// accounts, the system account included. Its key signs its users.
func Bootstrap(name string) (*Account, error) {
	if !nkeys.IsValidPublicAccountKey(name) {
		return nil, fmt.Errorf("%w: %q is not the public key of an account", ErrClaims, short(name))
	}
	return &Account{claims: jwt.NewAccountClaims(name)}, nil
}

// Subject returns the public key of the account that a token claims to be about, without a check of anything but the
// size: to tell who was meant in an error.
func Subject(token string) string {
	c, err := decode(token, MaxAccountBytes, jwt.DecodeAccountClaims)
	if err != nil {
		return ""
	}
	return c.Subject
}

// Name is the public key of the account, by which the server knows it.
func (a *Account) Name() string { return a.claims.Subject }

// Label is what its owner calls it; it may be empty.
func (a *Account) Label() string { return a.claims.Name }

// Token is its JWT, empty after Bootstrap.
func (a *Account) Token() string { return a.token }

// Same reports whether both were read from the same token, for an operator that asks for the same.
func (a *Account) Same(b *Account) bool {
	return a == b || a.token != "" && a.token == b.token && a.strict == b.strict
}

// Issuer is the operator key that signed it.
func (a *Account) Issuer() string { return a.claims.Issuer }

// Tags are its labels.
func (a *Account) Tags() []string { return slices.Clone(a.claims.Tags) }

// Claims are what the JWT says. They must not be changed.
func (a *Account) Claims() *jwt.AccountClaims { return a.claims }

// Expires is when the JWT ends, zero when it does not.
func (a *Account) Expires() time.Time { return end(&a.claims.ClaimsData) }

// Check tells whether the account may be used now.
func (a *Account) Check(now time.Time) error {
	if err := inTime(&a.claims.ClaimsData, now); err != nil {
		return fmt.Errorf("account %s: %w", a.Name(), err)
	}
	return nil
}

// Callout is the account's external authorization, nil when it has none.
func (a *Account) Callout() *jwt.ExternalAuthorization {
	if !a.claims.Authorization.IsEnabled() {
		return nil
	}
	return &a.claims.Authorization
}

// Trusts reports whether a key may sign what is not about users in the name of the account: its own, or a signing key
// that may sign anything.
func (a *Account) Trusts(key string) bool {
	scope, err := a.signer(key)
	return err == nil && scope == nil
}

// signer finds the key that has signed a token of the account: its own, or a signing key with its scope, which is nil
// for a key that may sign anything.
func (a *Account) signer(key string) (*jwt.UserScope, error) {
	if key == a.Name() {
		if a.strict {
			return nil, fmt.Errorf("%w: the operator wants users to be signed with signing keys only", ErrUntrusted)
		}
		return nil, nil
	}
	scope, ok := a.claims.SigningKeys.GetScope(key)
	if !ok {
		return nil, fmt.Errorf("%w: %s is no key of account %s", ErrUntrusted, short(key), a.Name())
	}
	switch scope := scope.(type) {
	case nil:
		return nil, nil
	case *jwt.UserScope:
		if scope == nil {
			return nil, nil
		}
		return scope, nil
	}
	return nil, fmt.Errorf("%w: signing key %s has a scope of an unknown kind", ErrUntrusted, key)
}

// tagged returns the values of all tags `name:value` of that name, in whatever case.
func tagged(tags []string, name string) []string {
	var values []string
	for _, tag := range tags {
		if key, value, ok := strings.Cut(tag, ":"); ok && value != "" && strings.EqualFold(key, name) {
			values = append(values, value)
		}
	}
	return values
}
