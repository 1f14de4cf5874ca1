package accounts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/accounts"
)

type rules = accounts.Rules

func TestCanPublish(t *testing.T) {
	tests := []struct {
		name    string
		rules   rules
		allowed []string
		denied  []string
	}{
		{"no rules", rules{}, []string{"a", "a.b", "*", "a..b"}, nil},
		{
			"allow literal",
			rules{Allow: []string{"a.b"}},
			[]string{"a.b"},
			[]string{"a", "a.b.c", "a.*", "a.>", "x.b", "a.bb", "A.b"},
		},
		{
			"allow star",
			rules{Allow: []string{"a.*.c"}},
			[]string{"a.b.c", "a.*.c", "a.>.c"},
			[]string{"a.b", "a.b.c.d", "b.b.c"},
		},
		{
			"allow tail takes wildcards literally",
			rules{Allow: []string{"a.>"}},
			[]string{"a.b", "a.b.c", "a.*", "a.>"},
			[]string{"a", "b", "a..b", "a.b."},
		},
		{"allow all", rules{Allow: []string{">"}}, []string{"a", "a.b"}, []string{"a..b", ""}},
		{
			"deny literal",
			rules{Deny: []string{"a.b"}},
			[]string{"a", "a.c", "a.*", "a.>"},
			[]string{"a.b"},
		},
		{
			"deny goes before allow",
			rules{Allow: []string{"a.>"}, Deny: []string{"a.secret", "a.*.x", "a.top.>"}},
			[]string{"a.b", "a.secret.b", "a.top"},
			[]string{"a.secret", "a.b.x", "a.top.b", "b"},
		},
		{"deny the same", rules{Allow: []string{"a"}, Deny: []string{"a"}}, nil, []string{"a"}},
		{"star inside a token is a letter", rules{Allow: []string{"a*", "b>.*"}}, []string{"a*", "b>.x"}, []string{"ab", "b.x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, accounts.Permissions{Publish: tt.rules})
			for _, s := range tt.allowed {
				if !p.CanPublish(s) {
					t.Errorf("CanPublish(%q) = false, want true", s)
				}
			}
			for _, s := range tt.denied {
				if p.CanPublish(s) {
					t.Errorf("CanPublish(%q) = true, want false", s)
				}
			}
		})
	}
}

func TestCanPublishPrefix(t *testing.T) {
	tests := []struct {
		rules            rules
		prefix           string
		allowed, uniform bool
	}{
		{rules{}, "a.", true, true},
		{rules{Allow: []string{"a.*"}}, "a.", true, true},
		{rules{Allow: []string{"a.>"}}, "a.b.c.", true, true},
		{rules{Allow: []string{"a.b"}}, "a.", false, false},
		{rules{Allow: []string{"a.b"}}, "b.", false, true},
		{rules{Allow: []string{"a.b"}}, "a.b.", false, true},
		{rules{Allow: []string{"a.b", "a.*"}}, "a.", true, true},
		{rules{Allow: []string{"*.b"}}, "a.", false, false},
		{rules{Allow: []string{"*.b.>"}}, "a.", false, true},
		{rules{Allow: []string{"a.b.>"}}, "a.b.", true, true},
		{rules{Allow: []string{"a.b.>"}}, "a.", false, true},
		{rules{Deny: []string{"a.b"}}, "a.", true, false},
		{rules{Deny: []string{"a.b", "a.>"}}, "a.", false, true},
		{rules{Deny: []string{"*.b"}}, "a.", true, false},
		{rules{Deny: []string{"*.*.b"}}, "a.", true, true},
		{rules{Allow: []string{"b.>"}, Deny: []string{"a.b"}}, "a.", false, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.rules, tt.prefix), func(t *testing.T) {
			p := profile(t, accounts.Permissions{Publish: tt.rules})
			allowed, uniform := p.CanPublishPrefix(tt.prefix)
			if allowed != tt.allowed || uniform != tt.uniform {
				t.Errorf("CanPublishPrefix(%q) = %v, %v, want %v, %v", tt.prefix, allowed, uniform, tt.allowed, tt.uniform)
			}
		})
	}
}

// TestCanSubscribe has subscriptions as "subject" or "subject queue".
func TestCanPublishBelow(t *testing.T) {
	tests := []struct {
		allow, deny      string
		allowed, uniform bool
	}{
		{"", "", true, true},
		{">", "", true, true},
		{"$JS.ACK.>", "", true, true},
		{"$JS.ACK.*.*.>", "", true, true},
		{"$JS.ACK.S.C.>", "x", true, true},
		{"$JS.ACK.S.C.*", "", false, false}, // those with one token more
		{"$JS.ACK.S.C.1.2", "", false, false},
		{"$JS.ACK.S.*", "", false, true},
		{"$JS.ACK.S.D.>", "", false, true},
		{"x", "", false, true},
		{"", "$JS.ACK.>", false, true},
		{"", "*.ACK.S.C.>", false, true},
		{">", "$JS.ACK.S.C.1.>", true, false},
		{">", "$JS.ACK.S.C.*", true, false},
		{">", "$JS.ACK.S.C", true, true},
	}
	for _, tt := range tests {
		p := profile(t, accounts.Permissions{Publish: rules{Allow: strings.Fields(tt.allow), Deny: strings.Fields(tt.deny)}})
		allowed, uniform := p.CanPublishBelow("$JS.ACK.S.C.")
		if allowed != tt.allowed || uniform != tt.uniform {
			t.Errorf("allow %q, deny %q: %v, %v, want %v, %v", tt.allow, tt.deny, allowed, uniform, tt.allowed, tt.uniform)
		}
	}
}

