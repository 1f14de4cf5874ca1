package accounts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"runnel/server/accounts"
)

type (
	accountConfig = accounts.AccountConfig
	exportConfig  = accounts.ExportConfig
	importConfig  = accounts.ImportConfig
)

// accountKey returns a new public key of an account.
func accountKey(t testing.TB) string {
	t.Helper()
	pair, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// TestSharingErrors compiles configurations with one mistake. A mistake is found as well in an account that is Put.
func TestSharingErrors(t *testing.T) {
	key := accountKey(t)
	export := func(e ...exportConfig) []accountConfig { return []accountConfig{{Name: "A", Exports: e}, {Name: "B"}} }
	share := func(e []exportConfig, i ...importConfig) []accountConfig {
		return []accountConfig{{Name: "A", Exports: e}, {Name: "B", NKey: key, Imports: i}}
	}
	streams := func(subject ...string) (list []exportConfig) {
		for _, s := range subject {
			list = append(list, exportConfig{Subject: s})
		}
		return list
	}
	from := func(subject, to string) importConfig { return importConfig{Account: "A", Subject: subject, To: to} }
	request := func(subject, to string) importConfig {
		return importConfig{Service: true, Account: "A", Subject: subject, To: to}
	}
	service := []exportConfig{{Service: true, Subject: "q.*.*"}}
	token := []exportConfig{{Subject: "q.*", AccountTokenPosition: 2}}
	tests := []struct {
		name     string
		accounts []accountConfig
		want     string // empty for no error
		is       error
	}{
		{"export without a subject", export(exportConfig{}), `account "A": exports[0]: "" is not a valid subject`, nil},
		{"export of no subject", export(streams("ok", "a..b")...), `account "A": exports[1]: "a..b" is not a valid subject`, nil},
		{"the same twice", export(streams("a", "a")...), "", nil},
		{"position too high", export(exportConfig{Subject: "q.*", AccountTokenPosition: 3}), `token 3 of "q.*" is not the wildcard`, nil},
		{"position of a word", export(exportConfig{Subject: "q.*", AccountTokenPosition: 1}), `token 1 of "q.*" is not`, nil},
		{"position of a tail", export(exportConfig{Subject: "q.>", AccountTokenPosition: 2}), `token 2 of "q.>" is not`, nil},
		{"negative position", export(exportConfig{Subject: "q.*", AccountTokenPosition: -1}), `token -1 of`, nil},
		{"response of a stream", export(exportConfig{Subject: "q", Response: accounts.ResponseStream}), "a stream has neither response type", nil},
		{"threshold of a stream", export(exportConfig{Subject: "q", Threshold: time.Second}), "a stream has neither", nil},
		{"latency of a stream", export(exportConfig{Subject: "q", Latency: &accounts.LatencyConfig{Subject: "l"}}), "a stream has neither", nil},
		{"unknown response", export(exportConfig{Service: true, Subject: "q", Response: 9}), "unknown response type 9", nil},
		{"negative threshold", export(exportConfig{Service: true, Subject: "q", Threshold: -1}), "the threshold -1ns is negative", nil},
		{"latency subject", export(exportConfig{Service: true, Subject: "q", Latency: &accounts.LatencyConfig{Subject: "l.*"}}), `latency: "l.*" is not a valid subject`, nil},
		{"latency sampling", export(exportConfig{Service: true, Subject: "q", Latency: &accounts.LatencyConfig{Subject: "l", Sampling: 101}}), "sampling of 101 percent", nil},
		{"negative sampling", export(exportConfig{Service: true, Subject: "q", Latency: &accounts.LatencyConfig{Subject: "l", Sampling: -1}}), "sampling of -1 percent", nil},

		{"import of all", share(streams("q.>"), from("q.>", "")), "", nil},
		{"import of a part", share(streams("q.>"), from("q.*.x", "")), "", nil},
		{"import of too much", share(streams("q.*"), from("q.>", "")), `account "B": imports[0]: not exported: stream "q.>" of account "A"`, accounts.ErrNotExported},
		{"import of nothing", share(nil, from("q", "")), `not exported: stream "q" of account "A"`, accounts.ErrNotExported},
		{"import of a service as a stream", share(service, from("q.*.*", "")), "not exported", accounts.ErrNotExported},
		{"import of a stream as a service", share(streams("q"), request("q", "")), `not exported: service "q"`, accounts.ErrNotExported},
		{"account that is not there", share(nil, importConfig{Account: "C", Subject: "q"}), `account "B": imports[0]: unknown account "C"`, accounts.ErrUnknownAccount},
		{"no account", share(nil, importConfig{Subject: "q"}), `unknown account ""`, accounts.ErrUnknownAccount},
		{"no subject", share(streams(">"), importConfig{Account: "A"}), `account "B": imports[0]: "" is not a valid subject`, nil},
		{"no valid subject", share(streams(">"), from("a..b", "x")), `imports[0]: "a..b" is not a valid subject`, nil},
		{"no valid local subject", share(streams(">"), from("a", "x..y")), `invalid transform destination "x..y"`, nil},
		{"wildcard left out", share(service, request("q.*.*", "x.$1")), "wildcard 2 of \"q.*.*\" is not used", nil},
		{"wildcard twice", share(streams("q.*"), from("q.*", "x.$1.$1")), `wildcard 1 is used twice`, nil},
		{"wildcard twice in two ways", share(streams("q.*"), from("q.*", "x.*.{{wildcard(1)}}")), `wildcard 1 is used twice`, nil},
		{"function in an import", share(streams("q.*"), from("q.*", "x.{{partition(3,1)}}")), "unknown function", nil},
		{"tail to none", share(streams("q.>"), from("q.>", "x")), "must both end with `>`", nil},
		{"the same stream twice", share(streams("q"), from("q", "x"), from("q", "x")), `imports[1]: a stream of account "A" is imported as "x" already`, nil},
		{"the same stream twice in other words", share(streams("q.*.>"), from("q.*.>", "x.$1.>"), from("q.*.>", "x.*.>")), `is imported as "x.*.>" already`, nil},
		{"the same stream twice as it is", share(streams("q.*"), from("q.*", ""), from("q.*", "q.$1")), `is imported as "q.*" already`, nil},
		{"one stream in two orders", share(streams("q.*.*"), from("q.*.*", ""), from("q.*.*", "q.$2.$1")), "", nil},
		{"one stream in two places", share(streams("q"), from("q", "x"), from("q", "y")), "", nil},
		{"two streams in one place", share(streams("q", "r"), from("q", "x"), from("r", "x")), "", nil},
		{"two services in one place", share([]exportConfig{{Service: true, Subject: ">"}}, request("q", "x"), request("r", "x")), `imports[1]: a service of account "A" is imported as "x" already`, nil},
		{"services that overlap", share([]exportConfig{{Service: true, Subject: ">"}}, request("q.*", "x.*"), request("r", "x.1")), "", nil},

		{"private", share([]exportConfig{{Subject: "q", Private: true}}, from("q", "")), `import not allowed: stream "q" of account "A"`, accounts.ErrNotAllowed},
		{"private but approved", share([]exportConfig{{Subject: "q", Private: true}}, importConfig{Account: "A", Subject: "q", Approved: true}), "", nil},
		{"for this account", share([]exportConfig{{Subject: "q", Accounts: []string{"A", "B"}}}, from("q", "")), "", nil},
		{"for another", share([]exportConfig{{Subject: "q", Accounts: []string{"A"}}}, from("q", "")), "import not allowed", accounts.ErrNotAllowed},
		{"for another and then this", share([]exportConfig{{Subject: "q", Accounts: []string{"A"}}, {Subject: "q", Accounts: []string{"B"}}}, from("q", "")), "", nil},
		{"for nobody known", export(exportConfig{Subject: "q", Accounts: []string{"B", "Z"}}), `account "A": exports[0]: unknown account "Z"`, accounts.ErrUnknownAccount},
		{"private inside of public", share([]exportConfig{{Subject: "q.>"}, {Subject: "q.s", Accounts: []string{"A"}}}, from("q.s", "")), "import not allowed", accounts.ErrNotAllowed},
		{"public beside private", share([]exportConfig{{Subject: "q.>", Accounts: []string{"A"}}, {Subject: "q.*"}}, from("q.s", "")), "", nil},
		{"own name as a token", share(token, from("q.B", "")), "", nil},
		{"own key as a token", share(token, from("q."+key, "")), "", nil},
		{"another name as a token", share(token, from("q.A", "")), "import not allowed", accounts.ErrNotAllowed},
		{"wildcard as a token", share(token, from("q.*", "")), "import not allowed", accounts.ErrNotAllowed},
		{"token does not open what is private", share([]exportConfig{{Subject: "q.*", AccountTokenPosition: 2, Private: true}}, from("q.B", "")), "import not allowed", accounts.ErrNotAllowed},
		{"approval does not replace the token", share(token, importConfig{Account: "A", Subject: "q.A", Approved: true}), "import not allowed", accounts.ErrNotAllowed},

		{"key of no account", []accountConfig{{Name: "A", NKey: "U" + key[1:]}, {Name: "B"}}, `account "A": its nkey is not the public key of an account`, nil},
		{"trace to a wildcard", []accountConfig{{Name: "A", Trace: &accounts.TraceConfig{Destination: "a.*", Sampling: 1}}, {Name: "B"}}, `account "A": message trace: the destination "a.*"`, nil},
		{"trace of nothing", []accountConfig{{Name: "A", Trace: &accounts.TraceConfig{Destination: "a"}}, {Name: "B"}}, "message trace: sampling of 0 percent", nil},
		{"trace of too much", []accountConfig{{Name: "A", Trace: &accounts.TraceConfig{Destination: "a", Sampling: 101}}, {Name: "B"}}, "sampling of 101 percent", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: tt.accounts})
			check(t, "Compile", err, tt.want, tt.is)
			if strings.HasPrefix(tt.name, "for nobody") {
				return // accounts that are Put need not know one another
			}
			r := accounts.NewRegistry()
			_, one := r.Put(tt.accounts[0])
			_, two := r.Put(tt.accounts[1])
			check(t, "Put", errors.Join(append(one, two...)...), tt.want, tt.is)
		})
	}
}

