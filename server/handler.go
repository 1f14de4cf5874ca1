package server

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/msgtrace"
	"runnel/server/operator"
	"runnel/server/wire"
)

// nonceBytes give 15 characters of base64.
const nonceBytes = 11

// newNonce is what a client signs to prove that it has the key that it names. Each connection has its own, so
// a signature that somebody has overheard is worth nothing on another.
func newNonce() string {
	var b [nonceBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Authenticate implements engine.Handler. Why a client was refused is for the log; the client itself is told
// the same in every case, since the difference would tell which users exist.
func (s *Server) Authenticate(c *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	if o.Account != "" || o.NewAccount {
		return nil, s.rejected(c, o, "CONNECT names an account, which no server of this kind allows")
	}
	st := s.state.Load()
	proxy, err := st.proxies.of(c, o)
	if err != nil {
		return nil, s.rejectedAs(engine.ReasonProxyNotTrusted, c, o, err)
	}
	o.Proxy = proxy
	id, err := s.identify(st, c, o)
	switch {
	case errors.Is(err, accounts.ErrProxyRequired), errors.Is(err, operator.ErrProxy):
		return nil, s.rejectedAs(engine.ReasonProxyRequired, c, o, err)
	case err != nil:
		return nil, s.rejected(c, o, err.Error())
	}
	return id, nil
}

// identify finds out who a client is: by the policy, or by somebody whom the server asks.
func (s *Server) identify(st *state, c *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	if st.trusting != nil {
		return s.logIn(st, c, o)
	}
	p, cr := st.policyOf(c.Meta().Type), credentials(c, o)
	if st.callout.decides(p.Claimed(cr)) {
		return s.askCallout(st, c, o)
	}
	return p.Authenticate(cr)
}

// rejected logs and publishes that a client was refused, and returns what the client is told.
func (s *Server) rejected(c *engine.Conn, o *wire.Connect, why string) error {
	s.logger.Error("authentication error", "cid", c.ID(), "client", c.Meta().IP, "user", o.User, "error", why)
	refused, claimed := s.connection(c), credentials(c, o)
	refused.User = claimed.Display()
	s.system.AuthError(refused)
	return accounts.ErrAuthorization
}

// rejectedAs is rejected for another reason than wrong credentials. Only monitoring shows it.
func (s *Server) rejectedAs(reason engine.Reason, c *engine.Conn, o *wire.Connect, err error) error {
	_ = s.rejected(c, o, err.Error()) // the refusal takes its place
	return &engine.Refusal{Reason: reason, Text: "Authorization Violation"}
}

// policyFor is who may log in over the kind of connection that c is, as of now.
func (s *Server) policyFor(c *engine.Conn) *accounts.Policy {
	return s.state.Load().policyOf(c.Meta().Type)
}

// credentials are all that c has shown: what CONNECT says, the nonce that it was to sign, and the certificate
// of its TLS handshake.
func credentials(c *engine.Conn, o *wire.Connect) accounts.Credentials {
	m := c.Meta()
	cr := accounts.Credentials{
		Username:  o.User,
		Password:  o.Password,
		Token:     o.Token,
		NKey:      o.NKey,
		Signature: o.Signature,
		JWT:       o.JWT,
		Nonce:     m.Nonce,
		Type:      m.Type,
		Proxy:     o.Proxy,
	}
	if m.TLS != nil {
		cr.PeerCertificates = m.TLS.PeerCertificates
	}
	return cr
}

// MayBlock implements engine.Handler.
func (s *Server) MayBlock(c *engine.Conn, o *wire.Connect) bool {
	st := s.state.Load()
	p, cr := st.policyOf(c.Meta().Type), credentials(c, o)
	return st.trusting != nil || st.callout.decides(p.Claimed(cr)) || p.MayBeSlow(cr) ||
		o.ProxySignature != "" && len(st.proxies) > 0
}

// Admit implements engine.Handler: it counts the connection for its account. A client may send CONNECT again
// and so move to another account; it is counted off the old one only once the new one has room. Closed takes
// off what Admit has put on last.
func (s *Server) Admit(c *engine.Conn, id *accounts.Identity) error {
	old := c.Account()
	if old == id.Account {
		return nil
	}
	if !id.Account.TryAddConnection() {
		s.logger.Error("maximum account active connections exceeded", "cid", c.ID(), "account", id.Account.Name())
		return &engine.Refusal{
			Reason: engine.ReasonMaxAccountConnections,
			Text:   "maximum account active connections exceeded",
		}
	}
	if old != nil {
		old.RemoveConnection()
	}
	return nil
}

// Bound implements engine.Handler: a reload may have come between the check of the credentials and now. It has
// stored its policy before it looks at the connections, so either it sees this one or this sees its policy.
func (s *Server) Bound(c *engine.Conn) {
	if id := c.Identity(); loginOf(id) != nil || !id.Of(s.policyFor(c)) {
		s.revalidate(c)
	}
	s.watchExpiry(c)
}

// watchExpiry has c closed when what its user was granted ends.
func (s *Server) watchExpiry(c *engine.Conn) {
	var at time.Time
	text := userExpired
	id := c.Identity()
	if id.Grant != nil {
		at = id.Grant.Expires
	}
	if l := loginOf(id); l != nil {
		text = l.ends
	}
	s.expiry.Put(c, at, text)
	if c.Reason() != engine.ReasonNone {
		s.expiry.Remove(c) // Closed may have done so before
	}
}

// AuthRequired implements engine.Handler. With a no_auth_user it is true as well: also a client that could do
// without credentials must say something, or it is none.
func (s *Server) AuthRequired(c *engine.Conn) bool { return s.policyFor(c).Required() }

// Info implements engine.Handler. Before CONNECT it says what all clients of that listener must know; after it,
// also what the client was bound to, and the limits that hold for it there. auth_required is left out before
// CONNECT where a client may do without credentials, or client libraries would insist on some.
func (s *Server) Info(c *engine.Conn) wire.Info {
	st := s.state.Load()
	m := c.Meta()
	p := st.policyOf(m.Type)
	info := st.info
	info.ClientID, info.ClientIP, info.Nonce = c.ID(), m.IP, m.Nonce
	info.LameDuckMode = s.lameDuck.Load()
	info.AuthRequired = p.Required() && !p.AnonymousAllowed()
	s.clusterInfo(m.Type, &info)
	if m.Type == accounts.WebSocket {
		s.webInfo(st, &info)
	}
	if a := c.Account(); a != nil {
		info.AuthRequired = p.Required()
		info.RemoteAccount = a.Name()
		info.SystemAccount = a == p.System()
		limits := a.Limits()
		info.MaxPayload = limits.Payload(info.MaxPayload)
		if g := c.Identity().Grant; g != nil {
			info.MaxPayload = g.Limits.Payload(info.MaxPayload)
		}
	}
	return info
}

// traced has it published what became of a message whose way is to be told.
func (s *Server) traced(a *accounts.Account, destination string, t *msgtrace.Trace) {
	s.system.Traced(a.Name(), destination, t)
}

// Connected implements engine.Handler.
func (s *Server) Connected(c *engine.Conn) {
	s.system.Connected(s.connection(c))
}

// Closed implements engine.Handler. A client that never got as far as CONNECT was not announced, so its end is
// not either.
func (s *Server) Closed(c *engine.Conn) {
	s.expiry.Remove(c)
	if a := c.Account(); a != nil {
		a.RemoveConnection()
	}
	if c.Reason() == engine.ReasonStale {
		s.counts.stale.Add(1)
	}
	snapshot := s.remember(c, c.Reason())
	s.logger.Debug("Client connection closed: "+snapshot.Reason, "cid", c.ID())
	if c.Connected() {
		s.system.Disconnected(snapshot)
	}
}
