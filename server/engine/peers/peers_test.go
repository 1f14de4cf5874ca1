package peers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine/peers"
)

// route is whose set it is.
type route struct{}

func (route) ID() uint64 { return 7 }

func anything(string) bool { return true }

// world has accounts that are in use or not.
type world struct {
	all  *accounts.Policy
	used map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	r := accounts.NewRegistry()
	p, err := r.Compile(accounts.Config{Accounts: []accounts.AccountConfig{{Name: "A"}, {Name: "B"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Activate(p)
	return &world{all: p, used: map[string]bool{"A": true}}
}

func (w *world) find(name string) *accounts.Account {
	if !w.used[name] {
		return nil
	}
	return w.all.Account(name)
}

// match is who is found for a subject in an account: the number of the account, and the weight of a group.
func (w *world) match(account, subject string) string {
	var found []string
	for _, f := range w.all.Account(account).Interest().Match([]byte(subject), nil) {
		switch o := f.Value.Owner.(type) {
		case *peers.Group:
			found = append(found, fmt.Sprintf("%d %s=%d", o.Number, f.Queue, o.Weight))
		case *peers.Remote:
			found = append(found, fmt.Sprint(o.Number))
		}
	}
	slices.Sort(found)
	return strings.Join(found, ",")
}

func TestSet(t *testing.T) {
	w := newWorld(t)
	s := peers.New(route{}, func(pattern string) bool { return pattern != "secret" }, w.find)
	define := func(number uint32, name string) {
		if err := s.Define(number, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name, account, subject, want string
		do                           func()
	}{
		{"not defined", "A", "a", "", func() { s.Tell(1, "a", "", 1) }},
		{"plain", "A", "a", "1", func() { define(1, "A"); s.Tell(1, "a", "", 1) }},
		{"again", "A", "a", "1", func() { s.Tell(1, "a", "", 1) }},
		{"group", "A", "a", "1,1 q=2", func() { s.Tell(1, "*", "q", 2) }},
		{"other weight", "A", "a", "1,1 q=3", func() { s.Tell(1, "*", "q", 3) }},
		{"gone", "A", "a", "1", func() { s.Tell(1, "*", "q", 0) }},
		{"denied", "A", "secret", "", func() { s.Tell(1, "secret", "", 1) }},
		{"no subject", "A", "a", "1", func() { s.Tell(1, "a..b", "", 1) }},
		{"not in use", "B", "a", "", func() { define(2, "B"); s.Tell(2, "a", "q", 4) }},
		{"in use", "B", "a", "2 q=4", func() { w.used["B"] = true; s.Settle("B") }},
		{"not any more", "B", "a", "", func() { w.used["B"] = false; s.SettleAll() }},
		{"and again", "B", "a", "2 q=4", func() { w.used["B"] = true; s.Settle("B") }},
		{"forgotten", "B", "a", "", func() { s.Forget(2) }},
		{"on another route", "A", "a", "", func() { s.Leave("A") }},
		{"defined anew", "A", "a", "", func() { define(1, "A") }},
		{"and told", "A", "a", "1", func() { s.Tell(1, "a", "", 1) }},
		{"closed", "A", "a", "", s.Close},
		{"too late", "A", "a", "", func() { define(1, "A"); s.Tell(1, "a", "", 1) }},
	} {
		step.do()
		if got := w.match(step.account, step.subject); got != step.want {
			t.Errorf("%s: found %q, want %q", step.name, got, step.want)
		}
	}
	if s.Len() != 0 || len(s.Entries()) != 0 || w.all.Account("A").Interest().Len() != 0 {
		t.Errorf("%d entries are left", s.Len())
	}
}

func TestNames(t *testing.T) {
	s := peers.New(route{}, anything, newWorld(t).find)
	if err := s.Define(1, strings.Repeat("x", 2000)); !errors.Is(err, peers.ErrName) {
		t.Errorf("a name of 2,000 bytes: %v", err)
	}
}

func TestEntries(t *testing.T) {
	w := newWorld(t)
	s := peers.New(route{}, anything, w.find)
	for i, name := range []string{"A", "B"} {
		if err := s.Define(uint32(i), name); err != nil {
			t.Fatal(err)
		}
		s.Tell(uint32(i), "a", "", 1)
		s.Tell(uint32(i), "a", "q", 3)
	}
	var got []string
	for _, e := range s.Entries() {
		got = append(got, fmt.Sprintf("%s %s %s=%d", e.Account, e.Subject, e.Queue, e.Weight))
	}
	slices.Sort(got)
	if want := "A a =1,A a q=3,B a =1,B a q=3"; strings.Join(got, ",") != want || s.Len() != 4 {
		t.Errorf("%d entries, %q, want %q", s.Len(), got, want)
	}
}

// TestBounded: interest in an account that is not in use here is kept up to a bound, and asked for again beyond.
func TestBounded(t *testing.T) {
	w := newWorld(t)
	s := peers.New(route{}, anything, w.find)
	if err := s.Define(2, "B"); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	most := 0
	for i := range 100 {
		s.Tell(2, fmt.Sprint(long, i), "", 1)
		most = max(most, s.Len())
	}
	if most > 40 {
		t.Errorf("%d MiB are kept", most)
	}
	if again := s.SettleAll(); len(again) > 0 {
		t.Errorf("asks about %d although nobody uses it", again)
	}
	w.used["B"] = true
	if again := s.SettleAll(); len(again) != 1 || again[0] != 2 {
		t.Errorf("asks about %d, want 2", again)
	}
	if _, again := s.Settle("B"); again {
		t.Error("asks once more")
	}
	if _, again := s.Settle("C"); again {
		t.Error("asks about an account that nobody has named")
	}
}
