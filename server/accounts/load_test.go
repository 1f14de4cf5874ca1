package accounts_test

import (
	"fmt"
	"runtime"
	"testing"

	"runnel/server/accounts"
)

// manyAccounts returns n accounts with ten users each, most of them with permissions. Every one exports to the next
// and imports from the one before and from a hub.
func manyAccounts(n int) accounts.Config {
	cfg := accounts.Config{Accounts: make([]accountConfig, 0, n+1)}
	cfg.Accounts = append(cfg.Accounts, accountConfig{Name: "hub", Exports: []exportConfig{
		{Subject: "events.*.>", AccountTokenPosition: 2},
		{Service: true, Subject: "ask.>"},
	}})
	for i := range n {
		name := fmt.Sprintf("A%d", i)
		a := accountConfig{
			Name:    name,
			Limits:  accounts.Limits{MaxConnections: 100},
			Exports: []exportConfig{{Subject: "out.>", Accounts: []string{fmt.Sprintf("A%d", (i+1)%n)}}},
			Imports: []importConfig{
				{Account: "hub", Subject: "events." + name + ".>", To: "events.>"},
				{Service: true, Account: "hub", Subject: "ask.>"},
			},
			Mappings: []mappingConfig{{Source: "in.*", Destinations: []destination{{"orders.$1", 100}}}},
		}
		if i > 0 {
			a.Imports = append(a.Imports, importConfig{Account: fmt.Sprintf("A%d", i-1), Subject: "out.>", To: "from.before.>"})
		}
		for u := range 10 {
			user := userConfig{Username: fmt.Sprintf("%s-user-%d", name, u), Password: "a password"}
			if u > 2 {
				user.Permissions = &accounts.Permissions{
					Publish:   rules{Allow: []string{"orders.>", fmt.Sprintf("user.%d.>", u)}, Deny: []string{"orders.secret.>"}},
					Subscribe: rules{Allow: []string{"_INBOX.>", "events.>"}, Deny: []string{"events.secret"}},
				}
			}
			a.Users = append(a.Users, user)
		}
		cfg.Accounts = append(cfg.Accounts, a)
	}
	return cfg
}

// BenchmarkCompile compiles and activates a policy of many accounts for the first time (load) and once more without a
// change (reload). It reports the memory that the first one keeps. The time grows with the number of accounts, no faster.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("load/accounts=%d", n), func(b *testing.B) {
			cfg := manyAccounts(n)
			before := heap()
			var r *accounts.Registry
			var p *accounts.Policy
			b.ReportAllocs()
			for b.Loop() {
				r = accounts.NewRegistry()
				p = recompile(b, r, cfg)
			}
			b.ReportMetric(float64(heap()-before)/float64(1<<20), "MiB-kept")
			runtime.KeepAlive(r)
			runtime.KeepAlive(p)
		})
		b.Run(fmt.Sprintf("reload/accounts=%d", n), func(b *testing.B) {
			cfg := manyAccounts(n)
			r := accounts.NewRegistry()
			p := recompile(b, r, cfg)
			b.ReportAllocs()
			for b.Loop() {
				p = recompile(b, r, cfg)
			}
			runtime.KeepAlive(p)
		})
	}
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