func TestCanSubscribe(t *testing.T) {
	tests := []struct {
		name    string
		rules   rules
		allowed []string
		denied  []string
	}{
		{"no rules", rules{}, []string{"a", "a.*", ">", "a q"}, []string{"a _sys_", "> _sys_"}},
		{
			"allow is a superset",
			rules{Allow: []string{"foo.*"}},
			[]string{"foo.a", "foo.*", "foo.a q", "foo.* q"},
			[]string{"foo.>", "*.a", "foo", ">", "foo.a.b", "foo.> q"},
		},
		{
			"allow tail",
			rules{Allow: []string{"foo.>"}},
			[]string{"foo.a", "foo.*", "foo.>", "foo.*.b.>"},
			[]string{"*.a", "foo", ">", "*.>"},
		},
		{
			"rules are not added up",
			rules{Allow: []string{"foo.a", "foo.b", "*.b"}},
			[]string{"*.b", "x.b", "foo.a"},
			[]string{"foo.*", "*.*"},
		},
		{
			"deny",
			rules{Deny: []string{"foo.bar"}},
			[]string{"foo.*", "foo.>", ">", "foo.* q"},
			[]string{"foo.bar", "foo.bar q"},
		},
		{
			"deny wildcard",
			rules{Deny: []string{"foo.*"}},
			[]string{"foo.>", "*.bar", "*.*", "foo"},
			[]string{"foo.bar", "foo.*", "foo.* q"},
		},
		{
			"a queue name does not get around a deny rule",
			rules{Allow: []string{"foo.>"}, Deny: []string{"foo.secret"}},
			[]string{"foo.*", "foo.open q"},
			[]string{"foo.secret", "foo.secret q"},
		},
		{"allow for a queue", rules{Allow: []string{"foo q1"}}, []string{"foo q1"}, []string{"foo", "foo q2", "bar q1"}},
		{"allow for all and a queue", rules{Allow: []string{"foo", "foo q1"}}, []string{"foo", "foo q1"}, []string{"foo q2"}},
		{
			"queue rules hold for their subject",
			rules{Allow: []string{"foo.>", "foo.bar q1"}},
			[]string{"foo.bar", "foo.bar q1", "foo.x q3"},
			[]string{"foo.bar q2"},
		},
		{
			"queue patterns",
			rules{Allow: []string{"foo.* q.*", "bar *.dev", "bar v1.>", "any >"}},
			[]string{"foo.a q.a", "foo.* q.x", "foo.a q.*", "bar a.dev", "bar v1.a.b", "any x.y", "any z"},
			[]string{"foo.a", "foo.a q", "foo.a q.a.b", "bar dev", "bar v1", "any", "any a..b"},
		},
		{"deny for a queue", rules{Deny: []string{"foo q1"}}, []string{"foo", "foo q2"}, []string{"foo q1"}},
		{"deny for all and a queue", rules{Deny: []string{"foo", "foo q1"}}, nil, []string{"foo", "foo q1", "foo q2"}},
		{
			"deny for queue patterns",
			rules{Deny: []string{"> *.prod"}},
			[]string{"foo", "foo x", "foo prod"},
			[]string{"foo a.prod", "foo.* b.prod"},
		},
		{
			"allow and deny for queues",
			rules{Allow: []string{"foo q1", "bar"}, Deny: []string{"foo q1", "bar q1"}},
			[]string{"bar", "bar q2"},
			[]string{"foo q1", "foo", "bar q1"},
		},
		{"deny for all, allow for a queue", rules{Allow: []string{"foo q1"}, Deny: []string{"foo"}}, nil, []string{"foo q1", "foo"}},
		{"allow all", rules{Allow: []string{">"}}, []string{"a", ">", "a q"}, []string{"a _sys_"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, accounts.Permissions{Subscribe: tt.rules})
			for _, s := range tt.allowed {
				if !p.CanSubscribe(subjectAndQueue(s)) {
					t.Errorf("CanSubscribe(%q) = false, want true", s)
				}
			}
			for _, s := range tt.denied {
				if p.CanSubscribe(subjectAndQueue(s)) {
					t.Errorf("CanSubscribe(%q) = true, want false", s)
				}
			}
		})
	}
}

