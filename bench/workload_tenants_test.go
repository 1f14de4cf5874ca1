package bench_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench"
	"runnel/server"
	"runnel/server/servertest"
)

// advice is what everybody is told whose server is not made for tenants.
const advice = "start the server with the accounts of tenants, as in `runnel -c docs/examples/tenants.conf`"

// tenantsExample is the config file that the scenario names.
func tenantsExample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/examples/tenants.conf")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startTenants runs a server with the example, in which some text may be replaced by another.
func startTenants(t *testing.T, replace ...string) *server.Server {
	t.Helper()
	o := servertest.Options(t, strings.NewReplacer(replace...).Replace(tenantsExample(t)))
	o.Port = -1
	o.Authorization.Timeout = time.Minute // the hashes are slow on a busy machine
	return servertest.StartOptions(t, o)
}

// TestTenantsAgainstRunnel: the example is what the scenario needs, whatever its size, and with several on each side.
func TestTenantsAgainstRunnel(t *testing.T) {
	s := startTenants(t)
	cases, err := bench.Core().Select([]string{"tenants"}, bench.Overrides{Params: bench.Params{Messages: 300, Publishers: 2, Subscribers: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 5 {
		t.Errorf("got %d cases, want 5", len(cases))
	}
	for _, c := range cases {
		r := c.Run(t.Context(), bench.Target{URL: s.ClientURL(), Verify: true})
		if !r.OK() || r.Verdict != bench.VerdictPassed || r.Messages != 300 || r.Deliveries != 900 {
			t.Errorf("%s: got %d messages, %d deliveries, verdict %s, error %q, notes %q", c.Name, r.Messages, r.Deliveries, r.Verdict, r.Error, r.Tally.Notes)
		}
	}
}

// TestTenantsOnOtherServers: whoever's server has something else is told what to do, before the load begins.
func TestTenantsOnOtherServers(t *testing.T) {
	tests := []struct {
		name    string
		replace []string // in the example; nil for a server without accounts
		want    string
	}{
		{"no accounts", nil, "does not reach"},
		{"no such publisher", []string{`"bench-publisher"`, `"somebody"`}, "Authorization Violation"},
		{"no such subscriber", []string{`"bench-subscriber"`, `"somebody"`}, "Authorization Violation"},
		{"no mapping", []string{`"bench.>": "mapped.>"`, ""}, `Permissions Violation for Publish to "bench.`},
		{"no permission to subscribe", []string{`allow: "imported.>"`, `allow: "else.>"`}, `Permissions Violation for Subscription to "imported.`},
		{"no permission to publish", []string{`allow: "mapped.>"`, `allow: "else.>"`}, `Permissions Violation for Publish to "mapped.`},
		{"no import", []string{`imports: [ { stream: { account: PUBLISHERS, subject: "mapped.>" }, to: "imported.>" } ]`, ""}, "does not reach"},
		{"import by another name", []string{`to: "imported.>"`, `to: "else.>"`}, "does not reach"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s *server.Server
			if test.replace == nil {
				s = servertest.Start(t, "")
			} else {
				s = startTenants(t, test.replace...)
			}
			r := small(t, "tenants-16", nil).Run(t.Context(), bench.Target{URL: s.ClientURL(), Verify: true})
			if r.Messages != 0 || !strings.Contains(r.Error, test.want) || !strings.HasSuffix(r.Error, advice) {
				t.Errorf("got %d messages, error %q, want %q and the advice", r.Messages, r.Error, test.want)
			}
		})
	}
}

// TestTenantsAdviseOnly: what has nothing to do with accounts is said as it is.
func TestTenantsAdviseOnly(t *testing.T) {
	tests := []struct {
		name, scenario string
		fake           *fake
		target         func(*bench.Target)
		want           string
		advised        bool
	}{
		{"full", "tenants-16", &fake{tenants: true, refuse: func(int) string { return "maximum connections exceeded" }}, nil, "maximum connections exceeded", false},
		{"another subject", "tenants-16", &fake{tenants: true}, func(target *bench.Target) { target.Subject = "other" }, "leave --subject other out", false},
		{"lost on the way", "tenants-16", &fake{tenants: true, fault: altered(40, func(message) []message { return nil })}, impatient, "stalled", false},
		{"other users", "tenants-16", &fake{tenants: true, refuse: func(int) string { return "Authorization Violation" }}, nil, "Authorization Violation", true},
		{"another scenario", "pubsub-16", &fake{refuse: func(int) string { return "Authorization Violation" }}, nil, "Authorization Violation", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, test.fake, small(t, test.scenario, nil), test.target)
			if !strings.Contains(strings.ToLower(r.Error), strings.ToLower(test.want)) || strings.Contains(r.Error, "tenants.conf`") != test.advised {
				t.Errorf("got %q, want %q and advice %v", r.Error, test.want, test.advised)
			}
		})
	}
}

