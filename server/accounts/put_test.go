package accounts_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"runnel/server/accounts"
)

// reached returns where a message published in an account on subject arrives by its streams, one step on.
func reached(a *accounts.Account, subject string) (list []string) {
	x := a.Crossings()
	if x == nil {
		return nil
	}
	for i := range x.Streams(subject) {
		local, ok := i.Local(subject)
		if ok {
			list = append(list, i.Account.Name()+" "+local)
		}
	}
	slices.Sort(list)
	return list
}

// TestPutInAnyOrder makes two accounts, the importer first: its import comes into force with the exporter.
func TestPutInAnyOrder(t *testing.T) {
	r := accounts.NewRegistry()
	importer := accountConfig{Name: "B", Imports: []importConfig{{Account: "A", Subject: "q"}}}
	b, errs := r.Put(importer)
	if len(errs) != 1 || !errors.Is(errs[0], accounts.ErrUnknownAccount) || b.Crossings() != nil {
		t.Fatalf("got %v and crossings %v, want an unknown account", errs, b.Crossings())
	}
	steps := []struct {
		name    string
		exports []exportConfig
		want    []string
	}{
		{"nothing exported", nil, nil},
		{"exported", []exportConfig{{Subject: "q"}}, []string{"B q"}},
		{"exported to another", []exportConfig{{Subject: "q", Accounts: []string{"C"}}}, nil},
		{"exported to this one", []exportConfig{{Subject: "q", Accounts: []string{"B"}}}, []string{"B q"}},
		{"private", []exportConfig{{Subject: "q", Private: true}}, nil},
		{"exported as a service", []exportConfig{{Service: true, Subject: "q"}}, nil},
		{"exported again", []exportConfig{{Subject: ">"}}, []string{"B q"}},
	}
	for _, s := range steps {
		a, errs := r.Put(accountConfig{Name: "A", Exports: s.exports})
		if len(errs) > 0 {
			t.Fatalf("%s: %v", s.name, errs)
		}
		if got := reached(a, "q"); !slices.Equal(got, s.want) {
			t.Errorf("%s: reached %v, want %v", s.name, got, s.want)
		}
		if (b.Crossings() != nil) != (s.want != nil) || (a.Crossings() != nil) != (s.want != nil) {
			t.Errorf("%s: crossings of the exporter %v, of the importer %v", s.name, a.Crossings(), b.Crossings())
		}
	}
	if !r.Drop("A") || r.Drop("A") {
		t.Error("an account is dropped once")
	}
	if b.Crossings() != nil {
		t.Error("an import of a dropped account is in force")
	}
	a, _ := r.Put(accountConfig{Name: "A", Exports: []exportConfig{{Subject: "q"}}})
	if got := reached(a, "q"); !slices.Equal(got, []string{"B q"}) {
		t.Errorf("reached %v after the exporter came back", got)
	}
	r.Drop("B")
	if a.Crossings() != nil {
		t.Error("the exporter still has the importer")
	}
}

