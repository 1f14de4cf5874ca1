package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/monitor"
)

func TestSubszTest(t *testing.T) {
	p := newPages(newSource())
	tests := []struct {
		name      string
		options   monitor.SubszOptions
		total     int64
		listed    string
		wantStats int
	}{
		{"figures only", monitor.SubszOptions{}, 0, "", 4},
		{"list", monitor.SubszOptions{Subscriptions: true}, 4, "orders.* orders.> orders.new $SYS.>", 4},
		{"account", monitor.SubszOptions{Subscriptions: true, Account: "B"}, 1, "orders.new", 1},
		{"no such account", monitor.SubszOptions{Subscriptions: true, Account: "Z"}, 0, "", 0},
		{"test", monitor.SubszOptions{Subscriptions: true, Test: "orders.new"}, 3, "orders.* orders.> orders.new", 4},
		{"test without list", monitor.SubszOptions{Test: "orders.new"}, 3, "", 4},
		{"test and account", monitor.SubszOptions{Subscriptions: true, Test: "orders.new", Account: "A"}, 2, "orders.* orders.>", 2},
		{"window", monitor.SubszOptions{Subscriptions: true, Offset: 1, Limit: 2}, 4, "orders.> orders.new", 4},
	}
	for _, tt := range tests {
		page, err := p.Subsz(tt.options)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var listed []string
		for _, s := range page.Subscriptions {
			listed = append(listed, s.Subject)
		}
		if page.Total != tt.total || strings.Join(listed, " ") != tt.listed || page.NumSubscriptions != tt.wantStats {
			t.Errorf("%s: got %v of %d, %d in all, want %s of %d, %d in all",
				tt.name, listed, page.Total, page.NumSubscriptions, tt.listed, tt.total, tt.wantStats)
		}
	}
}

// TestSubszLimit checks that the list does not grow with what a request asks for.
func TestSubszLimit(t *testing.T) {
	s := newSource()
	s.subs = make([]monitor.Subscription, monitor.MaxLimit+10)
	page, err := newPages(s).Subsz(monitor.SubszOptions{Subscriptions: true, Limit: math.MaxInt64})
	if err != nil || len(page.Subscriptions) != monitor.MaxLimit || page.Total != int64(len(s.subs)) {
		t.Errorf("got %d of %d %v, want %d of %d", len(page.Subscriptions), page.Total, err, monitor.MaxLimit, len(s.subs))
	}
}

// TestSubszOrder checks that pages of a list fit together whatever the order in which the source has it, which is another
// one each time.
func TestSubszOrder(t *testing.T) {
	s := newSource()
	s.subs = nil
	for i := range 2000 {
		s.subs = append(s.subs, monitor.Subscription{
			Account: fmt.Sprintf("A%d", i%3), Subject: fmt.Sprintf("s.%d", i%50), CID: uint64(i % 7), SID: fmt.Sprint(i),
		})
	}
	p := newPages(s)
	want, err := p.Subsz(monitor.SubszOptions{Subscriptions: true, Limit: 2000})
	if err != nil || len(want.Subscriptions) != 2000 {
		t.Fatalf("got %d %v, want 2000", len(want.Subscriptions), err)
	}
	for i, sub := range want.Subscriptions[1:] {
		if was := want.Subscriptions[i]; was.Account > sub.Account || was.Account == sub.Account && was.Subject > sub.Subject {
			t.Fatalf("%+v comes before %+v", was, sub)
		}
	}
	for _, limit := range []int64{1, 7, 300, 1999} {
		var got []monitor.Subscription
		for offset := int64(0); offset < min(2000, 20*limit); offset += limit {
			rand.Shuffle(len(s.subs), func(i, k int) { s.subs[i], s.subs[k] = s.subs[k], s.subs[i] })
			page, err := p.Subsz(monitor.SubszOptions{Subscriptions: true, Limit: limit, Offset: offset})
			if err != nil || page.Total != 2000 {
				t.Fatalf("got a total of %d %v, want 2000", page.Total, err)
			}
			got = append(got, page.Subscriptions...)
		}
		if !slices.Equal(got, want.Subscriptions[:len(got)]) {
			t.Errorf("limit %d: the pages do not make up the list", limit)
		}
	}
}

