package server

import (
	"errors"
	"fmt"
	"net"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/clustering"
	"runnel/server/handshake"
	"runnel/server/sharing"
	"runnel/server/wire"
)

// state is all that follows from the options. It is immutable; a reload makes a new one and swaps it in.
type state struct {
	options *conf.Options
	loaded  time.Time
	policy  *accounts.Policy
	// webPolicy is for WebSocket clients: policy unless that listener has credentials of its own.
	webPolicy *accounts.Policy
	callout   *vouching           // nil without an auth callout
	proxies   proxies             // that are trusted
	trusting  *trusting           // nil outside of operator mode
	tls       *handshake.Settings // of the client listener; nil without TLS
	webTLS    *handshake.Settings // of the WebSocket listener
	// clusterTLS is between servers; nil without TLS there.
	clusterTLS *handshake.Settings
	info       wire.Info // what INFO says to everybody
}

// Check tells what would keep a server with these options from starting, apart from addresses in use: users
// and permissions that make no sense, certificates that cannot be read.
func Check(o *conf.Options) error {
	s := &Server{registry: accounts.NewRegistry()}
	if err := s.makeKeys(); err != nil {
		return err
	}
	_, err := s.newState(o)
	return err
}

// newState works out what follows from o, and changes nothing yet.
func (s *Server) newState(o *conf.Options) (*state, error) {
	st := &state{options: o, loaded: time.Now(), proxies: newProxies(o)}
	var errs [5]error
	var err error
	if st.trusting, err = newTrusting(o); err != nil {
		return nil, err
	}
	if now := s.state.Load(); now != nil && !st.trusting.follows(now.trusting) {
		return nil, errors.New("the operator names another system account: restart the server to apply it")
	}
	cfg := policyConfig(o)
	st.trusting.configure(&cfg)
	st.policy, errs[0] = s.registry.Compile(cfg)
	st.tls, errs[1] = handshake.New(o.TLS)
	if ws := o.WebSocket; ws != nil {
		st.webTLS, errs[2] = handshake.New(ws.TLS)
		st.webPolicy, errs[3] = s.webPolicy(o, st.policy)
	}
	if c := o.Cluster; c != nil {
		var err error
		st.clusterTLS, err = handshake.New(c.TLS)
		errs[4] = errors.Join(err, clustering.Check(c))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if st.callout, err = s.newVouching(o, st.policy, s.calloutNow()); err != nil {
		return nil, err
	}
	st.info = s.baseInfo(o)
	st.info.Host, st.info.Port = o.Host, o.Port
	if host, port, ok := splitAddress(o.ClientAdvertise); ok {
		st.info.Host, st.info.Port = host, port
	} else if a, ok := s.Addr().(*net.TCPAddr); ok {
		st.info.Port = a.Port
	}
	if st.tls != nil {
		st.info.TLSRequired = !o.AllowNonTLS
		st.info.TLSAvailable = o.AllowNonTLS
		st.info.TLSVerify = st.tls.Verifies()
	}
	return st, nil
}

// policyOf is who may log in over this kind of connection.
func (st *state) policyOf(t accounts.ConnectionType) *accounts.Policy {
	if t == accounts.WebSocket && st.webPolicy != nil {
		return st.webPolicy
	}
	return st.policy
}

// webPolicy compiles who may log in through the WebSocket listener, if that differs: it may have credentials
// of its own, and its own way with certificates.
func (s *Server) webPolicy(o *conf.Options, general *accounts.Policy) (*accounts.Policy, error) {
	ws := o.WebSocket
	own := ws.Authorization
	if o.Operator.Enabled() {
		if own.Username != "" || own.Token != "" || ws.NoAuthUser != "" {
			return nil, errors.New("websocket: operator mode has no users in the configuration: they come by JWT")
		}
		return general, nil
	}
	cfg := policyConfig(o)
	maps := mapsCertificates(ws.TLS)
	if own.Username == "" && own.Token == "" && ws.NoAuthUser == "" && maps == cfg.MapCertificates {
		return general, nil
	}
	cfg.MapCertificates = maps
	if ws.NoAuthUser != "" {
		cfg.NoAuthUser = ws.NoAuthUser
	}
	if own.Username != "" || own.Token != "" {
		cfg.Users, cfg.NoAuthUser = nil, ""
		for i := range cfg.Accounts {
			cfg.Accounts[i].Users = nil
		}
		cfg.Username, cfg.Password, cfg.Token = own.Username, own.Password, own.Token
	}
	p, err := s.registry.Compile(cfg)
	if err != nil {
		return nil, fmt.Errorf("websocket authorization: %w", err)
	}
	return p, nil
}

// policyConfig is the accounts' part of the options.
func policyConfig(o *conf.Options) accounts.Config {
	a := &o.Authorization
	cfg := accounts.Config{
		Users:              userConfigs(a.Users),
		DefaultPermissions: permissions(a.DefaultPermissions),
		Mappings:           sharing.Mappings(o, o.Mappings),
		Username:           a.Username,
		Password:           a.Password,
		Token:              a.Token,
		NoAuthUser:         o.NoAuthUser,
		SystemAccount:      o.SystemAccount,
		NoSystemAccount:    o.NoSystemAccount,
		MapCertificates:    mapsCertificates(o.TLS),
		NoPublish:          noPublish(o),
		RequireNonce:       a.Callout != nil || o.Proxies != nil, // a service may know keys, and a proxy signs
		ProxyRequired:      a.ProxyRequired,
	}
	for i := range o.Accounts {
		account := &o.Accounts[i]
		config := accounts.AccountConfig{
			Name:               account.Name,
			Users:              userConfigs(account.Users),
			DefaultPermissions: permissions(account.DefaultPermissions),
			Limits: accounts.Limits{
				MaxConnections:   int64(account.Limits.MaxConnections),
				MaxSubscriptions: int64(account.Limits.MaxSubscriptions),
				MaxPayload:       account.Limits.MaxPayloadBytes,
				MaxLeafNodes:     int64(account.Limits.MaxLeafNodes),
			},
		}
		sharing.Configure(o, account, &config)
		cfg.Accounts = append(cfg.Accounts, config)
	}
	return cfg
}

// mapsCertificates tells whether a listener takes the user from the client's certificate.
func mapsCertificates(t *conf.TLS) bool { return t != nil && t.VerifyAndMap }

// userConfigs translates a list of users. Kinds of connection were checked when the file was read.
func userConfigs(users []conf.User) []accounts.UserConfig {
	out := make([]accounts.UserConfig, 0, len(users))
	for i := range users {
		u := &users[i]
		types := make([]accounts.ConnectionType, 0, len(u.ConnectionTypes))
		for _, t := range u.ConnectionTypes {
			types = append(types, accounts.ConnectionType(t))
		}
		out = append(out, accounts.UserConfig{
			Username:        u.Username,
			Password:        u.Password,
			NKey:            u.NKey,
			Permissions:     permissions(u.Permissions),
			ConnectionTypes: types,
			ProxyRequired:   u.ProxyRequired,
		})
	}
	return out
}

// permissions keeps nil apart from empty: nil takes the default permissions, empty restricts nothing.
func permissions(p *conf.Permissions) *accounts.Permissions {
	if p == nil {
		return nil
	}
	out := &accounts.Permissions{
		Publish:   accounts.Rules(p.Publish),
		Subscribe: accounts.Rules(p.Subscribe),
	}
	if r := p.Responses; r != nil {
		out.Responses = &accounts.ResponsePermission{Max: r.Max, Expires: r.Expires}
	}
	return out
}
