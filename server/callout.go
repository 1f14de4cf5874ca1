package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/callout"
	"runnel/server/engine"
	"runnel/server/operator"
	"runnel/server/wire"
)

// errSilent: a client has said something else before CONNECT, where CONNECT decides.
var errSilent = errors.New("auth callout: it must send CONNECT first")

// vouching is an auth callout as configured. It stays the same in reloads that do not change it, so that those whom it
// has vouched for may stay.
type vouching struct {
	conf    *conf.AuthCallout
	account *accounts.Account
	service *callout.Service
}

// newVouching makes the callout that o asks for, nil for none; old is the one so far, if any.
func (s *Server) newVouching(o *conf.Options, p *accounts.Policy, old *vouching) (*vouching, error) {
	c := o.Authorization.Callout
	if c == nil {
		return nil, nil
	}
	account := p.Account(calloutAccount(c))
	if account == nil {
		return nil, fmt.Errorf("auth_callout: there is no account %q", calloutAccount(c))
	}
	return s.vouching(c, account, old, func(issuer, _ string) bool { return issuer == c.Issuer }), nil
}

// vouching is old if it is the same, or a new one for a service in account a; trusts says whom it believes.
func (s *Server) vouching(c *conf.AuthCallout, a *accounts.Account, old *vouching, trusts func(issuer, account string) bool) *vouching {
	if old != nil && old.account == a && reflect.DeepEqual(old.conf, c) {
		return old
	}
	return &vouching{conf: c, account: a, service: callout.New(callout.Config{
		Bus: calloutBus{s, a}, Keys: s.keys, Server: s.calloutServer, Subject: c.Issuer, Trusts: trusts, XKey: c.XKey,
	})}
}

// calloutNow is the callout in force, nil for none.
func (s *Server) calloutNow() *vouching {
	if st := s.state.Load(); st != nil {
		return st.callout
	}
	return nil
}

// calloutAccount is where the service of c lives.
func calloutAccount(c *conf.AuthCallout) string { return cmp.Or(c.Account, accounts.GlobalName) }

// noPublish has what nobody may publish: the requests of a callout are the server's alone.
func noPublish(o *conf.Options) map[string][]string {
	c := o.Authorization.Callout
	if c == nil {
		return nil
	}
	return map[string][]string{calloutAccount(c): {callout.Subject}}
}

// decides tells whether the service is asked about a client that claims to be a user, empty for nobody.
func (v *vouching) decides(user string) bool {
	return v != nil && (user == "" || !slices.Contains(v.conf.AuthUsers, user))
}

// close ends it, for a reload and at the end of the server.
func (v *vouching) close() {
	if v != nil {
		v.service.Close()
	}
}

// calloutBus is the account that a service is asked in.
type calloutBus struct {
	s       *Server
	account *accounts.Account
}

// Publish implements callout.Bus.
func (b calloutBus) Publish(subject, reply string, header, payload []byte) int {
	return b.s.engine.Publish(b.account, subject, reply, header, payload)
}

// Subscribe implements callout.Bus.
func (b calloutBus) Subscribe(pattern string, handler func(subject, payload []byte)) (cancel func()) {
	return b.s.engine.SubscribeService(b.account, pattern, func(m *engine.Message) { handler(m.Subject, m.Payload) }).Unsubscribe
}

// Watch implements callout.Bus.
func (b calloutBus) Watch(subject string, changed func(interest bool)) (cancel func()) {
	return b.s.engine.WatchInterest(b.account, subject, "", changed)
}

// calloutServer is what a service is told about this server.
func (s *Server) calloutServer() callout.Server {
	st := s.state.Load()
	return callout.Server{
		Name: st.info.ServerName, Host: st.info.Host, ID: s.id, Version: NATSVersion, Tags: st.options.ServerTags,
	}
}

// askCallout has the service decide about a client.
func (s *Server) askCallout(st *state, c *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	q := s.question(st, c, o)
	u, err := s.ask(st.callout, c, q)
	if err != nil {
		return nil, err
	}
	g, err := st.callout.grant(st.policy, c, o, u)
	if err != nil {
		s.tellRefusal(st.callout, c, q, err)
		return nil, fmt.Errorf("auth callout: %w", err)
	}
	return st.policy.Vouch(g, c.Meta().Type)
}

