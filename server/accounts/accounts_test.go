package accounts_test

import (
	"testing"

	"runnel/server/accounts"
)

// compile returns the active policy for cfg, with a new registry.
func compile(t testing.TB, cfg accounts.Config) *accounts.Policy {
	t.Helper()
	return recompile(t, accounts.NewRegistry(), cfg)
}

// recompile compiles cfg and makes it active.
func recompile(t testing.TB, r *accounts.Registry, cfg accounts.Config) *accounts.Policy {
	t.Helper()
	p, err := r.Compile(cfg)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	r.Activate(p)
	return p
}

// login returns the identity that c leads to.
func login(t testing.TB, p *accounts.Policy, c accounts.Credentials) *accounts.Identity {
	t.Helper()
	id, err := p.Authenticate(c)
	if err != nil {
		t.Fatalf("Authenticate(%+v): %v", c, err)
	}
	return id
}

// profile returns the profile of a user with these permissions.
func profile(t testing.TB, permissions accounts.Permissions) *accounts.Profile {
	t.Helper()
	p := compile(t, accounts.Config{Users: []accounts.UserConfig{
		{Username: "u", Password: "p", Permissions: &permissions},
	}})
	return login(t, p, accounts.Credentials{Username: "u", Password: "p"}).Profile
}
