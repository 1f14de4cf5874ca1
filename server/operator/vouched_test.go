package operator_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/accounts"
	"runnel/server/operator"
)

// TestPermitAlone: a user without an account's JWT may do what its own says, within its times and places.
func TestPermitAlone(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	here := operator.Client{Address: netip.MustParseAddr("10.1.2.3")}
	tests := []struct {
		name   string
		user   func(*jwt.UserClaims)
		client operator.Client
		want   error
	}{
		{"good, without a signature", func(*jwt.UserClaims) {}, here, nil},
		{"until then", func(c *jwt.UserClaims) { c.Expires = now.Unix() + 5 }, here, nil},
		{"expired", func(c *jwt.UserClaims) { c.Expires = now.Unix() }, here, operator.ErrExpired},
		{"not yet valid", func(c *jwt.UserClaims) { c.NotBefore = now.Unix() + 5 }, here, operator.ErrNotYetValid},
		{"from its network", func(c *jwt.UserClaims) { c.Src.Add("10.0.0.0/8") }, here, nil},
		{"from elsewhere", func(c *jwt.UserClaims) { c.Src.Add("192.0.2.0/24") }, here, operator.ErrAddress},
		{"another kind of connection", func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add(jwt.ConnectionTypeMqtt) }, here, operator.ErrConnectionType},
		{"without its proxy", func(c *jwt.UserClaims) { c.ProxyRequired = true }, here, operator.ErrProxy},
		{"through its proxy", func(c *jwt.UserClaims) { c.ProxyRequired = true }, operator.Client{Proxied: true}, nil},
		{"at another time of the day", func(c *jwt.UserClaims) {
			c.Times = []jwt.TimeRange{{Start: now.Add(time.Hour).Format(time.TimeOnly), End: now.Add(2 * time.Hour).Format(time.TimeOnly)}}
		}, here, operator.ErrTimeOfDay},
		{"of an account", func(c *jwt.UserClaims) { c.IssuerAccount = w.account.public }, here, operator.ErrUntrusted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := jwt.NewUserClaims(w.user.public)
			c.Audience = "APP"
			c.Pub.Allow.Add("a.>")
			tt.user(c)
			u, err := operator.ReadUser(w.account.sign(t, c))
			if err != nil {
				t.Fatal(err)
			}
			if u.Audience() != "APP" {
				t.Errorf("audience = %q", u.Audience())
			}
			p, err := u.Permit(&tt.client, now)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			want := accounts.Rules{Allow: []string{"a.>"}}
			if got := p.Permissions.Publish; len(got.Allow) != 1 || got.Allow[0] != want.Allow[0] {
				t.Errorf("got permissions %+v, want %+v", got, want)
			}
			if c.Expires > 0 && p.Expires.Unix() != c.Expires {
				t.Errorf("expires %v, want %d", p.Expires, c.Expires)
			}
		})
	}
}

// TestTrusts: an account's own key and its plain signing keys speak for it, a key that is for users does not.
func TestTrusts(t *testing.T) {
	w := newWorld(t)
	signing, scoped, stranger := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	trust, err := operator.NewTrust(nil, []string{w.operator.public}, "2.15.2", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := trust.ReadAccount(w.accountToken(t, w.operator, func(c *jwt.AccountClaims) {
		c.SigningKeys.Add(signing.public)
		scope := jwt.NewUserScope()
		scope.Key = scoped.public
		c.SigningKeys.AddScopedSigner(scope)
	}), w.account.public, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, key string
		want      bool
	}{
		{"its own key", w.account.public, true},
		{"a signing key", signing.public, true},
		{"a key for users", scoped.public, false},
		{"a stranger's", stranger.public, false},
		{"none", "", false},
	} {
		if got := a.Trusts(tt.key); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
