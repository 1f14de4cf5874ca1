package accounts_test

import (
	"testing"

	"runnel/server/accounts"
)

// TestIdentityOf: whoever binds a connection can tell whether a reload came in between.
func TestIdentityOf(t *testing.T) {
	configs := map[string]accounts.Config{
		"open":     {},
		"password": {Username: "u", Password: "p"},
		"token":    {Token: "t"},
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			r := accounts.NewRegistry()
			first, err := r.Compile(cfg)
			if err != nil {
				t.Fatal(err)
			}
			second, err := r.Compile(cfg)
			if err != nil {
				t.Fatal(err)
			}
			id, err := first.Authenticate(accounts.Credentials{Username: cfg.Username, Password: cfg.Password, Token: cfg.Token})
			if err != nil {
				t.Fatal(err)
			}
			if !id.Of(first) || id.Of(second) {
				t.Errorf("identity is of first: %v, of second: %v; want true, false", id.Of(first), id.Of(second))
			}
			again, ok := second.Revalidate(id)
			if !ok || !again.Of(second) || again.Of(first) {
				t.Errorf("revalidated (%v) identity is not of the second policy alone", ok)
			}
		})
	}
}
