package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/callout"
	"runnel/server/engine"
	"runnel/server/operator"
	"runnel/server/wire"
)

const (
	userExpired    = "User Authentication Expired"
	userRevoked    = "User Authentication Revoked"
	accountExpired = "Account Authentication Expired"
)

// trusting is what operator mode follows from: whom the server trusts, and what the configuration asks for besides. It
// is immutable.
type trusting struct {
	trust    *operator.Trust
	system   string          // the system account, empty for none
	pinned   map[string]bool // the accounts whose users may log in; nil for all
	sentinel string          // the JWT of clients that send none
}

// newTrusting reads the operators that o names; nil when the server is not in operator mode.
func newTrusting(o *conf.Options) (*trusting, error) {
	if !o.Operator.Enabled() {
		return nil, nil
	}
	var tokens []string
	for i, text := range o.Operator.Operators {
		token, err := operatorToken(text)
		if err != nil {
			return nil, fmt.Errorf("operator %d: %w", i+1, err)
		}
		tokens = append(tokens, token)
	}
	trust, err := operator.NewTrust(tokens, o.Operator.TrustedKeys, NATSVersion, time.Now())
	if err != nil {
		return nil, err
	}
	t := &trusting{trust: trust, system: trust.System(), sentinel: o.Operator.DefaultSentinel}
	if err := t.refuseOthers(o); err != nil {
		return nil, err
	}
	if o.Operator.Resolver == nil && trust.AccountServer() == "" {
		return nil, errors.New("operator mode needs a resolver, or an operator that names an account server")
	}
	if t.sentinel != "" {
		if err := operator.CheckSentinel(t.sentinel); err != nil {
			return nil, fmt.Errorf("default_sentinel: %w", err)
		}
	}
	if pinned := o.Operator.ResolverPinnedAccounts; len(pinned) > 0 {
		t.pinned = map[string]bool{t.system: true}
		for _, name := range pinned {
			t.pinned[name] = true
		}
	}
	return t, nil
}

// refuseOthers checks that nothing else says who may log in, and settles which the system account is.
func (t *trusting) refuseOthers(o *conf.Options) error {
	var errs []error
	a := &o.Authorization
	if len(o.Accounts) > 0 {
		errs = append(errs, errors.New("operator mode has no accounts in the configuration: they come by JWT"))
	}
	if a.Username != "" || a.Token != "" || len(a.Users) > 0 {
		errs = append(errs, errors.New("operator mode has no users in the configuration: they come by JWT"))
	}
	if a.Callout != nil {
		errs = append(errs, errors.New("operator mode has no auth_callout in the configuration: the JWT of an account asks for it"))
	}
	if o.NoAuthUser != "" {
		errs = append(errs, errors.New("operator mode has no no_auth_user: see default_sentinel"))
	}
	switch named := o.SystemAccount; {
	case named == "" || named == t.system || named == accounts.SystemName && t.system == "":
	case t.system != "":
		errs = append(errs, fmt.Errorf("system_account %s is not the one of the operator, %s", named, t.system))
	default:
		t.system = named
	}
	if t.system != "" {
		if _, err := operator.Bootstrap(t.system); err != nil {
			errs = append(errs, fmt.Errorf("system account: %w", err))
		}
	}
	return errors.Join(errs...)
}

// follows reports whether a reload may put t in the place of another one.
func (t *trusting) follows(other *trusting) bool {
	return (t == nil) == (other == nil) && (t == nil || t.system == other.system)
}

// operatorToken is the JWT that an entry of `operator` is, or that is in the file of that name.
func operatorToken(text string) (string, error) {
	if operator.LooksLikeToken(text) {
		return text, nil
	}
	b, err := os.ReadFile(text)
	if err != nil {
		return "", fmt.Errorf("read its JWT: %w", err)
	}
	token, err := operator.Undecorated(b)
	if err != nil {
		return "", fmt.Errorf("file %s: %w", text, err)
	}
	return token, nil
}

// configure makes the policy one of operator mode.
func (t *trusting) configure(cfg *accounts.Config) {
	if t == nil {
		return
	}
	cfg.GrantsOnly = true
	if t.system != "" {
		cfg.SystemAccount = t.system
		cfg.Accounts = []accounts.AccountConfig{{Name: t.system, NKey: t.system}}
	}
}

// login is how a user got in, by which it is looked at again when the claims of its account have changed. It is
// immutable.
type login struct {
	user   *operator.User
	client *operator.Client
	claims *operator.Account // that it was judged by
	proxy  string            // the trusted proxy that it came through, empty for none
	by     *vouching         // who has put it in the place of the user that the client claimed to be; nil for nobody
	bearer bool              // whoever has the token is the user
	ends   string            // what it is told when its time is over
}

