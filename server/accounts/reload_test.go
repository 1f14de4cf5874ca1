package accounts_test

import (
	"encoding/base64"
	"strings"
	"sync"
	"testing"

	"runnel/server/accounts"
)

// TestRevalidate logs in under one configuration and asks another one.
func TestRevalidate(t *testing.T) {
	pair, public := newKey(t)
	key := credentials{NKey: public, Nonce: nonce, Signature: base64.RawURLEncoding.EncodeToString(sign(t, pair, nonce))}
	certificate := credentials{PeerCertificates: named(t, relative(commonName, "c"))}
	hashed := hash(t, "p")
	a, b := userConfig{Username: "a", Password: "p"}, userConfig{Username: "b", Password: "p"}
	limitedA := a
	limitedA.Permissions = &accounts.Permissions{Publish: rules{Allow: []string{"x"}}}
	socketA := a
	socketA.ConnectionTypes = []accounts.ConnectionType{accounts.WebSocket}
	users := func(u ...userConfig) config { return config{Users: u} }
	in := func(account string, u ...userConfig) config {
		return config{Accounts: []accounts.AccountConfig{{Name: account, Users: u}}}
	}
	mapped := func(c config) config { c.MapCertificates = true; return c }
	noAuth := func(c config, name string) config { c.NoAuthUser = name; return c }
	c, cp := userConfig{Username: "CN=c"}, userConfig{Username: "CN=c", Password: "p"}
	n := userConfig{NKey: public}

	tests := []struct {
		name     string
		old, new config
		c        credentials
		stays    bool
	}{
		{"same", users(a), users(a), user("a", "p"), true},
		{"other users come and go", users(a, b), users(n, a), user("a", "p"), true},
		{"removed", users(a, b), users(b), user("a", "p"), false},
		{"other password", users(a), users(userConfig{Username: "a", Password: "q"}), user("a", "p"), false},
		{"same password, hashed", users(a), users(userConfig{Username: "a", Password: hashed}), user("a", "p"), false},
		{"hash stays", users(userConfig{Username: "a", Password: hashed}), users(userConfig{Username: "a", Password: hashed}), user("a", "p"), true},
		{"other permissions", users(a), users(limitedA), user("a", "p"), true},
		{"other account", users(a), in("A", a), user("a", "p"), false},
		{"same account", in("A", a), in("A", a, b), user("a", "p"), true},
		{"connection type", users(a), users(socketA), user("a", "p"), false},
		{"connection type fits", users(a), users(socketA), credentials{Username: "a", Password: "p", Type: accounts.WebSocket}, true},
		{"list becomes single", users(a), config{Username: "a", Password: "p"}, user("a", "p"), true},
		{"nothing required any more", users(a), config{}, user("a", "p"), false},
		{"nkey", users(n), users(a, n), key, true},
		{"nkey removed", users(n), users(a), key, false},
		{"token", config{Token: "t"}, config{Token: "t"}, credentials{Token: "t"}, true},
		{"other token", config{Token: "t"}, config{Token: "u"}, credentials{Token: "t"}, false},
		{"token removed", config{Token: "t"}, users(a), credentials{Token: "t"}, false},
		{"certificate", mapped(users(c)), mapped(users(c, a)), certificate, true},
		{"certificate removed", mapped(users(c)), mapped(users(a)), certificate, false},
		{"certificates not mapped", mapped(users(c)), users(c), certificate, false},
		{"certificate needs a password", mapped(users(c)), mapped(users(cp)), certificate, false},
		{"open stays open", config{}, config{}, credentials{}, true},
		{"open with a name", config{}, config{}, user("x", "y"), true},
		{"open becomes closed", config{}, users(a), credentials{}, false},
		{"open, with credentials, becomes closed", config{}, users(a), user("a", "p"), false},
		{"open becomes no_auth_user", config{}, noAuth(users(a), "a"), credentials{}, true},
		{"open, with credentials, is no no_auth_user", config{}, noAuth(users(a), "a"), user("x", "y"), false},
		{"no_auth_user stays", noAuth(users(a), "a"), noAuth(users(a, b), "a"), credentials{}, true},
		{"other no_auth_user", noAuth(users(a, b), "a"), noAuth(users(a, b), "b"), credentials{}, true},
		{"no_auth_user removed", noAuth(users(a), "a"), users(a), credentials{}, false},
		{"no_auth_user in another account", noAuth(users(a), "a"), noAuth(in("A", a), "a"), credentials{}, false},
		{"no_auth_user becomes open", noAuth(users(a), "a"), config{}, credentials{}, true},
		{"no_auth_user as connection type", noAuth(users(a), "a"), noAuth(users(socketA), "a"), credentials{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := accounts.NewRegistry()
			old := login(t, recompile(t, r, tt.old), tt.c)
			p := recompile(t, r, tt.new)
			id, ok := p.Revalidate(old)
			if ok != tt.stays || ok && id == nil {
				t.Fatalf("Revalidate = %v, %v, want stays = %v", id, ok, tt.stays)
			}
			if !ok {
				if moved := strings.HasSuffix(tt.name, "other account"); moved != (id != nil) {
					t.Errorf("got %v, want one in another account: %v", id, moved)
				}
				return
			}
			if id.Account != old.Account || id.Profile.Account() != id.Account {
				t.Error("the account is another one")
			}
			if fresh := login(t, p, tt.c); fresh.Profile != id.Profile || fresh.DisplayName() != id.DisplayName() || fresh.Username != id.Username {
				t.Errorf("Revalidate gives %+v, a new login %+v", id, fresh)
			}
			if again, ok := p.Revalidate(id); !ok || again.Profile != id.Profile {
				t.Errorf("a second Revalidate gives %+v, %v", again, ok)
			}
		})
	}
}

