package accounts_test

import (
	"testing"

	"runnel/server/accounts"
)

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		rules          accounts.Rules
		subject        string
		covers, allows bool
	}{
		{accounts.Rules{}, "a", true, true},
		{accounts.Rules{Allow: []string{"a.*"}}, "a.b", true, true},
		{accounts.Rules{Allow: []string{"a.*"}}, "b", false, false},
		{accounts.Rules{Allow: []string{"a.*"}}, ">", false, false},
		{accounts.Rules{Deny: []string{"a.b"}}, "a.b", false, false},
		{accounts.Rules{Deny: []string{"a.b"}}, "a.*", true, true},
		{accounts.Rules{Allow: []string{"a.>"}, Deny: []string{"a.b"}}, "a.c", true, true},
	} {
		b, err := accounts.NewBounds(tt.rules)
		if err != nil {
			t.Fatal(err)
		}
		if b.Covers(tt.subject) != tt.covers || b.Allows(tt.subject) != tt.allows {
			t.Errorf("%v, %q: covers %t, allows %t", tt.rules, tt.subject, b.Covers(tt.subject), b.Allows(tt.subject))
		}
	}
	if _, err := accounts.NewBounds(accounts.Rules{Allow: []string{"a..b"}}); err == nil {
		t.Error("a bad subject is taken")
	}
}

// TestNumbers: accounts are numbered, and tell when what they share has changed.
func TestNumbers(t *testing.T) {
	r := accounts.NewRegistry()
	activate := func(imports ...accounts.ImportConfig) *accounts.Policy {
		p, err := r.Compile(accounts.Config{Accounts: []accounts.AccountConfig{
			{Name: "A", Exports: []accounts.ExportConfig{{Subject: "s.*"}}}, {Name: "B", Imports: imports},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.Activate(p)
		return p
	}
	p := activate()
	a, b := p.Account("A"), p.Account("B")
	if a.Number() == b.Number() || a.Number() == 0 {
		t.Errorf("numbers %d, %d", a.Number(), b.Number())
	}
	before := b.Shifts()
	activate(accounts.ImportConfig{Account: "A", Subject: "s.*", To: "t.*"})
	if a.Shifts() == 0 || b.Shifts() == before {
		t.Errorf("shifts %d, %d after an import has come", a.Shifts(), b.Shifts())
	}
	for i := range a.Crossings().Streams("s.x") {
		if remote, local := i.Patterns(); remote != "s.*" || local != "t.*" {
			t.Errorf("imports %q as %q", remote, local)
		}
	}
}