// check checks that an error is there as wanted.
func check(t *testing.T, what string, err error, want string, is error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: got %v, want no error", what, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %q in it", what, err, want)
	case is != nil && !errors.Is(err, is):
		t.Errorf("%s: got %v, want it to be %q", what, err, is)
	}
}

func TestNKeyTwice(t *testing.T) {
	key := accountKey(t)
	_, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: []accountConfig{{Name: "A", NKey: key}, {Name: "B", NKey: key}}})
	check(t, "Compile", err, `account "B": its nkey is that of account "A"`, nil)
}

// TestCompileTellsAllSharingErrors checks that no mistake hides another.
func TestCompileTellsAllSharingErrors(t *testing.T) {
	_, err := accounts.NewRegistry().Compile(accounts.Config{Accounts: []accountConfig{
		{Name: "A", Exports: []exportConfig{{Subject: ""}, {Subject: "q"}}, Mappings: []mappingConfig{{Source: ""}}},
		{Name: "B", Imports: []importConfig{{Account: "Z", Subject: "q"}, {Account: "A", Subject: "r"}, {Account: "A", Subject: "q", To: ".."}}},
	}})
	for _, want := range []string{
		`account "A": exports[0]: `, `account "A": mappings[0]: `,
		`account "B": imports[0]: `, `account "B": imports[1]: `, `account "B": imports[2]: `,
	} {
		check(t, "Compile", err, want, nil)
	}
}