func TestRevalidateGivesNewProfile(t *testing.T) {
	r := accounts.NewRegistry()
	u := userConfig{Username: "a"}
	old := login(t, recompile(t, r, config{Users: []userConfig{u}}), user("a", ""))
	u.Permissions = &accounts.Permissions{Publish: rules{Allow: []string{"x"}}}
	id, ok := recompile(t, r, config{Users: []userConfig{u}}).Revalidate(old)
	if !ok || id.Profile.CanPublish("y") || !old.Profile.CanPublish("y") {
		t.Errorf("Revalidate = %+v, %v, want a profile that forbids y, and the old one as it was", id, ok)
	}
}

func TestRegistryKeepsAccounts(t *testing.T) {
	r := accounts.NewRegistry()
	withA := config{Accounts: []accounts.AccountConfig{{Name: "A", Limits: accounts.Limits{MaxConnections: 1}}}}
	a := recompile(t, r, withA).Account("A")
	if !a.TryAddConnection() || a.TryAddConnection() {
		t.Fatal("the limit of one connection does not hold")
	}
	sub := newSubscription("x", "")
	a.Interest().Insert(&sub.Entry)

	recompile(t, r, config{})
	if got := recompile(t, r, withA).Account("A"); got != a {
		t.Error("an account with a connection was forgotten")
	}
	a.RemoveConnection()
	recompile(t, r, config{})
	if got := recompile(t, r, withA).Account("A"); got != a {
		t.Error("an account with a subscription was forgotten")
	}
	a.Interest().Remove(&sub.Entry)
	recompile(t, r, config{})
	if got := recompile(t, r, withA).Account("A"); got == a {
		t.Error("an account that nobody uses was kept")
	}
}

// TestRegistryForgetsWatched: who watches the interest in an account does not use it, and hears nothing of the
// account that has its name later.
func TestRegistryForgetsWatched(t *testing.T) {
	r := accounts.NewRegistry()
	withA := config{Accounts: []accounts.AccountConfig{{Name: "A"}}}
	a := recompile(t, r, withA).Account("A")
	told := []bool{}
	watch := a.Interest().Watch("x", "", func(matched bool) { told = append(told, matched) })
	sub := newSubscription("x", "")
	a.Interest().Insert(&sub.Entry)
	a.Interest().Remove(&sub.Entry)
	recompile(t, r, config{})
	next := recompile(t, r, withA).Account("A")
	if next == a {
		t.Fatal("an account that is only watched was kept")
	}
	next.Interest().Insert(&sub.Entry)
	a.Interest().Unwatch(watch)
	if len(told) != 3 || told[0] || !told[1] || told[2] {
		t.Errorf("told %v, want that nobody, somebody, nobody was there", told)
	}
}

// TestCompileChangesNothing: limits hold from Activate on, and an invalid
// configuration leaves all as it is.
func TestCompileChangesNothing(t *testing.T) {
	r := accounts.NewRegistry()
	with := func(limit int64) config {
		return config{Accounts: []accounts.AccountConfig{{Name: "A", Limits: accounts.Limits{MaxPayload: limit}}}}
	}
	a := recompile(t, r, with(10)).Account("A")
	p, err := r.Compile(with(20))
	if err != nil {
		t.Fatal(err)
	}
	bad := with(30)
	bad.NoAuthUser = "nobody"
	if _, err := r.Compile(bad); err == nil {
		t.Fatal("Compile accepts a bad configuration")
	}
	if got := a.Limits().MaxPayload; got != 10 {
		t.Errorf("limit = %d before Activate, want 10", got)
	}
	if got := p.Limits("A").MaxPayload; got != 20 {
		t.Errorf("limit of the policy = %d, want 20", got)
	}
	r.Activate(p)
	if got := a.Limits().MaxPayload; got != 20 {
		t.Errorf("limit = %d after Activate, want 20", got)
	}
}

// TestReloadConcurrently logs in and revalidates while policies come and go.
func TestReloadConcurrently(t *testing.T) {
	r := accounts.NewRegistry()
	cfg := config{Accounts: []accounts.AccountConfig{{Name: "A", Users: []userConfig{
		{Username: "a", Password: "p", Permissions: &accounts.Permissions{Publish: rules{Allow: []string{"x"}}}},
	}}}}
	p := recompile(t, r, cfg)
	old := login(t, p, user("a", "p"))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range 200 {
				id, err := p.Authenticate(user("a", "p"))
				if err != nil || !id.Profile.CanPublish("x") || !id.Account.TryAddConnection() {
					t.Errorf("login failed: %v", err)
					return
				}
				id.Account.RemoveConnection()
			}
		})
	}
	for range 200 {
		if id, ok := recompile(t, r, cfg).Revalidate(old); !ok || id.Account != old.Account {
			t.Error("Revalidate failed")
		}
	}
	group.Wait()
}