// statsSource has figures that JSON cannot write.
type statsSource struct{ *fakeSource }

func (statsSource) SubscriptionStats(string) monitor.SubscriptionStats {
	return monitor.SubscriptionStats{CacheHitRate: math.NaN(), AvgFanout: math.Inf(1)}
}

func TestSubszWithoutNaN(t *testing.T) {
	w := get(monitor.Handler(newPages(statsSource{newSource()}), ""), "/subsz")
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s, want 200", w.Code, w.Body)
	}
}

func TestSubscribers(t *testing.T) {
	s := newSource()
	s.importing = []monitor.Subscription{{Account: "B", Subject: "shared"}, {Account: "B", Subject: "shared", Queue: "q"}}
	p := newPages(s)
	tests := []struct {
		account, subject, queue string
		want                    int
	}{
		{"A", "orders.new", "", 2},
		{"A", "orders.new", "workers", 1},
		{"A", "orders.new", "others", 0},
		{"B", "orders.new", "", 1},
		{"B", "orders", "", 0},
		{"B", "shared", "", 2},
		{"B", "shared", "q", 1},
		{"B", "*", "", 0},
		{"Z", "orders.new", "", 0},
		{"A", "", "", 0},
		{"A", "orders.*", "", 2},
		{"A", "*.new", "workers", 1},
		{"A", ">", "", 2},
	}
	for _, tt := range tests {
		if got := p.Subscribers(tt.account, tt.subject, tt.queue); got != tt.want {
			t.Errorf("%q %q %q: got %d, want %d", tt.account, tt.subject, tt.queue, got, tt.want)
		}
	}
}

func TestAccstatz(t *testing.T) {
	p := newPages(newSource())
	tests := []struct {
		options monitor.AccstatzOptions
		want    string
	}{
		{monitor.AccstatzOptions{}, "[A SYS]"},
		{monitor.AccstatzOptions{IncludeUnused: true}, "[A B SYS]"},
		{monitor.AccstatzOptions{Accounts: []string{"B", "A", "Z"}}, "[A]"},
		{monitor.AccstatzOptions{Accounts: []string{"B"}, IncludeUnused: true}, "[B]"},
		{monitor.AccstatzOptions{Accounts: []string{"Z"}}, "[]"},
	}
	for _, tt := range tests {
		page, err := p.Accstatz(tt.options)
		if err != nil || page.Accounts == nil {
			t.Fatalf("%+v: got %v %v", tt.options, page.Accounts, err)
		}
		names := []string{}
		for _, a := range page.Accounts {
			names = append(names, a.Name)
		}
		if fmt.Sprint(names) != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.options, names, tt.want)
		}
	}
}

func TestHealthzOptions(t *testing.T) {
	sick := newSource()
	sick.health = errors.New("lame duck")
	tests := []struct {
		name    string
		source  *fakeSource
		options monitor.HealthzOptions
		code    int
		text    string
	}{
		{"well", newSource(), monitor.HealthzOptions{}, 200, ""},
		{"without JetStream", newSource(), monitor.HealthzOptions{JSEnabledOnly: true}, 200, ""},
		{"stream and account", newSource(), monitor.HealthzOptions{Account: "A", Stream: "s"}, 200, ""},
		{"stream alone", newSource(), monitor.HealthzOptions{Stream: "s"}, 400, "account"},
		{"consumer alone", newSource(), monitor.HealthzOptions{Account: "A", Consumer: "c"}, 400, "stream"},
		{"unwell", sick, monitor.HealthzOptions{}, 503, "lame duck"},
		{"unwell, stream alone", sick, monitor.HealthzOptions{Stream: "s"}, 400, "account"},
	}
	for _, tt := range tests {
		h := newPages(tt.source).Healthz(tt.options)
		if h.StatusCode != tt.code || !strings.Contains(h.Error, tt.text) {
			t.Errorf("%s: got %+v, want %d %q", tt.name, h, tt.code, tt.text)
		}
	}
}