// TestPutChanges puts one account again and again: what it said before no longer holds.
func TestPutChanges(t *testing.T) {
	r := accounts.NewRegistry()
	a, _ := r.Put(accountConfig{Name: "A", Exports: []exportConfig{{Subject: ">"}, {Service: true, Subject: ">"}}})
	key := accountKey(t)
	trace := &accounts.TraceConfig{Destination: "traces", Sampling: 10}
	b, errs := r.Put(accountConfig{
		Name: "B", NKey: key, Limits: accounts.Limits{MaxConnections: 3, MaxLeafNodes: 4}, Trace: trace,
		Imports:  []importConfig{{Account: "A", Subject: "q"}, {Service: true, Account: "A", Subject: "s"}},
		Mappings: []mappingConfig{{Source: "m", Destinations: []destination{{"n", 100}}}},
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if b.NKey() != key || b.Limits().MaxConnections != 3 || b.Limits().MaxLeafNodes != 4 || b.Trace() != trace {
		t.Errorf("got nkey %q, limits %+v, trace %v", b.NKey(), b.Limits(), b.Trace())
	}
	again, errs := r.Put(accountConfig{Name: "B", Imports: []importConfig{{Account: "A", Subject: "q", To: "r"}}})
	if len(errs) > 0 || again != b {
		t.Fatalf("got another account, or %v", errs)
	}
	if b.NKey() != "" || b.Limits() != (accounts.Limits{}) || b.Trace() != nil {
		t.Errorf("got nkey %q, limits %+v, trace %v; want none", b.NKey(), b.Limits(), b.Trace())
	}
	if got := reached(a, "q"); !slices.Equal(got, []string{"B r"}) {
		t.Errorf("reached %v", got)
	}
	if got := slices.Collect(b.Crossings().Services("s")); len(got) > 0 || b.Crossings().Mapping("m") != nil {
		t.Error("a service or mapping of before still holds")
	}
	if _, errs = r.Put(accountConfig{Name: "B"}); len(errs) > 0 || b.Crossings() != nil || a.Crossings() != nil {
		t.Errorf("crossings are left, or %v", errs)
	}
}

// TestPutRefusesCycles closes a ring with the last of three accounts, and opens it again.
func TestPutRefusesCycles(t *testing.T) {
	r := accounts.NewRegistry()
	put := func(name, from string) (*accounts.Account, error) {
		a, errs := r.Put(accountConfig{Name: name, Exports: []exportConfig{{Subject: ">"}}, Imports: []importConfig{{Account: from, Subject: "q"}}})
		return a, errors.Join(errs...)
	}
	a, _ := put("A", "C")
	if _, err := put("B", "A"); err != nil {
		t.Fatal(err)
	}
	c, err := put("C", "B")
	want := `account "C": imports[0]: import cycle of streams: "q" of account "B" -> "q" of account "C" -> "q" of account "A" -> "q" of account "B"`
	if err == nil && reached(c, "q") != nil {
		t.Fatal("the ring is closed")
	}
	if err != nil && err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := reached(a, "q"); !slices.Equal(got, []string{"B q"}) {
		t.Errorf("reached %v: an import that was in force is not", got)
	}
	if _, err := put("B", "D"); !errors.Is(err, accounts.ErrUnknownAccount) {
		t.Fatal(err)
	}
	if _, err := put("C", "B"); err != nil {
		t.Errorf("the ring is open and yet %v", err)
	}
}

// TestPutStaysApart has accounts that were put beside a policy: neither touches the other.
func TestPutStaysApart(t *testing.T) {
	r := accounts.NewRegistry()
	p := activate(t, r, accountConfig{Name: "A", Exports: []exportConfig{{Subject: ">"}}})
	b, errs := r.Put(accountConfig{
		Name: "B", Limits: accounts.Limits{MaxConnections: 5},
		Imports:  []importConfig{{Account: "A", Subject: "q"}},
		Mappings: []mappingConfig{{Source: "m", Destinations: []destination{{"n", 100}}}},
	})
	if len(errs) != 1 || !errors.Is(errs[0], accounts.ErrUnknownAccount) || p.Account("A").Crossings() != nil {
		t.Errorf("got %v, want an account unknown among those that were put", errs)
	}
	_, _ = r.Put(accountConfig{Name: accounts.SystemName, Limits: accounts.Limits{MaxConnections: 7}})
	activate(t, r)
	if r.Account("B") != b || b.Limits().MaxConnections != 5 || b.Crossings().Mapping("m") == nil {
		t.Error("a reload has changed an account that was put")
	}
	if got := r.Account(accounts.SystemName).Limits().MaxConnections; got != 7 {
		t.Errorf("limit of the system account = %d, want 7", got)
	}
	if r.Account("A") != nil {
		t.Error("a reload has not forgotten an account of the policy before")
	}
	r.Drop("B")
	if r.Account("B") != nil || r.Drop("A") {
		t.Error("a dropped account is still there, or one could be dropped that was not put")
	}
}

// TestPutInvalidates checks which remembered matches are worth nothing after a change: those of the accounts that
// it concerns.
func TestPutInvalidates(t *testing.T) {
	all := []exportConfig{{Subject: ">"}, {Service: true, Subject: ">"}}
	stream := []importConfig{{Account: "A", Subject: "q"}}
	service := []importConfig{{Service: true, Account: "A", Subject: "q"}}
	tests := []struct {
		name string
		next accountConfig
		want []string
	}{
		{"nothing", accountConfig{Name: "B", Imports: stream}, nil},
		{"limits", accountConfig{Name: "B", Imports: stream, Limits: accounts.Limits{MaxConnections: 1}}, nil},
		{"stream elsewhere", accountConfig{Name: "B", Imports: []importConfig{{Account: "A", Subject: "q", To: "r"}}}, []string{"A", "B"}},
		{"no stream", accountConfig{Name: "B"}, []string{"A", "B"}},
		{"a service", accountConfig{Name: "B", Imports: append(service, stream...)}, []string{"B"}},
		{"a mapping", accountConfig{Name: "B", Imports: stream, Mappings: []mappingConfig{{Source: "m"}}}, []string{"B"}},
		{"export that nobody imports", accountConfig{Name: "B", Imports: stream, Exports: all}, nil},
		{"end of exports", accountConfig{Name: "A"}, []string{"A", "B", "C"}},
		{"other exports that allow the same", accountConfig{Name: "A", Exports: []exportConfig{{Subject: "q"}, {Service: true, Subject: "q"}}}, nil},
		{"another answer", accountConfig{Name: "A", Exports: []exportConfig{{Subject: ">"}, {Service: true, Subject: ">", Response: accounts.ResponseStream}}}, []string{"C"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := []accountConfig{{Name: "A", Exports: all}, {Name: "B", Imports: stream}, {Name: "C", Imports: service}, {Name: "D"}}
			after := slices.Clone(before)
			after[slices.IndexFunc(after, func(a accountConfig) bool { return a.Name == tt.next.Name })] = tt.next

			put := accounts.NewRegistry()
			for _, a := range before {
				_, _ = put.Put(a)
			}
			if got := invalidated(put, func() { _, _ = put.Put(tt.next) }); !slices.Equal(got, tt.want) {
				t.Errorf("Put invalidates %v, want %v", got, tt.want)
			}
			reload := accounts.NewRegistry()
			activate(t, reload, before...)
			got := invalidated(reload, func() {
				p, err := reload.Compile(accounts.Config{Accounts: after})
				if err != nil { // imports are left over that are no longer allowed
					for i := range after {
						after[i].Imports = nil
					}
					p, err = reload.Compile(accounts.Config{Accounts: after})
				}
				if err != nil {
					t.Fatal(err)
				}
				reload.Activate(p)
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("a reload invalidates %v, want %v", got, tt.want)
			}
		})
	}
}

// invalidated returns the accounts A to D whose stamps a change makes invalid.
func invalidated(r *accounts.Registry, change func()) (names []string) {
	check := make(map[string]func() bool)
	for _, name := range []string{"A", "B", "C", "D"} {
		stamp := r.Account(name).Interest().Stamp([]byte("q"))
		check[name] = func() bool { return stamp.Valid() }
	}
	change()
	for _, name := range []string{"A", "B", "C", "D"} {
		if !check[name]() {
			names = append(names, name)
		}
	}
	return names
}

// TestPutConcurrently changes accounts while others look. The race detector watches.
func TestPutConcurrently(t *testing.T) {
	r := accounts.NewRegistry()
	a, _ := r.Put(accountConfig{Name: "A", Exports: []exportConfig{{Subject: ">"}}})
	done := make(chan struct{})
	for worker := range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 50 {
				name := fmt.Sprintf("%d.%d", worker, i%5)
				_, _ = r.Put(accountConfig{Name: name, Imports: []importConfig{{Account: "A", Subject: "q." + name + ".*"}}})
				if i%7 == 0 {
					r.Drop(name)
				}
			}
		}()
	}
	for range 200 {
		if x := a.Crossings(); x != nil {
			for i := range x.Streams("q.1.1.z") {
				if got, ok := i.Local("q.1.1.z"); !ok || got != "q.1.1.z" {
					t.Errorf("local = %q, %v", got, ok)
				}
			}
		}
	}
	for range 3 {
		<-done
	}
	for worker := range 3 {
		for i := range 5 {
			r.Drop(fmt.Sprintf("%d.%d", worker, i))
		}
	}
	if a.Crossings() != nil {
		t.Error("crossings are left although nobody imports")
	}
}

// BenchmarkPut makes accounts that all import one stream, each for its own part of the subjects.
func BenchmarkPut(b *testing.B) {
	r := accounts.NewRegistry()
	_, _ = r.Put(accountConfig{Name: "hub", Exports: []exportConfig{{Subject: "events.*.>", AccountTokenPosition: 2}, {Service: true, Subject: "ask.>"}}})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		name := fmt.Sprintf("A%d", n)
		n++
		_, errs := r.Put(accountConfig{Name: name, Imports: []importConfig{
			{Account: "hub", Subject: "events." + name + ".>", To: "events.>"},
			{Service: true, Account: "hub", Subject: "ask.>"},
		}})
		if len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
