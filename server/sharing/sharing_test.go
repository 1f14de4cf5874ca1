package sharing_test

import (
	"reflect"
	"testing"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/sharing"
)

// options reads a configuration.
func options(t *testing.T, text string) *conf.Options {
	t.Helper()
	o, err := conf.Parse("test.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestSharingConfig reads what accounts share and rewrite from a configuration.
func TestSharingConfig(t *testing.T) {
	o := options(t, `
		mappings { "top.*": "bottom.$1" }
		accounts {
			A {
				exports: [
					{ stream: "s.>", accounts: [B] }
					{ service: "q.*", response_type: stream, threshold: 5s, latency: { subject: lat, sampling: 20% }, account_token_position: 2, allow_trace: true }
					{ service: "c", response_type: chunked, latency: { subject: lat, sampling: headers } }
					{ service: "d" }
				]
				msg_trace: { dest: traces, sampling: 5 }
				mappings {
					a: [ { destination: b, weight: 20% }, { destination: c, weight: 30% } ]
					"w.*": "x.$1"
				}
			}
			B {
				imports: [
					{ stream: { account: A, subject: "s.x.>" }, prefix: "p.q", allow_trace: true }
					{ stream: { account: A, subject: "s.*" }, to: "t.$1" }
					{ service: { account: A, subject: "q.B" }, to: ask, share: true }
				]
			}
		}`)
	var cfg accounts.Config
	cfg.Mappings = sharing.Mappings(o, o.Mappings)
	for i := range o.Accounts {
		a := accounts.AccountConfig{Name: o.Accounts[i].Name}
		sharing.Configure(o, &o.Accounts[i], &a)
		cfg.Accounts = append(cfg.Accounts, a)
	}
	destinations := func(d ...accounts.MappingDestination) []accounts.MappingDestination { return d }
	if want := []accounts.MappingConfig{{Source: "top.*", Destinations: destinations(accounts.MappingDestination{Subject: "bottom.$1", Weight: 100})}}; !reflect.DeepEqual(cfg.Mappings, want) {
		t.Errorf("mappings: got %+v, want %+v", cfg.Mappings, want)
	}
	want := []accounts.AccountConfig{
		{
			Name: "A",
			Exports: []accounts.ExportConfig{
				{Subject: "s.>", Accounts: []string{"B"}},
				{
					Service: true, Subject: "q.*", Response: accounts.ResponseStream, Threshold: 5 * time.Second,
					Latency: &accounts.LatencyConfig{Subject: "lat", Sampling: 20}, AccountTokenPosition: 2, AllowTrace: true,
				},
				{
					Service: true, Subject: "c", Response: accounts.ResponseChunked, Threshold: 2 * time.Minute,
					Latency: &accounts.LatencyConfig{Subject: "lat"},
				},
				{Service: true, Subject: "d", Threshold: 2 * time.Minute},
			},
			Trace: &accounts.TraceConfig{Destination: "traces", Sampling: 5},
			Mappings: []accounts.MappingConfig{
				{Source: "a", Destinations: destinations(accounts.MappingDestination{Subject: "b", Weight: 20}, accounts.MappingDestination{Subject: "c", Weight: 30})},
				{Source: "w.*", Destinations: destinations(accounts.MappingDestination{Subject: "x.$1", Weight: 100})},
			},
		},
		{Name: "B", Imports: []accounts.ImportConfig{
			{Account: "A", Subject: "s.x.>", To: "p.q.s.x.>", AllowTrace: true},
			{Account: "A", Subject: "s.*", To: "t.$1"},
			{Service: true, Account: "A", Subject: "q.B", To: "ask", Share: true},
		}},
	}
	for i, a := range cfg.Accounts {
		if !reflect.DeepEqual(a, want[i]) {
			t.Errorf("account %s: got %+v, want %+v", a.Name, a, want[i])
		}
	}
	if _, err := accounts.NewRegistry().Compile(cfg); err != nil {
		t.Error(err)
	}
}

// TestSharingConfigOfClusters leaves out the destinations of other clusters.
func TestSharingConfigOfClusters(t *testing.T) {
	const mapping = `mappings { a: [ { destination: own, weight: 40%, cluster: here }, { destination: other, cluster: there }, { destination: any, weight: 60% } ] }`
	for cluster, want := range map[string]string{"": "any", "cluster { name: here, listen: \"127.0.0.1:-1\" }": "own", "cluster { name: there, listen: \"127.0.0.1:-1\" }": "other", "cluster { name: elsewhere, listen: \"127.0.0.1:-1\" }": "any"} {
		o := options(t, cluster+"\n"+mapping)
		got := sharing.Mappings(o, o.Mappings)
		if len(got) != 1 || len(got[0].Destinations) != 1 || got[0].Destinations[0].Subject != want {
			t.Errorf("%q: got %+v, want %s alone", cluster, got, want)
		}
	}
	o := options(t, `mappings { a: { destination: other, cluster: there } }`)
	if got := sharing.Mappings(o, o.Mappings); len(got) != 0 {
		t.Errorf("got %+v, want no mapping", got)
	}
}
