package demand_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine/demand"
)

// world has accounts A, which exports s.>, M, which imports and exports that, and B, which imports from both.
type world struct {
	t        *testing.T
	registry *accounts.Registry
	policy   *accounts.Policy
}

func newWorld(t *testing.T, shares bool) *world {
	w := &world{t: t, registry: accounts.NewRegistry()}
	w.share(shares)
	return w
}

func (w *world) share(yes bool) {
	w.t.Helper()
	cfg := accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Exports: []accounts.ExportConfig{{Subject: "s.>"}}},
		{Name: "M", Exports: []accounts.ExportConfig{{Subject: "m.*"}}},
		{Name: "B"},
	}}
	if yes {
		cfg.Accounts[1].Imports = []accounts.ImportConfig{{Account: "A", Subject: "s.*", To: "m.*"}}
		cfg.Accounts[2].Imports = []accounts.ImportConfig{{Account: "A", Subject: "s.*", To: "b.*"}, {Account: "M", Subject: "m.*"}}
	}
	p, err := w.registry.Compile(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.registry.Activate(p)
	w.policy = p
}

func (w *world) account(name string) *accounts.Account { return w.policy.Account(name) }

// mirror is what somebody knows who is told all changes.
type mirror map[string]int

// hear takes over what has changed and returns it as text.
func (m mirror) hear(t *testing.T, x *demand.Table) string {
	t.Helper()
	changes, marks := x.Take(nil)
	x.Said(marks)
	if x.Pending() {
		t.Error("something is pending after all was said")
	}
	var texts []string
	for _, c := range changes {
		name := c.Account.Name() + " " + c.Subject + " " + c.Queue
		texts = append(texts, fmt.Sprintf("%s=%d", name, c.Weight))
		switch {
		case c.Weight > 0:
			m[name] = c.Weight
		case c.Subject != "":
			delete(m, name)
		default:
			for k := range m {
				if strings.HasPrefix(k, c.Account.Name()+" ") {
					t.Errorf("%q is left of an account that is forgotten", k)
				}
			}
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "|")
}

func TestCounts(t *testing.T) {
	w, x, m := newWorld(t, false), demand.New(nil, "_R_.x.>"), make(mirror)
	a := w.account("A")
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"nothing", func() {}, ""},
		{"first", func() { x.Add(a, "s.1", "", 1) }, "A s.1 =1"},
		{"second", func() { x.Add(a, "s.1", "", 1) }, ""},
		{"group", func() { x.Add(a, "s.1", "q", 1); x.Add(a, "s.1", "q", 1) }, "A s.1 q=2"},
		{"comes and goes", func() { x.Add(a, "s.2", "", 1); x.Add(a, "s.2", "", -1) }, ""},
		{"one goes", func() { x.Add(a, "s.1", "", -1); x.Add(a, "s.1", "q", -1) }, "A s.1 q=1"},
		{"all go", func() { x.Add(a, "s.1", "", -1); x.Add(a, "s.1", "q", -1) }, "A  =0|A s.1 =0|A s.1 q=0"},
		{"kept", func() { x.Expect(a); x.Expect(a) }, "A _R_.x.> =1"},
		{"still", func() { x.Release(func(*accounts.Account) bool { return true }) }, ""},
		{"released", func() { x.Release(func(*accounts.Account) bool { return false }) }, "A  =0|A _R_.x.> =0"},
	} {
		step.do()
		if got := m.hear(t, x); got != step.want {
			t.Errorf("%s: told %q, want %q", step.name, got, step.want)
		}
	}
	if x.Account(a.Number()) != nil || len(x.Accounts()) > 0 {
		t.Error("an account without interest is kept")
	}
}

func TestImports(t *testing.T) {
	w, x, m := newWorld(t, true), demand.New(nil, "_R_.x.>"), make(mirror)
	x.Add(w.account("B"), "b.1", "", 1)
	x.Add(w.account("B"), "m.*", "q", 1)
	x.Add(w.account("B"), "m.*", "q", 1)
	want := "A s.*  B M m.* m.* q=2|A s.1 =1|B b.1 =1|B m.* q=2|M m.*  B M m.* m.* q=2"
	if got := m.hear(t, x); got != want {
		t.Errorf("told\n%q, want\n%q", got, want)
	}
	w.share(false)
	x.Refresh()
	if got, want := m.hear(t, x), "A  =0|A s.*  B M m.* m.* q=0|A s.1 =0|M  =0|M m.*  B M m.* m.* q=0"; got != want {
		t.Errorf("after the imports have gone: told\n%q, want\n%q", got, want)
	}
	w.share(true)
	x.Refresh()
	x.Add(w.account("B"), "b.1", "", -1)
	x.Add(w.account("B"), "m.*", "q", -1)
	if got, want := m.hear(t, x), "A s.*  B M m.* m.* q=1|B b.1 =0|B m.* q=1|M m.*  B M m.* m.* q=1"; got != want {
		t.Errorf("when they are back: told\n%q, want\n%q", got, want)
	}
}

func TestBounds(t *testing.T) {
	bounds, err := accounts.NewBounds(accounts.Rules{Allow: []string{"a.>"}})
	if err != nil {
		t.Fatal(err)
	}
	w, x, m := newWorld(t, false), demand.New(bounds, "_R_.x.>"), make(mirror)
	x.Add(w.account("A"), "a.1", "", 1)
	x.Add(w.account("A"), "b", "", 1)
	x.Expect(w.account("A"))
	if got, want := m.hear(t, x), "A _R_.x.> =1|A a.1 =1"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestModel: after any changes, of imports too, who hears all of them knows what a count of all subscriptions says, and so
// does who asks for the whole.
func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		w, x, m := newWorld(t, seed%2 == 0), demand.New(nil, "_R_.x.>"), make(mirror)
		type sub struct{ account, subject, queue string }
		var all []sub
		names, subjects, queues := []string{"A", "M", "B"}, []string{"s.1", "s.>", "m.*", "m.1", "b.*", "b.1", ">"}, []string{"", "", "q"}
		shares := seed%2 == 0
		for range 200 {
			switch n := random.IntN(20); {
			case n == 0:
				shares = !shares
				w.share(shares)
			case n < 9 && len(all) > 0:
				i := random.IntN(len(all))
				x.Add(w.account(all[i].account), all[i].subject, all[i].queue, -1)
				all = slices.Delete(all, i, i+1)
			case n < 18:
				s := sub{names[random.IntN(3)], subjects[random.IntN(len(subjects))], queues[random.IntN(3)]}
				x.Add(w.account(s.account), s.subject, s.queue, 1)
				all = append(all, s)
			default:
				m.hear(t, x)
			}
		}
		x.Refresh()
		m.hear(t, x)
		fresh, want := demand.New(nil, "_R_.x.>"), make(mirror)
		for _, s := range all {
			fresh.Add(w.account(s.account), s.subject, s.queue, 1)
		}
		want.hear(t, fresh)
		if !maps.Equal(m, want) {
			t.Fatalf("seed %d: heard\n%v, want\n%v", seed, m, want)
		}
		whole := make(mirror)
		for _, a := range x.Accounts() {
			for _, c := range x.Whole(a, nil) {
				whole[c.Account.Name()+" "+c.Subject+" "+c.Queue] = c.Weight
			}
		}
		if !maps.Equal(whole, want) {
			t.Fatalf("seed %d: the whole is\n%v, want\n%v", seed, whole, want)
		}
	}
}
