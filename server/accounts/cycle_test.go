package accounts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/server/accounts"
)

// TestImportCycles compiles rings of imports: they are refused with the way that a message would take.
func TestImportCycles(t *testing.T) {
	all := []exportConfig{{Subject: ">"}, {Service: true, Subject: ">"}}
	account := func(name string, imports ...importConfig) accountConfig {
		return accountConfig{Name: name, Exports: all, Imports: imports}
	}
	stream := func(account, subject, to string) importConfig {
		return importConfig{Account: account, Subject: subject, To: to}
	}
	service := func(account, subject, to string) importConfig {
		return importConfig{Service: true, Account: account, Subject: subject, To: to}
	}
	tests := []struct {
		name     string
		accounts []accountConfig
		want     string // the way, empty for no cycle
	}{
		{"from itself", []accountConfig{account("A", stream("A", "q", "r"))}, ""},
		{"from itself to the same", []accountConfig{account("A", stream("A", "q.*", ""))}, `streams: "q.*" of account "A" -> "q.*" of account "A"`},
		{"from itself to a part", []accountConfig{account("A", stream("A", "q.>", "q.x.>"))}, `streams: "q.>" of account "A" -> "q.>" of account "A"`},
		{"to and fro on other subjects", []accountConfig{account("A", stream("B", "b.>", "")), account("B", stream("A", "a.>", ""))}, ""},
		{"to and fro", []accountConfig{account("A", stream("B", "b.>", "")), account("B", stream("A", "b.x", ""))}, `streams: "b.>" of account "B" -> "b.x" of account "A" -> "b.>" of account "B"`},
		{"to and fro by wildcards", []accountConfig{account("A", stream("B", "*.x", "")), account("B", stream("A", "x.*", ""))}, `streams: "x.*" of account "A"`},
		{"services", []accountConfig{account("A", service("B", "q", "r")), account("B", service("A", "r", "q"))}, `services: "r" of account "A" -> "q" of account "B" -> "r" of account "A"`},
		{"services and streams", []accountConfig{account("A", service("B", "q", "r")), account("B", stream("A", "q", ""))}, ""},
		{
			"a ring of three behind a tail",
			[]accountConfig{
				account("A", stream("B", "x", "")), account("B", stream("C", "y", "x")),
				account("C", stream("D", "z", "y")), account("D", stream("B", "x", "z")),
			},
			`streams: "x" of account "B" -> "z" of account "D" -> "y" of account "C" -> "x" of account "B"`,
		},
		{
			"two ways to one place",
			[]accountConfig{
				account("A", stream("B", "x", "b"), stream("C", "x", "c")),
				account("B", stream("D", "x", "")), account("C", stream("D", "x", "")), account("D"),
			},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: tt.accounts})
			if (err != nil) != (tt.want != "") || err != nil && !errors.Is(err, accounts.ErrImportCycle) {
				t.Fatalf("got %v, want a cycle: %v", err, tt.want != "")
			}
			if err != nil && !sameRing(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			r := accounts.NewRegistry()
			var last []error
			for i := range tt.accounts {
				_, last = r.Put(tt.accounts[i])
			}
			for i := range tt.accounts { // those that came too early
				_, errs := r.Put(tt.accounts[i])
				last = append(last, errs...)
			}
			if err := errors.Join(last...); errors.Is(err, accounts.ErrImportCycle) != (tt.want != "") {
				t.Errorf("Put: got %v, want a cycle: %v", err, tt.want != "")
			}
		})
	}
}

// sameRing reports whether a message has the ring of want, from wherever it begins.
func sameRing(message, want string) bool {
	kind, ring, _ := strings.Cut(want, ": ")
	steps := strings.Split(ring, " -> ")
	if !strings.Contains(message, "import cycle of "+kind) {
		return false
	}
	for range steps {
		if strings.Contains(message, strings.Join(steps, " -> ")) {
			return true
		}
		if len(steps) > 1 {
			steps = append(steps[1:], steps[1])
		}
	}
	return false
}

