package membership_test

import (
	"slices"
	"testing"

	"runnel/cluster/mesh"
	"runnel/server/membership"
)

func TestListener(t *testing.T) {
	machine := []string{"10.0.0.1", "fd00::1"}
	for _, test := range []struct {
		name       string
		listener   membership.Listener
		interfaces []string
		want       []string
	}{
		{"none", membership.Listener{Host: "a", Advertise: "b:1"}, machine, nil},
		{"one host", membership.Listener{Host: "a", Port: 4222}, machine, []string{"a:4222"}},
		{"all interfaces", membership.Listener{Host: "0.0.0.0", Port: 4222}, machine, []string{"10.0.0.1:4222", "[fd00::1]:4222"}},
		{"all interfaces of IPv6", membership.Listener{Host: "::", Port: 4222}, machine, []string{"10.0.0.1:4222", "[fd00::1]:4222"}},
		{"no host", membership.Listener{Port: 4222}, machine, []string{"10.0.0.1:4222", "[fd00::1]:4222"}},
		{"loopback alone", membership.Listener{Host: "0.0.0.0", Port: 4222}, nil, []string{}},
		{"advertised", membership.Listener{Host: "0.0.0.0", Port: 4222, Advertise: "example.com:80"}, machine, []string{"example.com:80"}},
		{"advertised host", membership.Listener{Host: "0.0.0.0", Port: 4222, Advertise: "example.com"}, machine, []string{"example.com:4222"}},
	} {
		if got := test.listener.URLs(test.interfaces); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := (membership.Listener{Port: 1}).URLs(make([]string, 1000)); len(got) > 64 {
		t.Errorf("%d addresses of a machine with very many", len(got))
	}
}

func TestAdvertised(t *testing.T) {
	for address, want := range map[string]string{
		"a": "a:7", "a:1": "a:1", "10.0.0.1": "10.0.0.1:7", "::1": "[::1]:7", "[::1]": "[::1]:7", "[::1]:5": "[::1]:5",
	} {
		if got := membership.Advertised(address, 7); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestURLs(t *testing.T) {
	member := func(lameDuck bool, urls ...string) mesh.Member {
		m := mesh.Member{LameDuck: lameDuck, ClientURLs: urls}
		for _, u := range urls {
			m.WebsocketURLs = append(m.WebsocketURLs, "ws-"+u)
		}
		return m
	}
	for _, test := range []struct {
		name   string
		self   mesh.Member
		others []mesh.Member
		want   []string
	}{
		{"alone", member(false, "a:1"), nil, []string{"a:1"}},
		{"own first", member(false, "c:1"), []mesh.Member{member(false, "a:1", "a:2"), member(false, "b:1")}, []string{"c:1", "a:1", "a:2", "b:1"}},
		{"each once", member(false, "a:1"), []mesh.Member{member(false, "a:1"), member(false, "b:1")}, []string{"a:1", "b:1"}},
		{"one stops", member(false, "a:1"), []mesh.Member{member(true, "b:1"), member(false, "c:1")}, []string{"a:1", "c:1"}},
		{"this one stops", member(true, "a:1"), []mesh.Member{member(false, "b:1")}, []string{"b:1"}},
		{"nothing told", member(false), []mesh.Member{member(false)}, nil},
	} {
		if got := membership.ClientURLs(test.self, test.others); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		var want []string
		for _, u := range test.want {
			want = append(want, "ws-"+u)
		}
		if got := membership.WebsocketURLs(test.self, test.others); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", test.name, got, want)
		}
	}
}