// TestLocalSubjects checks where subjects lead to, and back.
func TestLocalSubjects(t *testing.T) {
	tests := []struct{ subject, to, remote, local string }{
		{"q", "", "q", "q"},
		{"q", "r", "q", "r"},
		{"q.*", "q.*", "q.1", "q.1"},
		{"q.*.*", "x.$2.y.$1", "q.1.2", "x.2.y.1"},
		{"q.*.*", "x.{{wildcard(2)}}.{{Wildcard( 1 )}}", "q.1.2", "x.2.1"},
		{"q.*.*", "$2.$1", "q.1.2", "2.1"},
		{"q.*.*", "*.x.*", "q.1.2", "1.x.2"},
		{"q.>", "x.y.>", "q.1.2", "x.y.1.2"},
		{"q.*.>", "$1.>", "q.1.2.3", "1.2.3"},
		{">", "prefix.>", "a.b", "prefix.a.b"},
		{"$JS.API.>", "JS.a.API.>", "$JS.API.INFO", "JS.a.API.INFO"},
		{"JS.a.>", "$JS.b.>", "JS.a.1", "$JS.b.1"},
	}
	for _, tt := range tests {
		t.Run(tt.subject+" "+tt.to, func(t *testing.T) {
			p := activate(
				t, accounts.NewRegistry(),
				accountConfig{Name: "A", Exports: []exportConfig{{Subject: ">"}, {Service: true, Subject: ">"}}},
				accountConfig{Name: "B", Imports: []importConfig{
					{Account: "A", Subject: tt.subject, To: tt.to}, {Service: true, Account: "A", Subject: tt.subject, To: tt.to},
				}},
			)
			streams := slices.Collect(p.Account("A").Crossings().Streams(tt.remote))
			services := slices.Collect(p.Account("B").Crossings().Services(tt.local))
			if len(streams) != 1 || len(services) != 1 {
				t.Fatalf("%d streams and %d services, want one of each", len(streams), len(services))
			}
			if got, ok := streams[0].Local(tt.remote); !ok || got != tt.local {
				t.Errorf("local = %q, %v; want %q", got, ok, tt.local)
			}
			if got, ok := services[0].Remote(tt.local); !ok || got != tt.remote {
				t.Errorf("remote = %q, %v; want %q", got, ok, tt.remote)
			}
			if got, ok := streams[0].Local("no.such.subject"); ok && tt.subject != ">" {
				t.Errorf("a subject that is not imported becomes %q", got)
			}
		})
	}
}

// TestServiceImport checks what a request learns of the service.
func TestServiceImport(t *testing.T) {
	latency := &accounts.LatencyConfig{Subject: "latency", Sampling: 50}
	p := activate(
		t, accounts.NewRegistry(),
		accountConfig{Name: "A", NKey: accountKey(t), Exports: []exportConfig{
			{Service: true, Subject: "q", Response: accounts.ResponseChunked, Threshold: time.Minute, Latency: latency, AllowTrace: true},
			{Service: true, Subject: "q", Accounts: []string{"A"}},
		}},
		accountConfig{Name: "B", Imports: []importConfig{{Service: true, Account: "A", Subject: "q", To: "r", Share: true}}},
	)
	for i := range p.Account("B").Crossings().Services("r") {
		if i.Account != p.Account("A") || i.Importer != p.Account("B") || !i.Share || !i.AllowTrace ||
			i.Response != accounts.ResponseChunked || i.Threshold != time.Minute || *i.Latency != *latency {
			t.Errorf("service = %+v", i)
		}
		return
	}
	t.Error("there is no service")
}