// TestLongChains compiles a chain through many accounts, and then closes it.
func TestLongChains(t *testing.T) {
	const n = 5000
	list := make([]accountConfig, n)
	for i := range list {
		list[i] = accountConfig{Name: fmt.Sprint(i), Exports: []exportConfig{{Subject: "q.>"}}}
		if i > 0 {
			list[i].Imports = []importConfig{{Account: fmt.Sprint(i - 1), Subject: "q.>"}}
		}
	}
	r := accounts.NewRegistry()
	if _, err := r.Compile(accounts.Config{Accounts: list}); err != nil {
		t.Fatal(err)
	}
	list[0].Imports = []importConfig{{Account: fmt.Sprint(n - 1), Subject: "q.1"}}
	_, err := r.Compile(accounts.Config{Accounts: list})
	if !errors.Is(err, accounts.ErrImportCycle) {
		t.Fatalf("got %v, want a cycle", err)
	}
	if len(err.Error()) > 2000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

// TestHubs compiles an account that many import from and that imports from many: the time does not grow with the product.
// Then all of them close cycles, of which not all are told.
func TestHubs(t *testing.T) {
	const n = 3000
	hub := accountConfig{Name: "hub", Exports: []exportConfig{{Subject: ">"}}}
	list := make([]accountConfig, 0, 2*n+1)
	for i := range n {
		in, out := fmt.Sprint("in", i), fmt.Sprint("out", i)
		hub.Imports = append(hub.Imports, importConfig{Account: in, Subject: "a", To: "b"})
		list = append(
			list,
			accountConfig{Name: in, Exports: []exportConfig{{Subject: ">"}}},
			accountConfig{Name: out, Imports: []importConfig{{Account: "hub", Subject: "b"}}},
		)
	}
	list = append(list, hub)
	r := accounts.NewRegistry()
	if _, err := r.Compile(accounts.Config{Accounts: list}); err != nil {
		t.Fatal(err)
	}
	for _, a := range list { // the hub is the last
		if _, errs := r.Put(a); a.Name == "hub" && len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	for i := range list {
		if strings.HasPrefix(list[i].Name, "in") {
			list[i].Imports = []importConfig{{Account: "hub", Subject: "b", To: "a"}}
		}
	}
	_, err := r.Compile(accounts.Config{Accounts: list})
	if got := strings.Count(fmt.Sprint(err), "import cycle"); got == 0 || got > 10 {
		t.Errorf("%d cycles are told", got)
	}
}

// TestLadder has a million million ways through few accounts. One import that closes a cycle is left out, the other is not.
func TestLadder(t *testing.T) {
	const steps = 40
	r := accounts.NewRegistry()
	exports := []exportConfig{{Subject: "q"}}
	both := func(step int) []importConfig {
		return []importConfig{{Account: fmt.Sprint("left", step), Subject: "q"}, {Account: fmt.Sprint("right", step), Subject: "q"}}
	}
	_, _ = r.Put(accountConfig{Name: "outside", Exports: exports})
	for step := range steps {
		for _, side := range []string{"left", "right"} {
			cfg := accountConfig{Name: fmt.Sprint(side, step), Exports: exports}
			if step > 0 {
				cfg.Imports = both(step - 1)
			}
			if _, errs := r.Put(cfg); len(errs) > 0 {
				t.Fatal(errs)
			}
		}
	}
	_, errs := r.Put(accountConfig{Name: "left0", Exports: exports, Imports: append(both(steps-1), importConfig{Account: "outside", Subject: "q"})})
	if len(errs) != 2 || !errors.Is(errs[0], accounts.ErrImportCycle) || !errors.Is(errs[1], accounts.ErrImportCycle) {
		t.Errorf("got %v, want a cycle of each of the first two", errs)
	}
	if got := reached(r.Account("outside"), "q"); len(got) != 1 || got[0] != "left0 q" {
		t.Errorf("what comes from outside has reached %v", got)
	}
}
