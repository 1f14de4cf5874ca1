package accounts_test

import (
	"slices"
	"testing"

	"runnel/server/accounts"
)

// activate compiles and activates a configuration of accounts.
func activate(t testing.TB, r *accounts.Registry, list ...accounts.AccountConfig) *accounts.Policy {
	t.Helper()
	p, err := r.Compile(accounts.Config{Accounts: list})
	if err != nil {
		t.Fatal(err)
	}
	r.Activate(p)
	return p
}

// TestCrossings follows messages of accounts that share streams and services.
func TestCrossings(t *testing.T) {
	r := accounts.NewRegistry()
	p := activate(t, r,
		accounts.AccountConfig{
			Name: "A",
			Exports: []accounts.ExportConfig{
				{Subject: "events.*.*"},
				{Service: true, Subject: "q.*.*", Response: accounts.ResponseStream},
			},
			Mappings: []accounts.MappingConfig{
				{Source: "in.*", Destinations: []accounts.MappingDestination{{Subject: "out.$1", Weight: 100}}},
				{Source: "in.1", Destinations: []accounts.MappingDestination{{Subject: "one", Weight: 100}}},
			},
		},
		accounts.AccountConfig{
			Name: "B",
			Imports: []accounts.ImportConfig{
				{Account: "A", Subject: "events.*.*", To: "from_a.$2.$1"},
				{Service: true, Account: "A", Subject: "q.*.*", To: "ask.$2.x.$1"},
			},
		},
		accounts.AccountConfig{Name: "C"},
	)
	a, b := p.Account("A"), p.Account("B")
	if x := p.Account("C").Crossings(); x != nil {
		t.Errorf("an account that shares nothing has crossings: %v", x)
	}
	for subject, want := range map[string]string{"in.1": "one", "in.2": "out.2"} {
		if got, ok := a.Crossings().Mapping(subject).Fixed(subject); !ok || got != want {
			t.Errorf("%s is mapped to %q, %v; want %q", subject, got, ok, want)
		}
	}
	streams := slices.Collect(a.Crossings().Streams("events.1.2"))
	if len(streams) != 1 || streams[0].Account != b || streams[0].Exporter != a {
		t.Fatalf("streams = %v, want one to B", streams)
	}
	if got, ok := streams[0].Local("events.1.2"); !ok || got != "from_a.2.1" {
		t.Errorf("local = %q, %v", got, ok)
	}
	services := slices.Collect(b.Crossings().Services("ask.1.x.2"))
	if len(services) != 1 || services[0].Account != a || services[0].Importer != b {
		t.Fatalf("services = %v, want one of A", services)
	}
	if got, ok := services[0].Remote("ask.1.x.2"); !ok || got != "q.2.1" {
		t.Errorf("remote = %q, %v", got, ok)
	}
	if services[0].Response != accounts.ResponseStream || services[0].Threshold != accounts.DefaultThreshold {
		t.Errorf("service = %+v", services[0])
	}
	for i, remote := range b.Crossings().Sources("from_a.5.>") {
		if i.Exporter != a || remote != "events.*.5" {
			t.Errorf("from_a.5.> is fed by %q of %q", remote, i.Exporter.Name())
		}
	}
	for prefix, want := range map[string]bool{"events.": true, "events.1.": true, "events.1.2.": false, "in.": true, "x.": false} {
		if got := a.Crossings().Concerns(prefix); got != want {
			t.Errorf("concerns %q = %v", prefix, got)
		}
	}
}
