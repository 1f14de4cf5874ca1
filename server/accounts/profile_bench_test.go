package accounts_test

import (
	"fmt"
	"testing"

	"runnel/server/accounts"
)

// manyRules returns a profile with n rules of each kind, none of which is about "x".
func manyRules(b *testing.B, n int) *accounts.Profile {
	b.Helper()
	var r rules
	for i := range n {
		r.Allow = append(r.Allow, fmt.Sprintf("tenant.%d.orders", i), fmt.Sprintf("tenant.%d.events.>", i))
		r.Deny = append(r.Deny, fmt.Sprintf("tenant.%d.events.secret.*", i))
	}
	return profile(b, accounts.Permissions{Publish: r, Subscribe: r})
}

func BenchmarkProfile(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		p := manyRules(b, n)
		b.Run(fmt.Sprintf("publish/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.CanPublish("tenant.0.events.created")
			}
		})
		b.Run(fmt.Sprintf("prefix/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.CanPublishPrefix("tenant.0.events.")
			}
		})
		b.Run(fmt.Sprintf("subscribe/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.CanSubscribe("tenant.0.events.*", "workers")
			}
		})
	}
}