// loginOf is the login behind an identity, nil when there is none.
func loginOf(id *accounts.Identity) *login {
	if id == nil || id.Grant == nil {
		return nil
	}
	l, _ := id.Grant.By.(*login)
	return l
}

// logIn finds out who a client is in operator mode.
func (s *Server) logIn(st *state, c *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	token := o.JWT
	if token == "" {
		token = st.trusting.sentinel
	}
	u, err := operator.ReadUser(token)
	if err != nil {
		return nil, err
	}
	t, err := s.tenantOf(st, c, u.Account())
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", u.NKey(), err)
	}
	l := &login{user: u, client: client(c, o), claims: t.claims.Load(), proxy: o.Proxy}
	permit, err := l.claims.Admit(u, l.client, time.Now())
	if err != nil {
		return nil, err
	}
	if v := t.callout.Load(); v.decides(u.NKey()) {
		return s.askTenant(st, c, o, u, v)
	}
	return st.policy.Vouch(l.grant(t.account, permit), c.Meta().Type)
}

// tenantOf finds the account that a client wants to log in to. It waits for a resolver only where nobody else waits for
// the client.
func (s *Server) tenantOf(st *state, c *engine.Conn, name string) (t *tenant, err error) {
	if p := st.trusting.pinned; p != nil && !p[name] {
		s.tenants.pinnedFails.Add(1)
		return nil, fmt.Errorf("account %.64q is not among resolver_pinned_accounts", name)
	}
	if t = s.tenants.valid(name, time.Now()); t != nil {
		return t, nil
	}
	if !c.MayWait() {
		return nil, errSilent
	}
	s.engine.Aside(func() {
		ctx, cancel := context.WithDeadline(s.ending, s.loginDeadline(c))
		defer cancel()
		if t, err = s.tenants.find(ctx, name); err == nil {
			s.awaitServed(ctx, t)
		}
	})
	return t, err
}

// grant is what a permit makes of a user of the account.
func (l *login) grant(a *accounts.Account, p *operator.Permit) *accounts.Grant {
	l.ends, l.bearer = userExpired, p.Bearer
	expires := p.Expires
	if end := l.claims.Expires(); !end.IsZero() && (expires.IsZero() || end.Before(expires)) {
		expires, l.ends = end, accountExpired
	}
	g := &accounts.Grant{
		Account:         a,
		Permissions:     p.Permissions,
		ConnectionTypes: p.ConnectionTypes,
		Limits: accounts.Limits{
			MaxSubscriptions: operator.Bound(p.MaxSubscriptions),
			MaxPayload:       operator.Bound(p.MaxPayload),
		},
		Expires: expires,
		NKey:    l.user.NKey(),
		Proxy:   l.proxy,
		Issuer:  l.user.Issuer(),
		Tags:    slices.Clone(l.user.Tags()),
		By:      l,
	}
	if l.by != nil {
		g.Username = l.user.Name()
	}
	if l.claims.Callout() != nil {
		g.NoPublish = []string{callout.Subject} // its requests are the server's alone
	}
	return g
}

// renewed is what becomes of a user who has logged in by JWT: the identity now, which is old if nothing has changed, or
// the reason to close the connection and what to tell it.
func (s *Server) renewed(old *accounts.Identity, l *login) (id *accounts.Identity, reason engine.Reason, text string) {
	t := s.tenants.valid(old.Account.Name(), time.Now())
	if t == nil || t.account != old.Account {
		return nil, engine.ReasonAuthExpired, accountExpired
	}
	if !s.tenants.stands(t, l) {
		return nil, engine.ReasonAuthFailure, "Authorization Violation"
	}
	st := s.state.Load()
	claims := t.claims.Load()
	if claims == l.claims && old.Of(st.policy) {
		return old, engine.ReasonNone, ""
	}
	again := &login{user: l.user, client: l.client, claims: claims, proxy: l.proxy, by: l.by}
	permit, err := claims.Review(l.user, l.client, time.Now())
	if err == nil {
		id, err = st.policy.Vouch(again.grant(t.account, permit), l.client.Type)
	}
	switch {
	case err == nil:
		return id, engine.ReasonNone, ""
	case errors.Is(err, operator.ErrRevoked):
		reason, text = engine.ReasonRevoked, userRevoked
	case errors.Is(err, operator.ErrExpired), errors.Is(err, operator.ErrTimeOfDay):
		reason, text = engine.ReasonAuthExpired, userExpired
	default:
		reason, text = engine.ReasonAuthFailure, "Authorization Violation"
	}
	s.logger.Info("user is disconnected, since the claims of its account have changed", "error", err)
	return nil, reason, text
}
