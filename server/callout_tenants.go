package server

import (
	"fmt"
	"slices"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/operator"
	"runnel/server/wire"
)

// everyAccount among the allowed accounts of a callout stands for all.
const everyAccount = "*"

// setCallout makes the callout of a tenant the one that its claims ask for, before these are in force. changing is held.
func (t *tenants) setCallout(one *tenant, claims *operator.Account) {
	external := claims.Callout()
	if external == nil {
		t.dropCallout(one)
		return
	}
	c := &conf.AuthCallout{
		Issuer: claims.Name(), Account: claims.Name(),
		AuthUsers: external.AuthUsers, AllowedAccounts: external.AllowedAccounts, XKey: external.XKey,
	}
	trusts := func(issuer, account string) bool {
		return one.claims.Load().Trusts(issuer) && (account == "" || account == c.Account)
	}
	old := one.callout.Load()
	v := t.server.vouching(c, one.account, old, trusts)
	if v != old {
		one.callout.Store(v)
		old.close()
		t.server.dismiss(old)
	}
}

// dropCallout ends the callout of a tenant, if it has one.
func (t *tenants) dropCallout(one *tenant) {
	if old := one.callout.Swap(nil); old != nil {
		old.close()
		t.server.dismiss(old)
	}
}

// dismiss closes the connections of users whom a callout has brought that is no more.
func (s *Server) dismiss(old *vouching) {
	if old == nil {
		return
	}
	for _, c := range s.engine.Conns() {
		if l := loginOf(c.Identity()); l != nil && l.by == old {
			c.Close(engine.ReasonAuthFailure, "Authorization Violation")
		}
	}
}

// stands tells whether who has let a user of a tenant in does so still: the callout that has brought it, or none for
// one who came alone.
func (t *tenants) stands(one *tenant, l *login) bool {
	if l.by == nil {
		return !one.callout.Load().decides(l.user.NKey())
	}
	by := t.known(l.by.account.Name())
	return by != nil && by.callout.Load() == l.by
}

// askTenant has the service of a tenant decide about a client, which has proved to be its user u: most often one that
// may do nothing, and brings the credentials that the service looks at. The service answers with a user that the
// account has signed in which the client shall be.
func (s *Server) askTenant(st *state, c *engine.Conn, o *wire.Connect, u *operator.User, v *vouching) (*accounts.Identity, error) {
	shown := *o
	shown.JWT = u.Token()
	cr := credentials(c, o)
	q := questionOf(c, &shown, cr.Display())
	q.Label, q.Tags = u.Name(), u.Tags()
	brought, err := s.ask(v, c, q)
	if err != nil {
		return nil, err
	}
	g, err := s.brought(st, c, o, brought, v)
	if err != nil {
		return nil, fmt.Errorf("auth callout: %w", err)
	}
	return st.policy.Vouch(g, c.Meta().Type)
}

// brought is what a user may do that a callout has answered with.
func (s *Server) brought(st *state, c *engine.Conn, o *wire.Connect, u *operator.User, v *vouching) (*accounts.Grant, error) {
	allowed := v.conf.AllowedAccounts
	if name := u.Account(); name != v.conf.Account && !slices.Contains(allowed, name) && !slices.Contains(allowed, everyAccount) {
		return nil, fmt.Errorf("account %.64q is not among those that the service may place users in", name)
	}
	t, err := s.tenantOf(st, c, u.Account())
	if err != nil {
		return nil, err
	}
	l := &login{user: u, client: client(c, o), claims: t.claims.Load(), proxy: o.Proxy, by: v}
	permit, err := l.claims.Review(u, l.client, time.Now())
	if err != nil {
		return nil, err
	}
	g := l.grant(t.account, permit)
	if g.Username == "" {
		g.Username = o.User
	}
	return g, nil
}
