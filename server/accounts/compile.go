package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nkeys"
)

// Compile makes a Policy of cfg. It returns all errors that cfg has, joined; they
// contain no secrets. Nothing that runs changes until Activate.
func (r *Registry) Compile(cfg Config) (*Policy, error) {
	c := compiler{
		registry: r,
		policy: &Policy{
			key:             &r.key,
			pool:            &r.pool,
			noPublish:       cfg.NoPublish,
			byName:          make(map[string]*Account),
			network:         newNetwork(),
			users:           make(map[string]*user),
			nkeys:           make(map[string]*user),
			names:           make(map[string]*user),
			empty:           secret{digest: r.key.digest("")},
			mapCertificates: cfg.MapCertificates && cfg.Username == "" && cfg.Token == "",
			requireNonce:    cfg.RequireNonce || cfg.GrantsOnly,
			grantsOnly:      cfg.GrantsOnly,
			registry:        r,
		},
	}
	c.fail(cfg.validate())
	c.compileAccounts(cfg)
	c.compileNetwork(cfg)
	c.compileUsers(cfg)
	c.compileAnonymous(cfg)
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return c.policy, nil
}

// validate returns what is wrong with how the parts of cfg go together.
func (cfg *Config) validate() error {
	var errs []error
	var kinds []string
	if cfg.Username != "" {
		kinds = append(kinds, "a single user")
	} else if cfg.Password != "" {
		errs = append(errs, errors.New("a password is configured without a user"))
	}
	if cfg.Token != "" {
		kinds = append(kinds, "a token")
	}
	if len(cfg.Users) > 0 {
		kinds = append(kinds, "a list of users")
	} else if len(kinds) > 0 && cfg.accountUsers() > 0 {
		kinds = append(kinds, "accounts with users")
	}
	if len(kinds) > 1 && kinds[0] != "a list of users" {
		errs = append(errs, fmt.Errorf("%s and %s are configured: use only one", kinds[0], kinds[1]))
	}
	seen := map[string]bool{}
	for _, a := range cfg.Accounts {
		switch {
		case a.Name == "":
			errs = append(errs, errors.New("an account has no name"))
		case a.Name == GlobalName:
			errs = append(errs, fmt.Errorf("account %q is reserved: its users belong into authorization", a.Name))
		case seen[a.Name]:
			errs = append(errs, fmt.Errorf("account %q is configured twice", a.Name))
		}
		seen[a.Name] = true
	}
	if s := cfg.SystemAccount; s != "" && s != SystemName && !seen[s] {
		errs = append(errs, fmt.Errorf("system account %q is not among the accounts", s))
	}
	return errors.Join(errs...)
}

// accountUsers returns how many users the configured accounts have.
func (cfg *Config) accountUsers() (n int) {
	for _, a := range cfg.Accounts {
		n += len(a.Users)
	}
	return n
}

// compiler fills a Policy and collects errors.
type compiler struct {
	registry *Registry
	policy   *Policy
	errs     []error
}

func (c *compiler) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// compileAccounts finds or makes the accounts.
func (c *compiler) compileAccounts(cfg Config) {
	p := c.policy
	for _, a := range cfg.Accounts {
		p.byName[a.Name] = c.registry.account(a.Name)
	}
	p.global = c.registry.account(GlobalName)
	p.byName[GlobalName] = p.global
	if !cfg.NoSystemAccount {
		name := cmp.Or(cfg.SystemAccount, SystemName)
		p.system = c.registry.account(name)
		p.byName[name] = p.system
	}
	p.accounts = slices.SortedFunc(maps.Values(p.byName), func(a, b *Account) int {
		return cmp.Compare(a.name, b.name)
	})
}

// compileNetwork works out what the accounts share.
func (c *compiler) compileNetwork(cfg Config) {
	n := c.policy.network
	for _, a := range c.policy.accounts {
		n.define(&definition{account: a})
	}
	define := func(a *AccountConfig) {
		d, errs := newDefinition(c.policy.byName[a.Name], a)
		c.errs = append(c.errs, errs...)
		n.define(d)
	}
	define(&AccountConfig{Name: GlobalName, Mappings: cfg.Mappings})
	for i := range cfg.Accounts {
		define(&cfg.Accounts[i])
	}
	c.errs = append(c.errs, n.strangers()...)
	c.errs = append(c.errs, n.connect()...)
}

