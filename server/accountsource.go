package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/allowance"
	"runnel/server/engine"
	"runnel/server/handshake"
	"runnel/server/jetstream"
	"runnel/server/operator"
	"runnel/server/operator/requests"
	"runnel/server/operator/resolver"
)

// openTenants begins operator mode, if o asks for it: the resolver is there, the system account in use.
func (s *Server) openTenants(o *conf.Options) error {
	st := s.state.Load()
	if st.trusting == nil {
		return nil
	}
	s.tenants = newTenants(s)
	src, err := s.newAccountSource(o, st.trusting)
	if err != nil {
		return err
	}
	s.tenants.source.Store(src)
	for _, c := range st.trusting.trust.Claims() {
		s.logger.Info("trusted operator", "name", c.Name, "key", c.Subject, "expires", expiryShown(c.Expires))
	}
	if st.trusting.system == "" {
		s.logger.Warn("no operator names a system account: nobody can see events, and account JWTs cannot be pushed")
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ending, startTimeout)
	defer cancel()
	_, err = s.tenants.find(ctx, st.trusting.system)
	if errors.Is(err, resolver.ErrNotFound) && src.Directory() != nil {
		s.logger.Warn("the system account has no JWT yet: users signed with its own key may push one", "account", st.trusting.system)
		var bare *operator.Account
		if bare, err = operator.Bootstrap(st.trusting.system); err == nil {
			s.tenants.changeRead([]*operator.Account{bare}, s.tenants.pushes.Load(), false)
		}
	}
	if err != nil {
		return fmt.Errorf("system account %s: %w", st.trusting.system, err)
	}
	s.tenants.requests = requests.New(systemBus{s}, s.tenants, s.logger)
	s.tenants.requests.Subscribe()
	s.running.Go(func() { s.tenants.requests.Run(s.ending) })
	s.running.Go(func() { s.tenants.requests.Synchronise(s.ending, s.accountsInterval) })
	return nil
}

// accountsInterval is how often the account JWTs of all servers are compared.
func (s *Server) accountsInterval() time.Duration {
	if r := s.state.Load().options.Operator.Resolver; r != nil && r.Interval > 0 {
		return r.Interval
	}
	return requests.DefaultInterval
}

// systemBus is the system account, for requests about accounts. Without one nobody hears and is heard.
type systemBus struct{ s *Server }

func (b systemBus) account() *accounts.Account { return b.s.state.Load().policy.System() }

// Publish implements requests.Bus.
func (b systemBus) Publish(subject, reply string, payload []byte) int {
	a := b.account()
	if a == nil {
		return 0
	}
	return b.s.engine.Publish(a, subject, reply, nil, payload)
}

// Subscribe implements requests.Bus.
func (b systemBus) Subscribe(pattern string, handler func(subject, reply string, payload []byte)) (cancel func()) {
	a := b.account()
	if a == nil {
		return func() {}
	}
	return b.s.engine.SubscribeService(a, pattern, func(m *engine.Message) {
		handler(string(m.Subject), string(m.Reply), bytes.Clone(m.Payload))
	}).Unsubscribe
}

// Enclose implements requests.Bus.
func (b systemBus) Enclose(data, failure any) []byte { return b.s.system.Enclose(data, failure) }

// expiryShown is the end of a token, in unix seconds, for people.
func expiryShown(at int64) string {
	if at <= 0 {
		return "never"
	}
	return time.Unix(at, 0).UTC().Format(time.RFC3339)
}

// nextAccountSource is the resolver that o asks for, nil where that is the one which there is.
func (s *Server) nextAccountSource(o *conf.Options) (*resolver.Source, error) {
	st := s.state.Load()
	if st.trusting == nil || !o.Operator.Enabled() {
		return nil, nil
	}
	is, was := &o.Operator, &st.options.Operator
	if reflect.DeepEqual(is.Resolver, was.Resolver) && reflect.DeepEqual(is.ResolverTLS, was.ResolverTLS) &&
		maps.Equal(is.ResolverPreload, was.ResolverPreload) {
		return nil, nil
	}
	return s.newAccountSource(o, st.trusting)
}

// startTimeout bounds the look for the system account.
const startTimeout = 10 * time.Second

