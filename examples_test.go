package runnel_test

import (
	"path/filepath"
	"testing"
	"time"

	"runnel/conf"
)

// TestExamples reads every config file of docs/examples and checks what the file says it shows.
func TestExamples(t *testing.T) {
	// clustered is what one of the three servers of a cluster shows.
	clustered := func(o *conf.Options) (got, want any) {
		return o.ServerName + " of " + o.Cluster.Name, string('a'+rune(o.Port-4222)) + " of east"
	}
	shows := map[string]func(*conf.Options) (got, want any){
		"operator.conf": func(o *conf.Options) (got, want any) {
			return o.Operator.Enabled() && o.Operator.Resolver.AllowDelete, true
		},
		"accounts.conf": func(o *conf.Options) (got, want any) {
			return len(o.Accounts[0].Exports) + len(o.Accounts[1].Imports) + len(o.Accounts[2].Imports), 4
		},
		"callout.conf": func(o *conf.Options) (got, want any) {
			return o.Authorization.Callout != nil && o.Authorization.Callout.Account == "AUTH", true
		},
		"cluster-a.conf": clustered,
		"cluster-b.conf": clustered,
		"cluster-c.conf": clustered,
		"simple.conf": func(o *conf.Options) (got, want any) {
			return o.Liveness.PingInterval, 30 * time.Second
		},
		"streams.conf": func(o *conf.Options) (got, want any) {
			return o.JetStreamOf("SHOP").MaxStoreBytes + o.JetStreamOf("TEST").MaxStoreBytes, int64(9 << 30)
		},
		"tenants.conf": func(o *conf.Options) (got, want any) {
			return len(o.Accounts[0].Mappings) + len(o.Accounts[0].Exports) + len(o.Accounts[1].Imports), 3
		},
		"tls.conf": func(o *conf.Options) (got, want any) {
			return o.TLS != nil && o.TLS.VerifyAndMap, true
		},
		"users.conf": func(o *conf.Options) (got, want any) {
			return o.SystemAccount + " " + o.NoAuthUser, "SYS visitor"
		},
		"websocket.conf": func(o *conf.Options) (got, want any) {
			return o.WebSocket != nil && o.WebSocket.Compression && o.WebSocket.NoTLS, true
		},
	}
	files, err := filepath.Glob("docs/examples/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(shows) {
		t.Errorf("got %d files, want the %d that are checked here", len(files), len(shows))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			o, err := conf.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Warnings) > 0 {
				t.Errorf("got warnings %v, want an example to be without", o.Warnings)
			}
			show, ok := shows[filepath.Base(file)]
			if !ok {
				t.Fatal("not checked here: say what the file shows")
			}
			if got, want := show(o); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