// TestTenantsAreVerified: what is wrong with a delivery is found between accounts as it is within one.
func TestTenantsAreVerified(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		found func(bench.Result) int64
	}{
		{"corrupted", altered(40, corrupt), func(r bench.Result) int64 { return r.Tally.Corrupted }},
		{"twice", altered(40, func(m message) []message { return []message{m, m} }), func(r bench.Result) int64 { return r.Tally.Duplicated }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, &fake{tenants: true, fault: test.fault}, small(t, "tenants-128", nil), nil)
			if r.Verdict != bench.VerdictFailed || test.found(r) != 3 {
				t.Errorf("got verdict %s, %+v, want one of these for each of the 3 subscribers", r.Verdict, r.Tally)
			}
		})
	}
}

// TestTenantsAreWhoTheyAre: each side logs in as its own user, whatever the target's user is.
func TestTenantsAreWhoTheyAre(t *testing.T) {
	f := &fake{tenants: true}
	r := run(t, f, small(t, "tenants-16", nil), func(target *bench.Target) { target.Options = []nats.Option{nats.UserInfo("me", "pw")} })
	if !r.OK() {
		t.Fatal(r.Error)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	got := make(map[any]int)
	for _, hello := range f.hello {
		if hello["user"] == hello["pass"] {
			got[hello["user"]]++
		}
	}
	if got["bench-publisher"] != 2 || got["bench-subscriber"] != 3 || len(f.hello) != 5 {
		t.Errorf("got %v of %d connections, want 2 publishers and 3 subscribers", got, len(f.hello))
	}
}

// TestCompareTenants: a server that refuses who comes without a name is measured like any other.
func TestCompareTenants(t *testing.T) {
	tests := []struct {
		name, a, b string
		failed     int // single runs of two
		want       string
	}{
		{"both refuse", self(t) + " fake-tenants {port}", self(t) + " fake-tenants {port}", 0, ""},
		{"one has no accounts", self(t) + " fake-tenants {port}", fakeCommand(t), 1, advice},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			compared := bench.Comparison{
				A: test.a, B: test.b, Rounds: 1, Target: bench.Target{Verify: true},
				Cases: []bench.Case{small(t, "tenants-16", nil)},
			}.Run(t.Context())
			if len(compared.Singles) != 2 || compared.Summary[0].Failed != test.failed {
				t.Fatalf("got %+v, want %d of 2 that failed", compared.Singles, test.failed)
			}
			if last := compared.Singles[1].Result.Error; !strings.HasSuffix(last, test.want) || (last == "") != (test.failed == 0) {
				t.Errorf("got %q, want %q", last, test.want)
			}
		})
	}
}

// TestCompareWithExample starts servers with the config file on their command line.
func TestCompareWithExample(t *testing.T) {
	compared := bench.Comparison{
		A: realServer(t) + " -c ../docs/examples/tenants.conf", B: fakeCommand(t), Rounds: 1, Target: bench.Target{Verify: true},
		Cases: []bench.Case{small(t, "tenants-128", nil), small(t, "pubsub-128", nil)},
	}.Run(t.Context())
	for _, s := range compared.Singles {
		failed := s.Side == bench.SideB && s.Result.Case == "tenants-128" // the server without the file
		if r := s.Result; r.OK() == failed || !failed && r.Deliveries != 3000 {
			t.Errorf("%s, %s: got %d deliveries, verdict %s, error %q", s.Side, r.Case, r.Deliveries, r.Verdict, r.Error)
		}
	}
}
