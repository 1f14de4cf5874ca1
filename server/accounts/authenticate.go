package accounts

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/nats-io/nkeys"
)

// ErrAuthorization is in every error of Authenticate. What it is wrapped in tells
// the reason for the log, without a secret; the client is not told.
var ErrAuthorization = errors.New("authorization violation")

// The reasons of Authenticate.
var (
	// ErrNoCredentials: none were sent, and they are required.
	ErrNoCredentials = fmt.Errorf("%w: no credentials", ErrAuthorization)
	// ErrUnknownUser: there is no such user, nkey or certificate.
	ErrUnknownUser = fmt.Errorf("%w: unknown user", ErrAuthorization)
	// ErrPassword: the user exists, its password is another.
	ErrPassword = fmt.Errorf("%w: wrong password", ErrAuthorization)
	// ErrToken: the token is another.
	ErrToken = fmt.Errorf("%w: wrong token", ErrAuthorization)
	// ErrSignature: the nonce was not signed by the nkey.
	ErrSignature = fmt.Errorf("%w: wrong signature", ErrAuthorization)
	// ErrConnectionType: the user may not use this kind of connection.
	ErrConnectionType = fmt.Errorf("%w: connection type not allowed", ErrAuthorization)
	// ErrProxyRequired: the user must come through a trusted proxy.
	ErrProxyRequired = fmt.Errorf("%w: a trusted proxy is required", ErrAuthorization)
)

// Credentials is what a client shows to log in.
type Credentials struct {
	Username, Password string
	Token              string
	// NKey is a public key, and Signature the signature of Nonce with it, in base64
	// (raw URL or standard).
	NKey, Signature string
	// JWT is ignored outside of operator mode.
	JWT string
	// Nonce is the text that the server sent in INFO.
	Nonce string
	// PeerCertificates come from the TLS handshake, which has verified them; the
	// client's own is the first.
	PeerCertificates []*x509.Certificate
	// Type is the kind of connection, Standard when empty.
	Type ConnectionType
	// Proxy is the public key of the trusted proxy that the client came through, empty
	// for none.
	Proxy string
}

// Anonymous reports whether the client sent nothing that says who it is.
func (c *Credentials) Anonymous() bool {
	return c.Username == "" && c.Password == "" && c.Token == "" && c.NKey == ""
}

// Display names the client in logs and events as it names itself, without a secret.
func (c *Credentials) Display() string {
	switch {
	case c.NKey != "":
		return c.NKey
	case c.Username != "":
		return c.Username
	case c.Token != "":
		return redacted
	}
	return ""
}

// MayBeSlow reports whether Authenticate may take more than about 50 µs for c.
func (p *Policy) MayBeSlow(c Credentials) bool {
	if len(p.nkeys) > 0 && c.NKey != "" {
		return true
	}
	return p.dummy.hash != nil && (!c.Anonymous() || p.mapCertificates && len(c.PeerCertificates) > 0)
}

// Authenticate tells who a client with these credentials is. An nkey goes before
// a certificate, a certificate before name and password, these before a token. All
// its errors are ErrAuthorization.
func (p *Policy) Authenticate(c Credentials) (*Identity, error) {
	if !p.Required() {
		return p.authenticateOpen(&c), nil
	}
	id, err := p.identify(&c)
	if err != nil {
		return nil, err
	}
	if !id.user.mayUse(c.Type) {
		return nil, fmt.Errorf("%w: user %q", ErrConnectionType, short(id.display))
	}
	if id.user.proxied && c.Proxy == "" {
		return nil, fmt.Errorf("%w: user %q", ErrProxyRequired, short(id.display))
	}
	id.policy, id.Proxy = p, c.Proxy
	return id, nil
}

// authenticateOpen lets everybody in. The names that clients claim are only shown.
func (p *Policy) authenticateOpen(c *Credentials) *Identity {
	m := byClaim
	if c.Anonymous() {
		m = byNothing
	}
	id := p.openIdentity(m, c.Type)
	id.Username, id.display, id.Proxy = c.Username, c.Display(), c.Proxy
	return id
}

