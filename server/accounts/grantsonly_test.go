package accounts_test

import (
	"errors"
	"slices"
	"testing"

	"runnel/server/accounts"
)

// TestGrantsOnly: accounts that were Put belong to the policy, and nobody gets in by what they know.
func TestGrantsOnly(t *testing.T) {
	r := accounts.NewRegistry()
	p, err := r.Compile(accounts.Config{
		Accounts: []accounts.AccountConfig{{Name: "SYS"}}, SystemAccount: "SYS", GrantsOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Activate(p)
	if !p.Required() || p.AnonymousAllowed() || !p.NeedsNonce() {
		t.Errorf("required %v, anonymous %v, nonce %v", p.Required(), p.AnonymousAllowed(), p.NeedsNonce())
	}
	for _, c := range []accounts.Credentials{{}, {Username: "a", Password: "b"}, {Token: "t"}, {JWT: "j"}} {
		if id, err := p.Authenticate(c); !errors.Is(err, accounts.ErrAuthorization) {
			t.Errorf("%+v: got %v, %v", c, id, err)
		}
	}
	if p.Account("A") != nil {
		t.Error("an account that was not Put is there")
	}
	a, errs := r.Put(accounts.AccountConfig{Name: "A"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if p.Account("A") != a {
		t.Error("an account that was Put is not there")
	}
	names := func() (all []string) {
		for a := range p.Accounts() {
			all = append(all, a.Name())
		}
		return all
	}
	if got, want := names(), []string{"$G", "A", "SYS"}; !slices.Equal(got, want) {
		t.Errorf("accounts: got %q, want %q", got, want)
	}
	if id, err := p.Vouch(&accounts.Grant{Account: a, NKey: "U"}, accounts.Standard); err != nil || id.Account != a {
		t.Errorf("a grant: got %v, %v", id, err)
	}
	r.Drop("A")
	if got := names(); !slices.Equal(got, []string{"$G", "SYS"}) || p.Account("A") != nil {
		t.Errorf("after Drop: got %q", got)
	}
	if _, err := p.Vouch(&accounts.Grant{Account: a, NKey: "U"}, accounts.Standard); !errors.Is(err, accounts.ErrAuthorization) {
		t.Errorf("a grant for an account that was dropped: got %v", err)
	}
}

// TestNothing: a limit may allow none at all.
func TestNothing(t *testing.T) {
	a, _ := accounts.NewRegistry().Put(accounts.AccountConfig{
		Name: "A", Limits: accounts.Limits{MaxConnections: accounts.Nothing, MaxSubscriptions: accounts.Nothing},
	})
	if a.TryAddConnection() || a.TryAddSubscription() {
		t.Error("something was allowed")
	}
}

func TestLimitOfPayload(t *testing.T) {
	for _, tt := range []struct {
		limit int64
		most  int
		want  int
	}{{0, 9, 9}, {-1, 9, 9}, {5, 9, 5}, {10, 9, 9}, {accounts.Nothing, 9, 0}} {
		l := accounts.Limits{MaxPayload: tt.limit}
		if got := l.Payload(tt.most); got != tt.want {
			t.Errorf("limit %d of %d: got %d, want %d", tt.limit, tt.most, got, tt.want)
		}
	}
}