// newAccountSource makes the resolver that o asks for.
func (s *Server) newAccountSource(o *conf.Options, t *trusting) (*resolver.Source, error) {
	r := o.Operator.Resolver
	if r == nil {
		r = &conf.Resolver{Type: string(resolver.KindURL), URL: t.trust.AccountServer()}
	}
	config, err := clientTLS(o.Operator.ResolverTLS)
	if err != nil {
		return nil, fmt.Errorf("resolver_tls: %w", err)
	}
	return resolver.Open(s.ending, resolver.Config{
		Kind:    resolver.Kind(r.Type),
		Preload: o.Operator.ResolverPreload,
		URL:     r.URL,
		TLS:     config,
		Directory: resolver.DirectoryConfig{
			Path: r.Dir, AllowDelete: r.AllowDelete, HardDelete: r.HardDelete, Limit: r.Limit, TTL: r.TTL,
		},
		Remote:  requests.Remote{Bus: systemBus{s}},
		Check:   s.checkAccount,
		Timeout: r.Timeout,
	})
}

// clientTLS is the TLS of a connection that the server opens; nil for the usual.
func clientTLS(c *conf.TLS) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	config := &tls.Config{MinVersion: c.MinVersion, InsecureSkipVerify: c.Insecure}
	if c.CAFile != "" {
		pool, err := handshake.LoadPool(c.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if c.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}

// checkAccount tells whether a JWT is one of the account, signed by an operator.
func (s *Server) checkAccount(account, token string) error {
	_, err := s.state.Load().trusting.trust.ReadAccount(token, account, time.Now())
	return err
}

// enter has the services of the server reach an account that has come into use.
func (s *Server) enter(a *accounts.Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.subscribed {
		if e.in != nil && e.in[a] == nil {
			e.in[a] = s.subscribeIn(a, e)
		}
	}
	s.engine.AccountUsed(a)
}

// serveTenant tells JetStream what an account may store.
func (s *Server) serveTenant(t *tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jetstream != nil {
		s.jetstream.SetAccount(jetstream.AccountConfig{Account: t.account, Limits: allowance.Claimed(t.claims.Load().JetStream())})
	}
}

const (
	// servedWait is how long a login waits for other servers to serve an account, servedLook how often it looks.
	servedWait = time.Second
	servedLook = 5 * time.Millisecond
)

// awaitServed waits, but not for long, until the other servers of the cluster serve an account that has come into use here: what its
// clients ask of JetStream is for one of them to answer.
func (s *Server) awaitServed(ctx context.Context, t *tenant) {
	r := s.replicated.Replication
	if r == nil || t.claims.Load().JetStream() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, servedWait)
	defer cancel()
	look := time.NewTicker(servedLook)
	defer look.Stop()
	for {
		online := 0
		for _, m := range r.Members() {
			if m.Online {
				online++
			}
		}
		if len(t.account.Interest().Match([]byte("$JS.API.INFO"), nil)) >= online {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// review applies new claims to the connections of an account.
func (s *Server) review(t *tenant) {
	for _, c := range s.engine.Conns() {
		if c.Account() == t.account {
			before := c.Identity()
			s.revalidate(c)
			s.watchExpiry(c)
			if c.Identity() != before {
				s.sendInfo(c, s.Info(c))
			}
		}
	}
	s.closeExcessOf(t.account)
}

// leave ends what there is of an account that was dropped.
func (s *Server) leave(t *tenant) {
	for _, c := range s.engine.Conns() {
		if c.Account() == t.account {
			c.Close(engine.ReasonAuthExpired, accountExpired)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state.Load()
	s.extend(st.policy)
	s.serveAccounts(st)
	s.engine.AccountsChanged()
}

// loadStored brings those accounts into use that have streams: they are served whether somebody logs in or not.
func (s *Server) loadStored() {
	if s.tenants == nil || s.store == nil {
		return
	}
	seen := make(map[string]bool)
	for _, log := range s.store.Streams() {
		name := log.Account()
		if seen[name] {
			continue
		}
		seen[name] = true
		if _, err := s.tenants.find(s.ending, name); err != nil {
			s.logger.Warn("streams are not served, since their account is not there", "account", name, "error", err)
		}
	}
}
