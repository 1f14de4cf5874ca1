package conf

import (
	"fmt"
	"slices"
	"strings"

	"runnel/conf/nkey"
	"runnel/conf/syntax"
	"runnel/subjects"
)

// The names of the accounts that always exist.
const (
	globalAccount = "$G"
	systemAccount = "$SYS"
)

// access checks who may connect.
func (c *checker) access() {
	o := c.o
	a := &o.Authorization
	c.single("authorization", a)
	c.permissions("authorization.default_permissions", a.DefaultPermissions)
	c.callout(a.Callout)
	seen := map[string]string{}
	c.users("authorization.users", a.Users, seen)
	for i := range o.Accounts {
		c.users(element("accounts", o.Accounts[i].Name)+".users", o.Accounts[i].Users, seen)
	}
	if len(seen) > 0 && a.Username != "" {
		c.wrong("authorization.user", "a single user cannot be combined with lists of users")
	}
	if len(seen) > 0 && a.Token != "" {
		c.wrong("authorization.token", "a token cannot be combined with lists of users")
	}
	c.fallback("no_auth_user", o.NoAuthUser, seen)
	if o.WebSocket != nil {
		c.fallback("websocket.no_auth_user", o.WebSocket.NoAuthUser, seen)
	}
	if o.MQTT != nil {
		c.fallback("mqtt.no_auth_user", o.MQTT.NoAuthUser, seen)
	}
	c.keys("trusted_keys", o.Operator.TrustedKeys, nkey.Operator, "an operator, O...")
	if o.Proxies != nil {
		for i, p := range o.Proxies.Trusted {
			c.proxyKey(indexed("proxies.trusted", i)+".key", p.Key)
		}
	}
}

// single checks the credentials of a listener that knows one user.
func (c *checker) single(path string, a *Authorization) {
	if a.Token != "" && (a.Username != "" || a.Password != "") {
		c.wrong(path+".token", "a token cannot be combined with user and password")
	}
	if a.Password != "" && a.Username == "" {
		c.wrong(path+".password", "a password needs a user")
	}
	c.plainText(path+".password", a.Password)
	c.plainText(path+".token", a.Token)
}

// plainText counts a secret that is written as it is.
func (c *checker) plainText(path, password string) {
	if password == "" || syntax.IsPasswordHash(password) {
		return
	}
	if c.plain++; c.plain == 1 {
		c.plainPath = path
	}
}

// users checks a list of users. seen holds the path of each user so far.
func (c *checker) users(path string, users []User, seen map[string]string) {
	for i := range users {
		u, at := &users[i], indexed(path, i)
		switch {
		case u.NKey != "" && (u.Username != "" || u.Password != ""):
			c.wrong(at+".nkey", "a user has either an nkey or a name with a password")
		case u.NKey != "":
			c.keys(at+".nkey", []string{u.NKey}, nkey.User, "a user, U...")
		case u.Username == "":
			c.wrong(at, "a user needs a name (user) or an nkey")
			continue
		}
		if first, double := seen[u.Name()]; double {
			c.wrong(at, "the user %q exists already, as %s", syntax.Shorten(u.Name()), first)
			continue
		}
		seen[u.Name()] = at
		c.plainText(at+".password", u.Password)
		c.permissions(at+".permissions", u.Permissions)
	}
}

// fallback checks that the user for clients without credentials exists.
func (c *checker) fallback(path, user string, seen map[string]string) {
	if user == "" || c.o.Operator.Enabled() || seen[user] != "" {
		return
	}
	c.wrong(path, "there is no user %q in authorization.users or in an account", syntax.Shorten(user))
}

// keys checks public keys of one kind.
func (c *checker) keys(path string, keys []string, k nkey.Kind, kind string) {
	for _, key := range keys {
		if !nkey.IsPublic(key, k) {
			c.wrong(path, "%q is not the public key of %s", syntax.Shorten(key), kind)
		}
	}
}

// proxyKey checks the key of a proxy, which may be of any kind that signs.
func (c *checker) proxyKey(path, key string) {
	for _, k := range []nkey.Kind{nkey.Account, nkey.Cluster, nkey.Server, nkey.Operator, nkey.User} {
		if nkey.IsPublic(key, k) {
			return
		}
	}
	c.wrong(path, "%q is not a public key that signs, such as U...", syntax.Shorten(key))
}

// callout checks the service that decides who may connect.
func (c *checker) callout(a *AuthCallout) {
	const path = "authorization.auth_callout"
	if a == nil {
		return
	}
	c.keys(path+".issuer", []string{a.Issuer}, nkey.Account, "an account, A...")
	if a.XKey != "" {
		c.keys(path+".xkey", []string{a.XKey}, nkey.Curve, "a curve, X...")
	}
	if len(a.AuthUsers) == 0 {
		c.wrong(path, "it needs auth_users, at least that of the service itself")
	}
	if a.Account != "" && !c.o.hasAccount(a.Account) {
		c.wrong(path+".account", "there is no account %q", syntax.Shorten(a.Account))
	}
	for _, name := range a.AllowedAccounts {
		if !c.o.hasAccount(name) && !c.o.Operator.Enabled() {
			c.wrong(path+".allowed_accounts", "there is no account %q", syntax.Shorten(name))
		}
	}
}

