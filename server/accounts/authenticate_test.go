package accounts_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"

	"runnel/server/accounts"
)

type (
	config      = accounts.Config
	userConfig  = accounts.UserConfig
	credentials = accounts.Credentials
)

const (
	nonce       = "a-nonce-of-the-server"
	knownSecret = "never-in-a-log"
)

// hash returns a cheap bcrypt hash.
func hash(t testing.TB, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// newKey returns a user's nkey and its public form.
func newKey(t testing.TB) (nkeys.KeyPair, string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pair, public
}

func sign(t testing.TB, pair nkeys.KeyPair, text string) []byte {
	t.Helper()
	signature, err := pair.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

// attempt is a login and what it should lead to: a user with that display name in
// that account (the global one when empty), or an error.
type attempt struct {
	name    string
	c       credentials
	display string
	account string
	err     error
}

func (a attempt) run(t *testing.T, p *accounts.Policy) {
	t.Helper()
	id, err := p.Authenticate(a.c)
	if !errors.Is(err, a.err) || err != nil && (!errors.Is(err, accounts.ErrAuthorization) || id != nil) {
		t.Fatalf("%s: error %v, want %v", a.name, err, a.err)
	}
	if err != nil {
		if strings.Contains(err.Error(), knownSecret) {
			t.Errorf("%s: a secret in the error: %v", a.name, err)
		}
		return
	}
	if a.account == "" {
		a.account = accounts.GlobalName
	}
	if id.DisplayName() != a.display || id.Account.Name() != a.account || id.Profile.Account() != id.Account {
		t.Errorf("%s: got %q in %q, want %q in %q", a.name, id.DisplayName(), id.Account.Name(), a.display, a.account)
	}
}

func user(name, password string) credentials { return credentials{Username: name, Password: password} }

func TestAuthenticate(t *testing.T) {
	unknown, password, none := accounts.ErrUnknownUser, accounts.ErrPassword, accounts.ErrNoCredentials
	two := []userConfig{{Username: "a", Password: "pa"}, {Username: "b"}}
	inA := []accounts.AccountConfig{{Name: "A", Users: two}}
	tests := []struct {
		name                string
		config              config
		required, anonymous bool
		attempts            []attempt
	}{
		{"nothing required", config{}, false, true, []attempt{
			{name: "none"},
			{name: "user", c: user("x", "y"), display: "x"},
			{name: "token", c: credentials{Token: knownSecret}, display: "[REDACTED]"},
			{name: "nkey", c: credentials{NKey: "UX"}, display: "UX"},
		}},
		{"accounts without users", config{Accounts: []accounts.AccountConfig{{Name: "A"}}}, false, true, []attempt{
			{name: "none"},
		}},
		{"single user", config{Username: "a", Password: "pa"}, true, false, []attempt{
			{name: "none", err: none},
			{name: "right", c: user("a", "pa"), display: "a"},
			{name: "right, with a token", c: credentials{Username: "a", Password: "pa", Token: "x"}, display: "a"},
			{name: "password", c: user("a", knownSecret), err: password},
			{name: "no password", c: user("a", ""), err: password},
			{name: "user", c: user("x", "pa"), err: unknown},
			{name: "token", c: credentials{Token: knownSecret}, err: unknown},
			{name: "only a password", c: credentials{Password: "pa"}, err: unknown},
		}},
		{"token", config{Token: "tok"}, true, false, []attempt{
			{name: "none", err: none},
			{name: "right", c: credentials{Token: "tok"}, display: "[REDACTED]"},
			{name: "right, with a user", c: credentials{Token: "tok", Username: "u"}, display: "u"},
			{name: "wrong", c: credentials{Token: knownSecret}, err: accounts.ErrToken},
			{name: "as a password", c: user("u", "tok"), err: accounts.ErrToken},
		}},
		{"users", config{Users: two}, true, false, []attempt{
			{name: "right", c: user("a", "pa"), display: "a"},
			{name: "without a password", c: user("b", ""), display: "b"},
			{name: "with a password too many", c: user("b", knownSecret), err: password},
			{name: "nkey is ignored when no user has one", c: credentials{NKey: "UX", Username: "a", Password: "pa"}, display: "a"},
			{name: "jwt is ignored", c: credentials{JWT: "x", Username: "a", Password: "pa"}, display: "a"},
		}},
		{"users of accounts", config{Accounts: inA, Users: []userConfig{{Username: "g"}}}, true, false, []attempt{
			{name: "account", c: user("a", "pa"), display: "a", account: "A"},
			{name: "global", c: user("g", ""), display: "g"},
			{name: "none", err: none},
		}},
		{"no_auth_user", config{Accounts: inA, NoAuthUser: "a"}, true, true, []attempt{
			{name: "none", display: "a", account: "A"},
			{name: "right", c: user("b", ""), display: "b", account: "A"},
			{name: "only jwt and sig", c: credentials{JWT: "x", Signature: "y"}, display: "a", account: "A"},
			{name: "wrong password", c: user("a", knownSecret), err: password},
			{name: "no password", c: user("a", ""), err: password},
			{name: "unknown", c: user("x", ""), err: unknown},
			{name: "token", c: credentials{Token: "x"}, err: unknown},
			{name: "nkey", c: credentials{NKey: "UX"}, err: unknown},
			{name: "only a password", c: credentials{Password: "pa"}, err: unknown},
		}},
		{
			"users of the system account only",
			config{Accounts: []accounts.AccountConfig{{Name: accounts.SystemName, Users: two}}},
			true, true,
			[]attempt{
				{name: "none"},
				{name: "system", c: user("a", "pa"), display: "a", account: accounts.SystemName},
				{name: "unknown", c: user("x", ""), err: unknown},
			},
		},
		{"users of a system account by name only", config{Accounts: inA, SystemAccount: "A"}, true, true, []attempt{
			{name: "none"},
			{name: "system", c: user("a", "pa"), display: "a", account: "A"},
		}},
		{"users of one other account only", config{Accounts: inA}, true, false, []attempt{{name: "none", err: none}}},
		{
			"users of the system account and another account",
			config{Accounts: append(inA[:1:1], accounts.AccountConfig{Name: "B"}), SystemAccount: "A"},
			true, false,
			[]attempt{{name: "none", err: none}},
		},
		{"connection types", config{Users: []userConfig{
			{Username: "ws", ConnectionTypes: []accounts.ConnectionType{accounts.WebSocket, accounts.InProcess}},
			{Username: "any"},
			{Username: "std", ConnectionTypes: []accounts.ConnectionType{"standard"}},
		}}, true, false, []attempt{
			{name: "default is standard", c: user("std", ""), display: "std"},
			{name: "refused", c: user("ws", ""), err: accounts.ErrConnectionType},
			{name: "allowed", c: credentials{Username: "ws", Type: accounts.WebSocket}, display: "ws"},
			{name: "second", c: credentials{Username: "ws", Type: accounts.InProcess}, display: "ws"},
			{name: "any", c: credentials{Username: "any", Type: accounts.MQTT}, display: "any"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compile(t, tt.config)
			if p.Required() != tt.required || p.AnonymousAllowed() != tt.anonymous {
				t.Errorf("Required, AnonymousAllowed = %v, %v, want %v, %v",
					p.Required(), p.AnonymousAllowed(), tt.required, tt.anonymous)
			}
			for _, a := range tt.attempts {
				a.run(t, p)
				if p.MayBeSlow(a.c) {
					t.Errorf("%s: MayBeSlow = true without bcrypt and nkeys", a.name)
				}
			}
		})
	}
}

func TestAuthenticateBcrypt(t *testing.T) {
	h := hash(t, "secret")
	tail := strings.TrimPrefix(h, "$2a$")
	p := compile(t, config{Users: []userConfig{
		{Username: "a", Password: "$2a$" + tail},
		{Username: "b", Password: "$2b$" + tail},
		{Username: "y", Password: "$2y$" + tail},
		{Username: "plain", Password: "secret"},
		{Username: "dollar", Password: "$2x$" + tail},
	}})
	for _, name := range []string{"a", "b", "y", "plain"} {
		attempt{name: name, c: user(name, "secret"), display: name}.run(t, p)
		attempt{name: name, c: user(name, knownSecret), err: accounts.ErrPassword}.run(t, p)
		attempt{name: name, c: user(name, h), err: accounts.ErrPassword}.run(t, p)
	}
	attempt{name: "not a hash", c: user("dollar", "$2x$"+tail), display: "dollar"}.run(t, p)
	attempt{name: "unknown", c: user("x", "secret"), err: accounts.ErrUnknownUser}.run(t, p)
	if !p.MayBeSlow(user("x", "")) || !p.MayBeSlow(user("plain", "")) || p.MayBeSlow(credentials{}) {
		t.Error("with bcrypt every login but an anonymous one may be slow, also of users that do not exist")
	}

	token := compile(t, config{Token: h})
	attempt{name: "token", c: credentials{Token: "secret"}, display: "[REDACTED]"}.run(t, token)
	attempt{name: "token", c: credentials{Token: h}, err: accounts.ErrToken}.run(t, token)
	single := compile(t, config{Username: "a", Password: h})
	attempt{name: "single", c: user("a", "secret"), display: "a"}.run(t, single)
}

func TestAuthenticateNKey(t *testing.T) {
	pair, public := newKey(t)
	stranger, strange := newKey(t)
	p := compile(t, config{
		Users:    []userConfig{{Username: "a", Password: "pa"}},
		Accounts: []accounts.AccountConfig{{Name: "A", Users: []userConfig{{NKey: public}}}},
	})
	signed := func(key, signature, nonce string) credentials {
		return credentials{NKey: key, Signature: signature, Nonce: nonce}
	}
	url, std := base64.RawURLEncoding.EncodeToString, base64.StdEncoding.EncodeToString
	good := sign(t, pair, nonce)
	wrong := accounts.ErrSignature
	for _, a := range []attempt{
		{name: "raw url", c: signed(public, url(good), nonce), display: public, account: "A"},
		{name: "standard", c: signed(public, std(good), nonce), display: public, account: "A"},
		{name: "other nonce", c: signed(public, url(good), "other"), err: wrong},
		{name: "no nonce", c: signed(public, url(sign(t, pair, "")), ""), err: wrong},
		{name: "no signature", c: signed(public, "", nonce), err: wrong},
		{name: "not base64", c: signed(public, "!", nonce), err: wrong},
		{name: "short", c: signed(public, url(good[:10]), nonce), err: wrong},
		{name: "signed by another", c: signed(public, url(sign(t, stranger, nonce)), nonce), err: wrong},
		{name: "not a key", c: signed("UABC", url(good), nonce), err: wrong},
		{name: "unknown", c: signed(strange, url(sign(t, stranger, nonce)), nonce), err: accounts.ErrUnknownUser},
		{name: "password beside a wrong key", c: credentials{NKey: "x", Username: "a", Password: "pa"}, err: wrong},
		{name: "password", c: user("a", "pa"), display: "a"},
	} {
		a.run(t, p)
		if got, want := p.MayBeSlow(a.c), a.c.NKey != ""; got != want {
			t.Errorf("%s: MayBeSlow = %v, want %v", a.name, got, want)
		}
	}
	if id := login(t, p, signed(public, url(good), nonce)); id.NKey != public || id.Username != "" {
		t.Errorf("identity has nkey %q and name %q, want only the nkey", id.NKey, id.Username)
	}
	if !p.NeedsNonce() {
		t.Error("NeedsNonce() = false with an nkey")
	}
	noAuth := compile(t, config{Users: []userConfig{{NKey: public}}, NoAuthUser: public})
	attempt{name: "no_auth_user is an nkey", display: public}.run(t, noAuth)
}

func TestNeedsNonce(t *testing.T) {
	for _, required := range []bool{false, true} {
		p := compile(t, config{Username: "a", RequireNonce: required})
		if got := p.NeedsNonce(); got != required {
			t.Errorf("NeedsNonce() = %v, want %v", got, required)
		}
	}
}

// TestErrorsAreShort: a client must not fill the log.
func TestErrorsAreShort(t *testing.T) {
	p := compile(t, config{Username: "a"})
	_, err := p.Authenticate(user(strings.Repeat("\n", 10_000), ""))
	if text := err.Error(); len(text) > 500 || strings.Contains(text, "\n") {
		t.Errorf("error has %d bytes: %s", len(text), text)
	}
}

func BenchmarkAuthenticatePassword(b *testing.B) {
	p := compile(b, config{Users: []userConfig{{Username: "a", Password: "pa"}, {Username: "b"}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Authenticate(user("a", "pa")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateNKey(b *testing.B) {
	pair, public := newKey(b)
	p := compile(b, config{Users: []userConfig{{NKey: public}}})
	c := credentials{NKey: public, Nonce: nonce, Signature: base64.RawURLEncoding.EncodeToString(sign(b, pair, nonce))}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Authenticate(c); err != nil {
			b.Fatal(err)
		}
	}
}
