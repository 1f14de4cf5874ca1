package accounts_test

import (
	"errors"
	"testing"

	"runnel/server/accounts"
)

// TestProxyRequired: a user who must come through a proxy is refused without one, and only once it is known.
func TestProxyRequired(t *testing.T) {
	list := accounts.Config{Users: []accounts.UserConfig{{Username: "bound", Password: "p", ProxyRequired: true}, {Username: "free", Password: "p"}}}
	everybody := list
	everybody.ProxyRequired = true
	tests := []struct {
		name  string
		cfg   accounts.Config
		c     accounts.Credentials
		proxy bool // one is required
	}{
		{"a user", list, accounts.Credentials{Username: "bound", Password: "p"}, true},
		{"another user", list, accounts.Credentials{Username: "free", Password: "p"}, false},
		{"all users", everybody, accounts.Credentials{Username: "free", Password: "p"}, true},
		{"the one user", accounts.Config{Username: "u", Password: "p", ProxyRequired: true}, accounts.Credentials{Username: "u", Password: "p"}, true},
		{"a token", accounts.Config{Token: "t", ProxyRequired: true}, accounts.Credentials{Token: "t"}, true},
		{"nobody in particular", accounts.Config{}, accounts.Credentials{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := accounts.NewRegistry()
			p := recompile(t, r, tt.cfg)
			_, err := p.Authenticate(tt.c)
			if errors.Is(err, accounts.ErrProxyRequired) != tt.proxy || tt.proxy == (err == nil) {
				t.Errorf("without a proxy: got error %v, want one: %v", err, tt.proxy)
			}
			tt.c.Proxy = "P"
			id := login(t, p, tt.c)
			if id.Proxy != "P" {
				t.Errorf("proxy = %q", id.Proxy)
			}
			if again, ok := recompile(t, r, tt.cfg).Revalidate(id); !ok || again.Proxy != "P" {
				t.Errorf("after a reload: %+v, %v", again, ok)
			}
		})
	}
	// The password is looked at first: whoever guesses does not learn about proxies.
	if _, err := compile(t, list).Authenticate(accounts.Credentials{Username: "bound", Password: "wrong"}); !errors.Is(err, accounts.ErrPassword) {
		t.Errorf("got error %v, want %v", err, accounts.ErrPassword)
	}
	// Who came without one goes when it is required.
	r := accounts.NewRegistry()
	id := login(t, recompile(t, r, list), accounts.Credentials{Username: "free", Password: "p"})
	if _, ok := recompile(t, r, everybody).Revalidate(id); ok {
		t.Error("a client without a proxy stays although one is required now")
	}
}