// ask has a service say who a client is: a user whose JWT was made for this login. It waits, but nobody else does.
func (s *Server) ask(v *vouching, c *engine.Conn, q *callout.Question) (u *operator.User, err error) {
	if !c.MayWait() {
		return nil, errSilent
	}
	defer func() {
		if err != nil {
			s.tellRefusal(v, c, q, err)
		}
	}()
	var a *callout.Answer
	s.engine.Aside(func() {
		ctx, cancel := context.WithDeadline(s.ending, s.loginDeadline(c))
		defer cancel()
		a, err = v.service.Ask(ctx, q)
	})
	if err != nil {
		return nil, fmt.Errorf("auth callout: %w", err)
	}
	if u, err = operator.ReadUser(a.User); err != nil {
		return nil, fmt.Errorf("auth callout: %w", err)
	}
	if u.NKey() != a.Key {
		return nil, fmt.Errorf("auth callout: the user JWT is for %s, not for the user_nkey of the request", u.NKey())
	}
	return u, nil
}

// tellRefusal tells the account of a service that has not let a client in.
func (s *Server) tellRefusal(v *vouching, c *engine.Conn, q *callout.Question, why error) {
	refused := s.connection(c)
	refused.Account, refused.User, refused.Reason = v.account.Name(), q.User, why.Error()
	s.system.AuthErrorThere(refused)
}

// loginDeadline is until when it must be known who c is.
func (s *Server) loginDeadline(c *engine.Conn) time.Time {
	m := c.Meta()
	begin := m.Start
	if c.Identity() != nil {
		begin = time.Now() // it logs in again
	}
	return begin.Add(cmp.Or(m.AuthTimeout, s.engine.Settings().AuthTimeout))
}

// question is what the service is asked. A client without credentials is asked about as the no_auth_user.
func (s *Server) question(st *state, c *engine.Conn, o *wire.Connect) *callout.Question {
	m := c.Meta()
	shown := *o
	cr := credentials(c, o)
	if cr.Anonymous() {
		shown.User = st.policyOf(m.Type).Claimed(cr)
		cr.Username = shown.User
	}
	return questionOf(c, &shown, cr.Display())
}

// questionOf is what is asked about every client.
func questionOf(c *engine.Conn, o *wire.Connect, user string) *callout.Question {
	m := c.Meta()
	return &callout.Question{ID: c.ID(), Host: m.IP, Type: m.ClientType(), User: user, Nonce: m.Nonce, Connect: o, TLS: m.TLS}
}

// grant is what the user that the service has answered with may do: it must be signed by the issuer, of an account that
// the service may place users in, and good for this connection.
func (v *vouching) grant(p *accounts.Policy, c *engine.Conn, o *wire.Connect, u *operator.User) (*accounts.Grant, error) {
	if u.Issuer() != v.conf.Issuer {
		return nil, fmt.Errorf("the user JWT was issued by %s, not by the issuer", u.Issuer())
	}
	account := p.Account(u.Audience())
	if account == nil {
		return nil, fmt.Errorf("there is no account %.64q, which the audience of the user JWT names", u.Audience())
	}
	if allowed := v.conf.AllowedAccounts; len(allowed) > 0 && !slices.Contains(allowed, account.Name()) {
		return nil, fmt.Errorf("account %q is not among allowed_accounts", account.Name())
	}
	permit, err := u.Permit(client(c, o), time.Now())
	if err != nil {
		return nil, err
	}
	return &accounts.Grant{
		Account:         account,
		Permissions:     permit.Permissions,
		ConnectionTypes: permit.ConnectionTypes,
		Limits:          accounts.Limits{MaxSubscriptions: permit.MaxSubscriptions, MaxPayload: permit.MaxPayload},
		Expires:         permit.Expires,
		Username:        cmp.Or(u.Name(), o.User),
		NKey:            u.NKey(),
		Proxy:           o.Proxy,
		Issuer:          u.Issuer(),
		Tags:            u.Tags(),
		By:              v,
	}, nil
}

// client is what a user JWT asks about a connection.
func client(c *engine.Conn, o *wire.Connect) *operator.Client {
	m := c.Meta()
	out := &operator.Client{Nonce: m.Nonce, Signature: o.Signature, Type: m.Type, Proxied: o.Proxy != ""}
	if a, err := netip.ParseAddr(m.IP); err == nil {
		out.Address = a
	}
	return out
}

// stands tells whether who has let a user in does so still: the callout that has vouched, or none for who was let in
// without. Whoever asks checks the rest.
func (s *Server) stands(id *accounts.Identity) bool {
	v := s.state.Load().callout
	if id.Grant == nil {
		return !v.decides(cmp.Or(id.NKey, id.Username))
	}
	by, ok := id.Grant.By.(*vouching)
	return !ok || by == v
}