func TestIpqueuesz(t *testing.T) {
	p := newPages(newSource())
	tests := []struct {
		options monitor.IpqueueszOptions
		want    string
	}{
		{monitor.IpqueueszOptions{}, "map[system requests:{2 1}]"},
		{monitor.IpqueueszOptions{All: true}, "map[system events:{0 0} system requests:{2 1}]"},
		{monitor.IpqueueszOptions{All: true, Filter: "events"}, "map[system events:{0 0}]"},
		{monitor.IpqueueszOptions{Filter: "none"}, "map[]"},
	}
	for _, tt := range tests {
		if got, err := p.Ipqueuesz(tt.options); err != nil || fmt.Sprint(got) != tt.want {
			t.Errorf("%+v: got %v %v, want %s", tt.options, got, err, tt.want)
		}
	}
}

func TestProfilez(t *testing.T) {
	p := newPages(newSource())
	tests := []struct {
		options monitor.ProfilezOptions
		err     string // "" = a profile
	}{
		{monitor.ProfilezOptions{}, "not specified"},
		{monitor.ProfilezOptions{Name: "beauty"}, "not found"},
		{monitor.ProfilezOptions{Name: "cpu"}, "not between"},
		{monitor.ProfilezOptions{Name: "cpu", DurationNs: -1}, "not between"},
		{monitor.ProfilezOptions{Name: "cpu", DurationNs: math.MaxInt64}, "not between"},
		{monitor.ProfilezOptions{Name: "cpu", DurationNs: int64(time.Millisecond)}, ""},
		{monitor.ProfilezOptions{Name: "heap"}, ""},
		{monitor.ProfilezOptions{Name: "goroutine", Debug: math.MaxInt64}, ""},
		{monitor.ProfilezOptions{Name: "goroutine", Debug: -3}, ""},
	}
	for _, tt := range tests {
		got := p.Profilez(t.Context(), tt.options)
		if tt.err == "" && (got.Error != "" || len(got.Profile) == 0) || tt.err != "" && !strings.Contains(got.Error, tt.err) {
			t.Errorf("%+v: got %d bytes and %q, want error %q", tt.options, len(got.Profile), got.Error, tt.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := p.Profilez(ctx, monitor.ProfilezOptions{Name: "cpu", DurationNs: int64(15 * time.Second)})
	if got.Error != "" {
		t.Errorf("cut short: got error %q, want what there is", got.Error)
	}
}

func TestUptime(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "0s"},
		{0, "0s"},
		{999 * time.Millisecond, "0s"},
		{43 * time.Second, "43s"},
		{60 * time.Second, "1m0s"},
		{2*time.Hour + 3*time.Second, "2h0m3s"},
		{day + 2*time.Hour + 3*time.Minute + 4*time.Second, "1d2h3m4s"},
		{366*day + time.Second, "1y1d0h0m1s"},
		{math.MaxInt64, "292y171d23h47m16s"},
	}
	for _, tt := range tests {
		if got := monitor.Uptime(tt.d); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.d, got, tt.want)
		}
	}
}

func TestCPUShares(t *testing.T) {
	const s = time.Second
	got := monitor.CPUShares(
		[]time.Duration{s / 2, s, s + s/2, 3 * s, 4 * s},
		[]time.Duration{s / 4, s / 2, s, s + s/2, s},
	)
	// Too early, 0.5 s in 1 s, too early again, 1 s in 2 s, and time that seems to go back.
	if want := []float64{0, 50, 50, 50, 0}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUsageIsPlausible(t *testing.T) {
	u := monitor.SampleUsage()
	if u.MemBytes < 1<<20 || u.Cores < 1 || u.GoMaxProcs < 1 || u.CPU < 0 || u.GoMemLimit < 0 {
		t.Errorf("got %+v", u)
	}
}

func TestStatszIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.server.Counters = monitor.Counters{}
		text := string(indent(t, newPages(s).Statsz()))
		for _, name := range []string{"slow_consumer_stats", "stale_connections", "stale_connection_stats", "stalled_clients", "gomemlimit"} {
			if strings.Contains(text, `"`+name+`"`) {
				t.Errorf("%s is shown though it is zero", name)
			}
		}
	})
}
