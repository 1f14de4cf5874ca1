package accounts_test

import (
	"slices"
	"testing"

	"runnel/server/accounts"
)

// TestShared looks at what accounts share while an exporter changes its mind.
func TestShared(t *testing.T) {
	r := accounts.NewRegistry()
	exporter := accounts.AccountConfig{
		Name: "A",
		Exports: []accounts.ExportConfig{
			{Subject: "events.>"},
			{Service: true, Subject: "q.*", Latency: &accounts.LatencyConfig{Subject: "lat", Sampling: 50}},
		},
		Mappings: []accounts.MappingConfig{{Source: "in", Destinations: []accounts.MappingDestination{{Subject: "out", Weight: 60}}}},
	}
	b, _ := r.Put(accounts.AccountConfig{Name: "B", Imports: []accounts.ImportConfig{
		{Account: "A", Subject: "events.a.>", To: "a.>"},
		{Service: true, Account: "A", Subject: "q.*", To: "ask.$1"},
	}})
	check := func(when string, want ...bool) {
		t.Helper()
		got := b.Shared().Imports
		if len(got) != len(want) {
			t.Fatalf("%s: got %d imports, want %d", when, len(got), len(want))
		}
		for i, local := range []string{"a.>", "ask.*"} {
			if got[i].Local != local || got[i].Valid != want[i] {
				t.Errorf("%s: import %d is %q, valid: %v; want %q, %v", when, i, got[i].Local, got[i].Valid, local, want[i])
			}
		}
		if latency := got[1].Latency; want[1] != (latency != nil && latency.Sampling == 50) {
			t.Errorf("%s: latency %+v", when, latency)
		}
	}
	check("without exporter", false, false)
	a, errs := r.Put(exporter)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	check("all exported", true, true)
	if s := a.Shared(); len(s.Exports) != 2 || s.Exports[1].Subject != "q.*" || len(s.Mappings) != 1 || s.Mappings[0].Source != "in" {
		t.Errorf("exporter: got %+v", s)
	}
	exporter.Exports = slices.Clone(exporter.Exports)
	exporter.Exports[1].Accounts = []string{"C"}
	r.Put(exporter)
	check("the service is private", true, false)
	r.Drop("A")
	check("exporter has gone", false, false)
	if s := a.Shared(); len(s.Exports)+len(s.Imports)+len(s.Mappings) != 0 {
		t.Errorf("an account that was dropped shares %+v", s)
	}
}