// permissions checks that the rules are subjects.
func (c *checker) permissions(path string, p *Permissions) {
	if p == nil {
		return
	}
	for _, part := range []struct {
		key      string
		patterns []string
		queue    bool
	}{
		{".publish", p.Publish.Allow, false},
		{".publish.deny", p.Publish.Deny, false},
		{".subscribe", p.Subscribe.Allow, true},
		{".subscribe.deny", p.Subscribe.Deny, true},
	} {
		for _, pattern := range part.patterns {
			if !isRule(pattern, part.queue) {
				c.wrong(path+part.key, "%q is not a valid subject", syntax.Shorten(pattern))
			}
		}
	}
}

// isRule reports whether s is a pattern, with a queue pattern after a blank
// where that is allowed.
func isRule(s string, queue bool) bool {
	subject, group, found := strings.Cut(s, " ")
	if group = strings.TrimLeft(group, " "); found && (!queue || !subjects.ValidPattern(group)) {
		return false
	}
	return subjects.ValidPattern(subject)
}

// hasAccount reports whether an account is configured or always there.
func (o *Options) hasAccount(name string) bool {
	return name == globalAccount || name == systemAccount ||
		slices.ContainsFunc(o.Accounts, func(a Account) bool { return a.Name == name })
}

// accounts checks the accounts and what they share.
func (c *checker) accounts() {
	o := c.o
	seen := map[string]bool{}
	for i := range o.Accounts {
		a := &o.Accounts[i]
		path := element("accounts", a.Name)
		switch {
		case a.Name == globalAccount:
			c.wrong(path, "the account %s is reserved; put its users into authorization", globalAccount)
		case !subjects.ValidLiteral(a.Name):
			c.wrong(path, "the name of an account becomes part of subjects: no blanks and no wildcards")
		case seen[a.Name]:
			c.wrong(path, "the account exists already")
		}
		seen[a.Name] = true
		if a.NKey != "" {
			c.keys(path+".nkey", []string{a.NKey}, nkey.Account, "an account, A...")
		}
		c.permissions(path+".default_permissions", a.DefaultPermissions)
		c.mappings(path+".mappings", a.Mappings)
		c.sharing(path, a)
	}
	c.mappings("mappings", o.Mappings)
	if s := o.SystemAccount; s != "" && !o.hasAccount(s) && !o.Operator.Enabled() {
		c.wrong("system_account", "there is no account %q", syntax.Shorten(s))
	}
}

// sharing checks exports and imports of an account.
func (c *checker) sharing(path string, a *Account) {
	for i, e := range a.Exports {
		at := indexed(path+".exports", i)
		if !subjects.ValidPattern(e.Subject) {
			c.wrong(at, "it needs a stream or a service with a valid subject, got %q", syntax.Shorten(e.Subject))
		}
		if e.Latency != nil && !subjects.ValidLiteral(e.Latency.Subject) {
			c.wrong(at+".latency", "it needs a valid subject without wildcards, got %q", syntax.Shorten(e.Latency.Subject))
		}
	}
	for i, m := range a.Imports {
		at := indexed(path+".imports", i)
		switch {
		case !subjects.ValidPattern(m.Subject):
			c.wrong(at, "it needs a stream or a service with a valid subject, got %q", syntax.Shorten(m.Subject))
		case !c.o.hasAccount(m.Account):
			c.wrong(at, "there is no account %q", syntax.Shorten(m.Account))
		case m.Prefix != "" && m.To != "":
			c.wrong(at, "prefix and to cannot be combined")
		}
	}
}

// mappings checks that subjects can be rewritten, and the weights.
func (c *checker) mappings(path string, mappings []Mapping) {
	for _, m := range mappings {
		at := element(path, m.Source)
		if !subjects.ValidPattern(m.Source) {
			c.wrong(at, "%q is not a valid subject", syntax.Shorten(m.Source))
			continue
		}
		weights := map[string]int{}
		for _, to := range m.Destinations {
			if weights[to.Cluster] += to.Weight; weights[to.Cluster] > 100 {
				c.wrong(at, "the weights of the destinations%s add up to more than 100", ofCluster(to.Cluster))
				break
			}
			if _, err := subjects.NewTransform(m.Source, to.Subject); err != nil {
				c.wrong(at, "%v", err)
			}
		}
	}
}

func ofCluster(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" in the cluster %s", name)
}