// compileUsers adds all users.
func (c *compiler) compileUsers(cfg Config) {
	p := c.policy
	for i := range cfg.Users {
		u := cfg.Users[i]
		u.ProxyRequired = u.ProxyRequired || cfg.ProxyRequired
		c.addUser(p.global, &u, cfg.DefaultPermissions, fmt.Sprintf("users[%d]", i))
	}
	for _, a := range cfg.Accounts {
		for i := range a.Users {
			where := fmt.Sprintf("account %q: users[%d]", a.Name, i)
			c.addUser(p.byName[a.Name], &a.Users[i], a.DefaultPermissions, where)
		}
	}
	if cfg.Username != "" {
		single := &UserConfig{Username: cfg.Username, Password: cfg.Password, ProxyRequired: cfg.ProxyRequired}
		c.addUser(p.global, single, nil, "user")
	}
	if cfg.Token != "" {
		p.token = &user{profile: p.global.profile, secret: c.secret(cfg.Token, "token"), proxied: cfg.ProxyRequired}
	}
}

// addUser adds one user. where tells the reader of errors which one.
func (c *compiler) addUser(a *Account, cfg *UserConfig, defaults *Permissions, where string) {
	p := c.policy
	if name := cmp.Or(cfg.Username, cfg.NKey); name != "" {
		where = fmt.Sprintf("%s %q", where, name)
	}
	permissions := cmp.Or(cfg.Permissions, defaults)
	if err := permissions.validate(); err != nil {
		c.fail(fmt.Errorf("%s: %w", where, err))
	}
	u := &user{name: cfg.Username, nkey: cfg.NKey, profile: c.profile(a, permissions), proxied: cfg.ProxyRequired}
	for _, text := range cfg.ConnectionTypes {
		t, err := ParseConnectionType(string(text))
		if err != nil {
			c.fail(fmt.Errorf("%s: %w", where, err))
		}
		u.types = append(u.types, t)
	}
	switch {
	case cfg.NKey != "" && (cfg.Username != "" || cfg.Password != ""):
		c.fail(fmt.Errorf("%s: a user with an nkey has neither name nor password", where))
	case cfg.NKey != "":
		c.addKey(u, where)
	case cfg.Username == "":
		c.fail(fmt.Errorf("%s: a user needs a name or an nkey", where))
	case p.users[u.name] != nil:
		c.fail(fmt.Errorf("%s: this user is configured twice", where))
	default:
		u.secret = c.secret(cfg.Password, where+": password")
		p.users[u.name] = u
		c.addDistinguishedName(u)
	}
}

// addKey adds a user with an nkey.
func (c *compiler) addKey(u *user, where string) {
	switch {
	case !nkeys.IsValidPublicUserKey(u.nkey):
		c.fail(fmt.Errorf("%s: this is not the public nkey of a user", where))
	case c.policy.nkeys[u.nkey] != nil:
		c.fail(fmt.Errorf("%s: this nkey is configured twice", where))
	default:
		c.policy.nkeys[u.nkey] = u
	}
}

// addDistinguishedName lets certificates map to u when its name is a distinguished
// name. Of several that differ in order only, the first one counts.
func (c *compiler) addDistinguishedName(u *user) {
	name, err := parseDistinguishedName(u.name)
	if err != nil || !c.policy.mapCertificates {
		return
	}
	if key := name.key(); c.policy.names[key] == nil {
		c.policy.names[key] = u
	}
}

// compileAnonymous settles who clients without credentials are.
func (c *compiler) compileAnonymous(cfg Config) {
	p := c.policy
	if name := cfg.NoAuthUser; name != "" {
		p.anonymous = cmp.Or(p.users[name], p.nkeys[name])
		if p.anonymous == nil || cfg.Username != "" {
			c.fail(fmt.Errorf("no_auth_user %q is not among the users", name))
		}
		return
	}
	if c.onlySystemUsers(cfg) {
		p.anonymous = &user{profile: p.global.profile}
	}
}

// onlySystemUsers reports whether users are configured for nothing but the system
// account. Then it is as if none were for all others.
func (c *compiler) onlySystemUsers(cfg Config) bool {
	return len(cfg.Accounts) == 1 && cfg.accountUsers() > 0 && len(cfg.Users) == 0 &&
		c.policy.byName[cfg.Accounts[0].Name] == c.policy.system
}

// profile returns the one profile for that account and permissions, which is the same as under other policies: what
// is remembered for it stays right through a reload.
func (c *compiler) profile(a *Account, permissions *Permissions) *Profile {
	noPublish := c.policy.noPublish[a.name]
	if permissions == nil && len(noPublish) == 0 {
		return a.profile
	}
	return c.policy.pool.profile(a, permissions, noPublish)
}

// secret compiles a secret, and makes it the dummy when it is the most expensive.
func (c *compiler) secret(text, where string) secret {
	s, err := newSecret(text, c.policy.key)
	if err != nil {
		c.fail(fmt.Errorf("%s %w", where, err))
	}
	if s.cost() > c.policy.dummy.cost() {
		c.policy.dummy = s
	}
	return s
}
