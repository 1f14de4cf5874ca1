package accounts_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"runnel/server/accounts"
)

// TestVouch takes grants, those that fit and those that must be refused.
func TestVouch(t *testing.T) {
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(accounts.Config{Accounts: []accounts.AccountConfig{{Name: "A"}, {Name: "B"}}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: []accounts.AccountConfig{{Name: "A"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := policy.Account("A")
	pub := func(entry string) *accounts.Permissions {
		return &accounts.Permissions{Publish: accounts.Rules{Allow: []string{entry}}}
	}
	tests := []struct {
		name  string
		grant accounts.Grant
		kind  accounts.ConnectionType
		want  error // nil: admitted
		text  string
	}{
		{"nothing restricted", accounts.Grant{Account: a, Username: "u"}, "", nil, ""},
		{"permissions", accounts.Grant{Account: a, NKey: "U", Permissions: pub("a.>")}, "", nil, ""},
		{"kind of connection", accounts.Grant{Account: a, ConnectionTypes: []accounts.ConnectionType{accounts.WebSocket}}, accounts.WebSocket, nil, ""},
		{"no account", accounts.Grant{Username: "u"}, "", accounts.ErrAuthorization, "no such account"},
		{"account of another registry", accounts.Grant{Account: other.Account("A")}, "", accounts.ErrAuthorization, "no such account"},
		{"bad permission", accounts.Grant{Account: a, Permissions: pub("a..b")}, "", accounts.ErrAuthorization, `"a..b"`},
		{"another kind of connection", accounts.Grant{Account: a, ConnectionTypes: []accounts.ConnectionType{accounts.WebSocket}}, "", accounts.ErrConnectionType, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := policy.Vouch(&tt.grant, tt.kind)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if tt.want != nil {
				if !errors.Is(err, accounts.ErrAuthorization) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got error %v, want %q in it", err, tt.text)
				}
				return
			}
			if id.Account != a || id.Profile.Account() != a || !id.Of(policy) || id.Grant != &tt.grant {
				t.Errorf("got %+v, want an identity of account A under the policy", id)
			}
			if want := tt.grant.Username + tt.grant.NKey; id.DisplayName() != want {
				t.Errorf("display name = %q, want %q", id.DisplayName(), want)
			}
		})
	}
}

// TestVouchAgain checks what a reload makes of a grant: its account must be there still.
func TestVouchAgain(t *testing.T) {
	registry := accounts.NewRegistry()
	compile := func(names ...string) *accounts.Policy {
		var cfg accounts.Config
		for _, name := range names {
			cfg.Accounts = append(cfg.Accounts, accounts.AccountConfig{Name: name})
		}
		p, err := registry.Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := compile("A", "B")
	id, err := before.Vouch(&accounts.Grant{Account: before.Account("B"), Username: "u"}, "")
	if err != nil {
		t.Fatal(err)
	}
	after := compile("A", "B")
	again, ok := after.Revalidate(id)
	if !ok || !again.Of(after) || again.Profile != id.Profile || again.Grant != id.Grant {
		t.Errorf("got %+v, %v; want the same under the new policy", again, ok)
	}
	if again, ok := compile("A").Revalidate(id); ok {
		t.Errorf("got %+v although the account has gone", again)
	}
}

// TestVouchShares checks that grants which say the same have one profile, which is forgotten with the last of them.
func TestVouchShares(t *testing.T) {
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(accounts.Config{Accounts: []accounts.AccountConfig{{Name: "A"}, {Name: "B"}}})
	if err != nil {
		t.Fatal(err)
	}
	vouch := func(account string, subjects ...string) *accounts.Profile {
		p := &accounts.Permissions{Publish: accounts.Rules{Allow: subjects}}
		id, err := policy.Vouch(&accounts.Grant{Account: policy.Account(account), Permissions: p}, "")
		if err != nil {
			t.Fatal(err)
		}
		return id.Profile
	}
	one := vouch("A", "a", "b")
	if got := vouch("A", "b", "a"); got != one {
		t.Error("two profiles for the same permissions")
	}
	if got := vouch("B", "a", "b"); got == one {
		t.Error("one profile for two accounts")
	}
	if got := vouch("A", "a"); got == one {
		t.Error("one profile for different permissions")
	}
	runtime.KeepAlive(one)
	one = nil
	for range 100 {
		runtime.GC()
		if registry.Shared() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d profiles are kept that nobody has", registry.Shared())
}

// TestNoPublish checks that a subject which nobody of an account may publish to is denied to users with and
// without permissions, and to those who are vouched for, while the server itself may.
func TestNoPublish(t *testing.T) {
	registry := accounts.NewRegistry()
	all := &accounts.Permissions{Publish: accounts.Rules{Allow: []string{">"}}}
	policy, err := registry.Compile(accounts.Config{
		Accounts: []accounts.AccountConfig{
			{Name: "A", Users: []accounts.UserConfig{{Username: "plain"}, {Username: "all", Permissions: all}}},
			{Name: "B", Users: []accounts.UserConfig{{Username: "other"}}},
		},
		NoPublish: map[string][]string{"A": {"x.y"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(who string, p *accounts.Profile, denied bool) {
		t.Helper()
		if p.CanPublish("x.y") == denied || !p.CanPublish("x.z") {
			t.Errorf("%s: may publish x.y: %v, x.z: %v; want %v and true", who, p.CanPublish("x.y"), p.CanPublish("x.z"), !denied)
		}
	}
	for _, user := range []string{"plain", "all", "other"} {
		id, err := policy.Authenticate(accounts.Credentials{Username: user})
		if err != nil {
			t.Fatal(err)
		}
		check(user, id.Profile, user != "other")
		if d := id.Profile.Definition(); d != nil && len(d.Publish.Deny) > 0 {
			t.Errorf("%s: the definition shows %v", user, d.Publish.Deny)
		}
	}
	a := policy.Account("A")
	for _, permissions := range []*accounts.Permissions{nil, all} {
		id, err := policy.Vouch(&accounts.Grant{Account: a, Permissions: permissions}, "")
		if err != nil {
			t.Fatal(err)
		}
		check("vouched for", id.Profile, true)
	}
	b := policy.Account("B") // where only the grant itself says so
	id, err := policy.Vouch(&accounts.Grant{Account: b, NoPublish: []string{"x.y"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	check("vouched for with a subject of its own", id.Profile, true)
	check("the server", a.Profile(), false)
}

// TestClaimed asks whom credentials name, whatever their secret.
func TestClaimed(t *testing.T) {
	const key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
	compile := func(noAuthUser string, users ...accounts.UserConfig) *accounts.Policy {
		p, err := accounts.NewRegistry().Compile(accounts.Config{Users: users, NoAuthUser: noAuthUser})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	named, keyed := accounts.UserConfig{Username: "u", Password: "x"}, accounts.UserConfig{NKey: key}
	tests := []struct {
		name   string
		policy *accounts.Policy
		c      accounts.Credentials
		want   string
	}{
		{"name", compile("", named), accounts.Credentials{Username: "u", Password: "wrong"}, "u"},
		{"unknown name", compile("", named), accounts.Credentials{Username: "v"}, "v"},
		{"nkey", compile("", keyed), accounts.Credentials{NKey: key}, key},
		{"nkey where none is known", compile("", named), accounts.Credentials{NKey: key, Username: "u"}, "u"},
		{"token", compile("", named), accounts.Credentials{Token: "t"}, ""},
		{"nothing", compile("", named), accounts.Credentials{}, ""},
		{"nothing, with a user for that", compile("u", named), accounts.Credentials{}, "u"},
		{"nothing, with a key for that", compile(key, keyed), accounts.Credentials{}, key},
	}
	for _, tt := range tests {
		if got := tt.policy.Claimed(tt.c); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