// Claimed returns the name or nkey of the user that Authenticate would take c for, if the secret is right. It is empty
// where c names none.
func (p *Policy) Claimed(c Credentials) string {
	switch {
	case len(p.nkeys) > 0 && c.NKey != "":
		return c.NKey
	case p.mapCertificates && len(c.PeerCertificates) > 0:
		if u := p.mapCertificate(c.PeerCertificates[0]); u != nil {
			return u.name
		}
		return ""
	case c.Anonymous() && p.anonymous != nil:
		return cmp.Or(p.anonymous.name, p.anonymous.nkey)
	}
	return c.Username
}

func (p *Policy) identify(c *Credentials) (*Identity, error) {
	switch {
	case len(p.nkeys) > 0 && c.NKey != "":
		return p.identifyKey(c)
	case p.mapCertificates && len(c.PeerCertificates) > 0:
		return p.identifyCertificate(c)
	case c.Anonymous() && p.anonymous != nil:
		return p.anonymous.identity(byNothing, c.Type), nil
	case c.Anonymous():
		return nil, ErrNoCredentials
	case p.token != nil:
		return p.identifyToken(c)
	}
	return p.identifyPassword(c)
}

// identifyKey checks the signature first, so that an unknown key takes the same
// time as a known one.
func (p *Policy) identifyKey(c *Credentials) (*Identity, error) {
	if !validSignature(c) {
		return nil, fmt.Errorf("%w: nkey %q", ErrSignature, short(c.NKey))
	}
	u := p.nkeys[c.NKey]
	if u == nil {
		return nil, fmt.Errorf("%w: nkey %q", ErrUnknownUser, short(c.NKey))
	}
	return u.identity(byKey, c.Type), nil
}

func validSignature(c *Credentials) bool {
	signature, err := base64.RawURLEncoding.DecodeString(c.Signature)
	if err != nil {
		signature, err = base64.StdEncoding.DecodeString(c.Signature)
	}
	if err != nil || c.Nonce == "" {
		return false
	}
	key, err := nkeys.FromPublicKey(c.NKey)
	return err == nil && key.Verify([]byte(c.Nonce), signature) == nil
}

// identifyCertificate takes the user's name from the certificate, whatever name the
// client sent. A user who also has a password must send it.
func (p *Policy) identifyCertificate(c *Credentials) (*Identity, error) {
	certificate := c.PeerCertificates[0]
	u := p.mapCertificate(certificate)
	if u == nil {
		return nil, fmt.Errorf("%w: certificate %q", ErrUnknownUser, short(certificate.Subject.String()))
	}
	if !u.secret.matches(c.Password, p.key) {
		return nil, fmt.Errorf("%w: certificate of user %q", ErrPassword, short(u.name))
	}
	return u.identity(byCertificate, c.Type), nil
}

func (p *Policy) identifyToken(c *Credentials) (*Identity, error) {
	if !p.token.secret.matches(c.Token, p.key) {
		return nil, ErrToken
	}
	id := p.token.identity(byToken, c.Type)
	id.Username, id.display = c.Username, c.Display()
	return id, nil
}

// identifyPassword admits nobody without a password where certificates are mapped:
// such users are known by their certificate only. It takes the time of the most expensive secret whenever it fails:
// else the time would tell which users exist.
func (p *Policy) identifyPassword(c *Credentials) (*Identity, error) {
	u := p.users[c.Username]
	if u == nil || p.mapCertificates && u.secret.same(&p.empty) {
		p.dummy.matches(c.Password, p.key)
		return nil, fmt.Errorf("%w: user %q", ErrUnknownUser, short(c.Display()))
	}
	if !u.secret.matches(c.Password, p.key) {
		if u.secret.cost() < p.dummy.cost() {
			p.dummy.matches(c.Password, p.key)
		}
		return nil, fmt.Errorf("%w: user %q", ErrPassword, short(c.Username))
	}
	return u.identity(byPassword, c.Type), nil
}

// short cuts a text from a client to a length that suits a log line.
func short(s string) string {
	const longest = 128
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}