func TestCanReceive(t *testing.T) {
	tests := []struct {
		name     string
		rules    rules
		filters  bool
		allowed  []string
		filtered []string
	}{
		{"no rules", rules{}, false, []string{"a", "a q"}, nil},
		{"allow rules do not filter", rules{Allow: []string{"foo.>"}}, false, []string{"foo.a", "foo.a q"}, nil},
		{
			"deny",
			rules{Allow: []string{"foo.>"}, Deny: []string{"foo.secret"}},
			true,
			[]string{"foo.open", "foo.open q", "foo.*"},
			[]string{"foo.secret", "foo.secret q"},
		},
		{
			"deny for a queue",
			rules{Deny: []string{"foo.bar q1", "foo.x *.prod"}},
			true,
			[]string{"foo.bar", "foo.bar q2", "foo.x", "foo.x prod", "foo.y q1"},
			[]string{"foo.bar q1", "foo.x a.prod"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, accounts.Permissions{Subscribe: tt.rules})
			if got := p.FiltersDelivery(); got != tt.filters {
				t.Errorf("FiltersDelivery() = %v, want %v", got, tt.filters)
			}
			for _, s := range tt.allowed {
				if !p.CanReceive(subjectAndQueue(s)) {
					t.Errorf("CanReceive(%q) = false, want true", s)
				}
			}
			for _, s := range tt.filtered {
				if p.CanReceive(subjectAndQueue(s)) {
					t.Errorf("CanReceive(%q) = true, want false", s)
				}
			}
		})
	}
}

func TestResponsePermissions(t *testing.T) {
	type response = accounts.ResponsePermission
	tests := []struct {
		name        string
		permissions accounts.Permissions
		want        *response
		publish     bool // to "x"
		unlimited   bool
	}{
		{"none", accounts.Permissions{}, nil, true, true},
		{"defaults", accounts.Permissions{Responses: &response{}}, &response{Max: 1, Expires: 2 * time.Minute}, false, false},
		{
			"no publish rule but deny",
			accounts.Permissions{Publish: rules{Deny: []string{"y"}}, Responses: &response{Max: 3}},
			&response{Max: 3, Expires: 2 * time.Minute}, false, false,
		},
		{
			"publish rule",
			accounts.Permissions{Publish: rules{Allow: []string{"x"}}, Responses: &response{Max: -1, Expires: -1}},
			&response{Max: -1, Expires: -1}, true, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, tt.permissions)
			if got := p.Responses(); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
				t.Errorf("Responses() = %+v, want %+v", got, tt.want)
			}
			if got := p.CanPublish("x"); got != tt.publish {
				t.Errorf("CanPublish(x) = %v, want %v", got, tt.publish)
			}
			if allowed, uniform := p.CanPublishPrefix("p."); allowed && !tt.publish || !uniform {
				t.Errorf("CanPublishPrefix(p.) = %v, %v", allowed, uniform)
			}
			if got := p.Unlimited(); got != tt.unlimited {
				t.Errorf("Unlimited() = %v, want %v", got, tt.unlimited)
			}
		})
	}
}

func TestProfilesAreShared(t *testing.T) {
	permissions := func(subjects ...string) *accounts.Permissions {
		return &accounts.Permissions{Publish: rules{Allow: subjects}, Responses: &accounts.ResponsePermission{}}
	}
	user := func(name string, p *accounts.Permissions) accounts.UserConfig {
		return accounts.UserConfig{Username: name, Permissions: p}
	}
	p := compile(t, accounts.Config{
		DefaultPermissions: permissions("b", "a"),
		Users: []accounts.UserConfig{
			user("a", permissions("a", "b")), user("b", permissions("b", "a", "a")), user("c", permissions("a")), user("default", nil),
		},
		Accounts: []accounts.AccountConfig{{Name: "A", Users: []accounts.UserConfig{
			user("other", permissions("a", "b")), user("free", nil),
		}}},
	})
	profileOf := func(name string) *accounts.Profile {
		return login(t, p, accounts.Credentials{Username: name}).Profile
	}
	if a, b, d := profileOf("a"), profileOf("b"), profileOf("default"); a != b || a != d {
		t.Error("users with the same permissions have different profiles")
	}
	if profileOf("a") == profileOf("c") || profileOf("a") == profileOf("other") {
		t.Error("users with different permissions or accounts have the same profile")
	}
	if got, want := profileOf("other").Account(), p.Account("A"); got != want {
		t.Errorf("account = %v, want %v", got, want)
	}
	if got, want := profileOf("free"), p.Account("A").Profile(); got != want || !got.Unlimited() || got.Definition() != nil {
		t.Errorf("profile of a free user is %+v, want the one of the account", got)
	}
	if got := profileOf("a").Definition().Responses.Max; got != 1 {
		t.Errorf("definition has Max = %d, want the default 1", got)
	}
}

// TestDefinitionIsACopy: the caller's Config may change afterwards.
func TestDefinitionIsACopy(t *testing.T) {
	permissions := accounts.Permissions{Publish: rules{Allow: []string{"a"}}}
	p := profile(t, permissions)
	permissions.Publish.Allow[0] = "b"
	if got := p.Definition().Publish.Allow[0]; got != "a" || !p.CanPublish("a") {
		t.Errorf("definition = %q, want a", got)
	}
}
