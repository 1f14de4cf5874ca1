package accounts_test

import (
	"testing"

	"runnel/server/accounts"
)

// TestImports asks on which subjects messages of another account may come.
func TestImports(t *testing.T) {
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Imports: []accounts.ImportConfig{{Account: "B", Subject: "out.>", To: "in.>"}}},
		{Name: "B", Exports: []accounts.ExportConfig{{Subject: "out.>"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	registry.Activate(policy)
	for _, c := range []struct {
		account, subject string
		want             bool
	}{{"A", "in.a", true}, {"A", "out.a", false}, {"B", "in.a", false}, {"B", "out.a", false}} {
		if got := policy.Account(c.account).Imports(c.subject); got != c.want {
			t.Errorf("account %s, subject %s: got %v, want %v", c.account, c.subject, got, c.want)
		}
	}
}
