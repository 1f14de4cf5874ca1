package operator

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/accounts"
)

// User is a user's JWT, which its issuer has signed; whether the issuer may is for the account to say. It is immutable.
type User struct {
	token  string
	claims *jwt.UserClaims
}

// ReadUser verifies a user JWT as far as that goes without its account.
func ReadUser(token string) (*User, error) {
	if token == "" {
		return nil, ErrNoToken
	}
	c, err := decode(token, MaxUserBytes, jwt.DecodeUserClaims)
	if err != nil {
		return nil, err
	}
	if err := validate(c); err != nil {
		return nil, fmt.Errorf("user %s: %w", c.Subject, err)
	}
	return &User{token: token, claims: c}, nil
}

// Account is the public key of the account that the user claims to belong to.
func (u *User) Account() string {
	if u.claims.IssuerAccount != "" {
		return u.claims.IssuerAccount
	}
	return u.claims.Issuer
}

// CheckSentinel tells whether a token can stand in for those of clients that send none: it must be a user's, and good
// without a signature.
func CheckSentinel(token string) error {
	u, err := ReadUser(token)
	if err == nil && !u.claims.BearerToken {
		err = fmt.Errorf("%w: a bearer token is needed", ErrClaims)
	}
	return err
}

// NKey is the public key of the user.
func (u *User) NKey() string { return u.claims.Subject }

// Name is what the issuer calls the user; it may be empty.
func (u *User) Name() string { return u.claims.Name }

// Token is the JWT.
func (u *User) Token() string { return u.token }

// Issuer is the key that signed it.
func (u *User) Issuer() string { return u.claims.Issuer }

// Tags are its labels. They must not be changed.
func (u *User) Tags() []string { return u.claims.Tags }

// Client is what is known about the connection of a user.
type Client struct {
	// Nonce is what the client was to sign, and Signature what it has sent for it: base64, raw URL or standard.
	Nonce, Signature string
	// Type is the kind of connection, Standard when empty.
	Type accounts.ConnectionType
	// Address is where it comes from; the zero value is from nowhere, inside the process.
	Address netip.Addr
	// Proxied says that it came through a trusted proxy.
	Proxied bool
}

// Permit is what a user may do, as of the claims of its account.
type Permit struct {
	// Permissions are nil when nothing is restricted.
	Permissions *accounts.Permissions
	// MaxSubscriptions and MaxPayload bound the connection; -1 is no limit, 0 allows nothing.
	MaxSubscriptions, MaxPayload int64
	// ConnectionTypes are the kinds of connection allowed, all when empty.
	ConnectionTypes []accounts.ConnectionType
	// Expires is when the user must go, zero for never. The end of the account is not in it.
	Expires time.Time
	// Bearer says that the token alone is the credential.
	Bearer bool
}

// Admit decides whether a user may log in now, and as what. The account's own times are not checked.
func (a *Account) Admit(u *User, c *Client, now time.Time) (*Permit, error) {
	p, err := a.Review(u, c, now)
	if err == nil && !p.Bearer && !signed(u.NKey(), c) {
		return nil, fmt.Errorf("user %s: %w", u.NKey(), ErrSignature)
	}
	return p, err
}

// Review is Admit for a user who has proved to have the key: it tells what becomes of a connection when the claims of
// the account have changed.
func (a *Account) Review(u *User, c *Client, now time.Time) (*Permit, error) {
	p, err := a.review(u, c, now)
	if err != nil {
		return nil, fmt.Errorf("user %s of account %s: %w", u.NKey(), a.Name(), err)
	}
	return p, nil
}

func (a *Account) review(u *User, c *Client, now time.Time) (*Permit, error) {
	if u.Account() != a.Name() {
		return nil, fmt.Errorf("%w: of account %s", ErrWrongSubject, short(u.Account()))
	}
	limits, err := a.limits(u)
	if err != nil {
		return nil, err
	}
	switch {
	case limits.BearerToken && a.claims.Limits.DisallowBearer:
		return nil, ErrBearer
	case a.claims.IsClaimRevoked(u.claims):
		return nil, ErrRevoked
	}
	permit, err := u.permit(limits, c, now)
	if err == nil && permit.Permissions == nil {
		permit.Permissions = permissions(&a.claims.DefaultPermissions)
	}
	return permit, err
}

// Audience is whom the JWT is for; users who log in with theirs have none.
func (u *User) Audience() string { return u.claims.Audience }

