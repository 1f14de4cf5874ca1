package replication_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"runnel/server/replication"
)

// TestSize checks how many servers a new cluster has by what its servers were told.
func TestSize(t *testing.T) {
	hosts := map[string][]string{
		"n1": {"10.0.0.1"}, "n2": {"10.0.0.2"}, "localhost": {"127.0.0.1"}, "127.0.0.1": {"127.0.0.1"}, "10.0.0.1": {"10.0.0.1"},
	}
	lookup := func(_ context.Context, host string) ([]string, error) {
		if a := hosts[host]; a != nil {
			return a, nil
		}
		return nil, errors.New("no such host")
	}
	local := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(10, 0, 0, 1), Mask: net.CIDRMask(24, 32)}}, nil
	}
	for _, tt := range []struct {
		name string
		size *replication.Size
		want int
	}{
		{"nothing", &replication.Size{Port: 6222}, 0},
		{"fixed", &replication.Size{Fixed: 5, Routes: []string{"nats://n1:6222"}, Port: 6222}, 5},
		{"all, itself by name", &replication.Size{Routes: []string{"nats://n1:6222", "nats://n2:6222", "nats://n3:6222"}, Port: 6222}, 3},
		{"all, itself by address", &replication.Size{Routes: []string{"10.0.0.1:6222", "n2:6222", "n3:6222"}, Port: 6222}, 3},
		{"the others", &replication.Size{Routes: []string{"nats://n2:6222", "nats://u:p@n3:6222"}, Port: 6222}, 3},
		{"one machine", &replication.Size{Routes: []string{"nats://127.0.0.1:1", "nats://127.0.0.1:2", "nats://localhost:3"}, Port: 3}, 3},
		{"twice the same", &replication.Size{Routes: []string{"nats://n2:6222", "n2:6222"}, Port: 6222}, 2},
		{"what others are told", &replication.Size{Routes: []string{"lb:1", "lb:2"}, Port: 6222, Advertise: "lb:1"}, 2},
	} {
		tt.size.Lookup, tt.size.Local = lookup, local
		if got := tt.size.Value(); got != tt.want {
			t.Errorf("%s: %d servers, want %d", tt.name, got, tt.want)
		}
	}
}
