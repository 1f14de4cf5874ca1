package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/monitor"
)

// cids asks for connections inside a bubble, where the clock stands at epoch.
func cids(t *testing.T, o monitor.ConnzOptions) (list []uint64, total int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		page, err := newPages(newSource()).Connz(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if page.NumConnections != len(page.Connections) {
			t.Errorf("%+v: num_connections is %d, the list has %d", o, page.NumConnections, len(page.Connections))
		}
		for _, c := range page.Connections {
			list = append(list, c.CID)
		}
		total = page.Total
	})
	return list, total
}

func TestConnzSort(t *testing.T) {
	tests := []struct {
		sort  string
		state monitor.ConnState
		want  string
	}{
		{"", monitor.ConnOpen, "[7 8 9]"},
		{"cid", monitor.ConnAny, "[7 8 9 10 11]"},
		{"start", monitor.ConnAny, "[9 10 11 7 8]"},
		{"subs", monitor.ConnOpen, "[7 8 9]"},
		{"subs", monitor.ConnClosed, "[10 11]"},
		{"pending", monitor.ConnOpen, "[8 7 9]"},
		{"msgs_to", monitor.ConnOpen, "[7 8 9]"},
		{"msgs_from", monitor.ConnOpen, "[8 7 9]"},
		{"bytes_to", monitor.ConnOpen, "[7 8 9]"},
		{"bytes_from", monitor.ConnOpen, "[8 7 9]"},
		{"last", monitor.ConnAny, "[8 7 11 10 9]"},
		{"idle", monitor.ConnAny, "[9 10 7 11 8]"},
		{"uptime", monitor.ConnAny, "[8 7 11 10 9]"},
		{"stop", monitor.ConnClosed, "[11 10]"},
		{"reason", monitor.ConnClosed, "[11 10]"},
		{"rtt", monitor.ConnAny, "[10 7 8 9 11]"},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.sort] = true
		if got, _ := cids(t, monitor.ConnzOptions{Sort: tt.sort, State: tt.state}); fmt.Sprint(got) != tt.want {
			t.Errorf("sort %q of state %d: got %v, want %s", tt.sort, tt.state, got, tt.want)
		}
	}
	for _, name := range monitor.SortNames() {
		if !tested[name] {
			t.Errorf("sort %q is not tested", name)
		}
	}
}

func TestConnzSortNeedsClosed(t *testing.T) {
	p := newPages(newSource())
	for _, o := range []monitor.ConnzOptions{
		{Sort: "stop"}, {Sort: "reason"}, {Sort: "stop", State: monitor.ConnAny}, {Sort: "beauty"},
	} {
		if page, err := p.Connz(o); err == nil {
			t.Errorf("%+v: got %d connections, want an error", o, page.NumConnections)
		}
	}
}

func TestConnzFilters(t *testing.T) {
	tests := []struct {
		name    string
		options monitor.ConnzOptions
		want    string
	}{
		{"user", monitor.ConnzOptions{User: "ann", State: monitor.ConnAny}, "[7 10]"},
		{"account", monitor.ConnzOptions{Account: "B", State: monitor.ConnAny}, "[8 11]"},
		{"account and user", monitor.ConnzOptions{Account: "B", User: "ann"}, "[]"},
		{"no such account", monitor.ConnzOptions{Account: "Z"}, "[]"},
		{"cid", monitor.ConnzOptions{CID: 8}, "[8]"},
		{"cid with a window", monitor.ConnzOptions{CID: 8, Offset: 5, Limit: 9}, "[8]"},
		{"cid of a closed one", monitor.ConnzOptions{CID: 10}, "[]"},
		{"cid of a closed one, asked for", monitor.ConnzOptions{CID: 10, State: monitor.ConnClosed}, "[10]"},
		{"mqtt client", monitor.ConnzOptions{MQTTClient: "m1", State: monitor.ConnAny}, "[11]"},
		{"subject", monitor.ConnzOptions{FilterSubject: "orders.new"}, "[7 8]"},
		{"subject, one token deeper", monitor.ConnzOptions{FilterSubject: "orders.a.b"}, "[7]"},
		{"subject with wildcard", monitor.ConnzOptions{FilterSubject: "*.new"}, "[7 8 9]"},
		{"subject in an account", monitor.ConnzOptions{FilterSubject: "orders.new", Account: "B"}, "[8]"},
		{"subject of a closed one", monitor.ConnzOptions{FilterSubject: "gone.x", State: monitor.ConnAny}, "[10]"},
		{"subject nobody wants", monitor.ConnzOptions{FilterSubject: "none"}, "[]"},
	}
	for _, tt := range tests {
		got, total := cids(t, tt.options)
		if fmt.Sprint(got) != tt.want || total != len(got) {
			t.Errorf("%s: got %v of %d, want %s", tt.name, got, total, tt.want)
		}
	}
}

// TestConnzPrivacy checks that users, accounts and tokens are shown only when asked for.
func TestConnzPrivacy(t *testing.T) {
	s := newSource()
	for i := range s.conns {
		s.conns[i].JWT = "secret-jwt"
	}
	h := monitor.Handler(newPages(s), "")
	plain, full := get(h, "/connz?state=any").Body.String(), get(h, "/connz?state=any&auth=1").Body.String()
	for _, word := range []string{"secret-jwt", `"ann"`, `"team a"`, `"authorized_user"`, `"account"`} {
		if strings.Contains(plain, word) {
			t.Errorf("without auth=1 the page shows %s", word)
		}
		if !strings.Contains(full, word) {
			t.Errorf("with auth=1 the page does not show %s", word)
		}
	}
}

func TestConnzLeavesSourceAlone(t *testing.T) {
	s := newSource()
	if _, err := newPages(s).Connz(monitor.ConnzOptions{SubscriptionsDetail: true, Sort: "rtt"}); err != nil {
		t.Fatal(err)
	}
	if s.subs[0].Account != "A" || s.conns[0].CID != 8 {
		t.Error("the page changed what the source holds")
	}
}

func BenchmarkConnz(b *testing.B) {
	s := newSource()
	for i := range 10_000 {
		s.conns = append(s.conns, monitor.Connection{CID: uint64(100 + i), PendingBytes: int64(i % 77), Start: epoch.Add(time.Duration(i))})
	}
	p := newPages(s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Connz(monitor.ConnzOptions{Sort: "pending"}); err != nil {
			b.Fatal(err)
		}
	}
}