// Permit tells what a user may do now who has no account with a JWT, only an issuer that the caller has its own reasons
// to trust. A JWT that speaks of an account beside its issuer is none of that kind.
func (u *User) Permit(c *Client, now time.Time) (*Permit, error) {
	if u.claims.IssuerAccount != "" {
		return nil, fmt.Errorf("user %s: %w: an issuer_account is named where no account has a JWT", u.NKey(), ErrUntrusted)
	}
	p, err := u.permit(&u.claims.UserPermissionLimits, c, now)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.NKey(), err)
	}
	return p, nil
}

// permit is what limits leave to the user now.
func (u *User) permit(limits *jwt.UserPermissionLimits, c *Client, now time.Time) (*Permit, error) {
	if err := inTime(&u.claims.ClaimsData, now); err != nil {
		return nil, err
	}
	if limits.ProxyRequired && !c.Proxied {
		return nil, ErrProxy
	}
	types, err := connectionTypes(limits.AllowedConnectionTypes, c.Type)
	if err != nil {
		return nil, err
	}
	if err := fromNetwork(limits.Src, c.Address); err != nil {
		return nil, err
	}
	window, err := windowEnd(limits.Times, limits.Locale, now)
	if err != nil {
		return nil, err
	}
	return &Permit{
		Permissions:      permissions(&limits.Permissions),
		MaxSubscriptions: limits.Subs,
		MaxPayload:       limits.Payload,
		ConnectionTypes:  types,
		Expires:          earlier(end(&u.claims.ClaimsData), window),
		Bearer:           limits.BearerToken,
	}, nil
}

// limits are what was said about the user: in its own JWT, or by the scope of the key that signed it, which then says
// everything.
func (a *Account) limits(u *User) (*jwt.UserPermissionLimits, error) {
	scope, err := a.signer(u.Issuer())
	if err != nil {
		return nil, err
	}
	if u.Issuer() != a.Name() && u.claims.IssuerAccount != a.Name() {
		return nil, fmt.Errorf("%w: a signing key signs for its account, which the token does not name", ErrUntrusted)
	}
	if scope == nil {
		return &u.claims.UserPermissionLimits, nil
	}
	if err := scope.ValidateScopedSigner(u.claims); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrClaims, short(err.Error()))
	}
	filled := scope.Template
	if filled.Permissions, err = a.fill(&scope.Template.Permissions, u); err != nil {
		return nil, err
	}
	return &filled, nil
}

// signed reports whether the nonce was signed with key.
func signed(key string, c *Client) bool {
	signature, err := base64.RawURLEncoding.DecodeString(c.Signature)
	if err != nil {
		signature, err = base64.StdEncoding.DecodeString(c.Signature)
	}
	if err != nil || c.Nonce == "" {
		return false
	}
	public, err := nkeys.FromPublicKey(key)
	return err == nil && public.Verify([]byte(c.Nonce), signature) == nil
}

// connectionTypes reads the kinds of connection that are allowed. Those that this server does not know allow nothing
// here.
func connectionTypes(texts []string, used accounts.ConnectionType) ([]accounts.ConnectionType, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var types []accounts.ConnectionType
	for _, text := range texts {
		if t, err := accounts.ParseConnectionType(text); err == nil {
			types = append(types, t)
		}
	}
	if used == "" {
		used = accounts.Standard
	}
	if !slices.Contains(types, used) {
		return nil, fmt.Errorf("%w: %s", ErrConnectionType, used)
	}
	return types, nil
}

// fromNetwork checks that an address is in one of the networks; none are all.
func fromNetwork(networks []string, address netip.Addr) error {
	if len(networks) == 0 {
		return nil
	}
	for _, text := range networks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("%w: %q is not a network", ErrClaims, short(text))
		}
		if prefix.Contains(address.Unmap().WithZone("")) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrAddress, address)
}

// permissions translates those of a token; nil when nothing is restricted.
func permissions(p *jwt.Permissions) *accounts.Permissions {
	if p.Pub.Empty() && p.Sub.Empty() && p.Resp == nil {
		return nil
	}
	out := &accounts.Permissions{
		Publish:   accounts.Rules{Allow: p.Pub.Allow, Deny: p.Pub.Deny},
		Subscribe: accounts.Rules{Allow: p.Sub.Allow, Deny: p.Sub.Deny},
	}
	if p.Resp != nil {
		out.Responses = &accounts.ResponsePermission{Max: p.Resp.MaxMsgs, Expires: p.Resp.Expires}
	}
	return out
}
