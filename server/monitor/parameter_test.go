package monitor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"runnel/server/monitor"
)

// optionTypes has an empty options value for every page.
func optionTypes() []monitor.Parameters {
	return []monitor.Parameters{
		&monitor.ConnzOptions{}, &monitor.SubszOptions{}, &monitor.AccountzOptions{}, &monitor.AccstatzOptions{},
		&monitor.HealthzOptions{}, &monitor.RoutezOptions{}, &monitor.GatewayzOptions{}, &monitor.LeafzOptions{},
		&monitor.JszOptions{}, &monitor.RaftzOptions{}, &monitor.IpqueueszOptions{}, &monitor.ProfilezOptions{},
	}
}

func TestFromQuery(t *testing.T) {
	tests := []struct {
		query string
		into  monitor.Parameters
		want  monitor.Parameters
	}{
		{
			"subs=1&auth=true&sort=bytes_to&offset=5&limit=6&cid=18446744073709551615&state=closed&user=u&acc=a&filter_subject=x.*&mqtt_client=m",
			&monitor.ConnzOptions{},
			&monitor.ConnzOptions{
				Subscriptions: true, Authorization: true, Sort: "bytes_to", Offset: 5, Limit: 6, CID: 1<<64 - 1,
				State: monitor.ConnClosed, User: "u", Account: "a", FilterSubject: "x.*", MQTTClient: "m",
			},
		},
		{"subs=detail&state=any", &monitor.ConnzOptions{}, &monitor.ConnzOptions{SubscriptionsDetail: true, State: monitor.ConnAny}},
		{"subs=0&auth=F&state=open&sort=", &monitor.ConnzOptions{}, &monitor.ConnzOptions{}},
		{"limit=1&limit=x", &monitor.ConnzOptions{}, &monitor.ConnzOptions{Limit: 1}},
		{"subs=true&offset=1&limit=2&acc=A&test=a.b", &monitor.SubszOptions{}, &monitor.SubszOptions{
			Subscriptions: true, Offset: 1, Limit: 2, Account: "A", Test: "a.b",
		}},
		{"acc=A", &monitor.AccountzOptions{}, &monitor.AccountzOptions{Account: "A"}},
		{"unused=1&accounts=x", &monitor.AccstatzOptions{}, &monitor.AccstatzOptions{IncludeUnused: true}},
		{"subs=detail", &monitor.RoutezOptions{}, &monitor.RoutezOptions{SubscriptionsDetail: true}},
		{"gw_name=g&accs=1&acc_name=A&subs=1", &monitor.GatewayzOptions{}, &monitor.GatewayzOptions{
			Name: "g", Accounts: true, AccountName: "A", Subscriptions: true,
		}},
		{"subs=1&acc=A", &monitor.LeafzOptions{}, &monitor.LeafzOptions{Subscriptions: true, Account: "A"}},
		{
			"acc=A&accounts=1&streams=1&consumers=1&direct-consumers=1&config=1&leader-only=1&stream-leader-only=1&raft=1&offset=3&limit=4",
			&monitor.JszOptions{},
			&monitor.JszOptions{
				Account: "A", Accounts: true, Streams: true, Consumers: true, DirectConsumers: true, Config: true,
				LeaderOnly: true, StreamLeaderOnly: true, RaftGroups: true, Offset: 3, Limit: 4,
			},
		},
		{"js-enabled=1&js-server-only=1&js-meta-only=1&account=a&stream=s&consumer=c&details=1", &monitor.HealthzOptions{}, &monitor.HealthzOptions{
			JSEnabledOnly: true, JSServerOnly: true, JSMetaOnly: true, Account: "a", Stream: "s", Consumer: "c", Details: true,
		}},
		{"acc=a&group=g", &monitor.RaftzOptions{}, &monitor.RaftzOptions{Account: "a", Group: "g"}},
		{"all=1&queues=q", &monitor.IpqueueszOptions{}, &monitor.IpqueueszOptions{All: true, Filter: "q"}},
	}
	for _, tt := range tests {
		query, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		if err := monitor.FromQuery(query, tt.into); err != nil || !reflect.DeepEqual(tt.into, tt.want) {
			t.Errorf("%T from %q: got %+v %v, want %+v", tt.into, tt.query, tt.into, err, tt.want)
		}
	}
}

func TestFromJSON(t *testing.T) {
	tests := []struct {
		body string
		into monitor.Parameters
		want monitor.Parameters
	}{
		{"", &monitor.ConnzOptions{}, &monitor.ConnzOptions{}},
		{" \n", &monitor.ConnzOptions{}, &monitor.ConnzOptions{}},
		{"null", &monitor.ConnzOptions{}, &monitor.ConnzOptions{}},
		{`{"server_name":"s","tags":["x"],"exact_match":true,"new":{"a":[1]},"":7}`, &monitor.ConnzOptions{}, &monitor.ConnzOptions{}},
		{
			`{"sort":"rtt","auth":true,"subscriptions":true,"subscriptions_detail":true,"offset":9223372036854775807,"limit":-1,"cid":7,` +
				`"state":2,"user":"u","acc":"A","filter_subject":"a.>","mqtt_client":null}`,
			&monitor.ConnzOptions{},
			&monitor.ConnzOptions{
				Sort: "rtt", Authorization: true, Subscriptions: true, SubscriptionsDetail: true, Offset: 1<<63 - 1, Limit: -1,
				CID: 7, State: monitor.ConnAny, User: "u", Account: "A", FilterSubject: "a.>",
			},
		},
		{`{"state":"closed"}`, &monitor.ConnzOptions{}, &monitor.ConnzOptions{State: monitor.ConnClosed}},
		{`{"account":"A","subscriptions":true,"test":"x"}`, &monitor.SubszOptions{}, &monitor.SubszOptions{Account: "A", Subscriptions: true, Test: "x"}},
		{`{"accounts":["A","B"],"include_unused":true}`, &monitor.AccstatzOptions{}, &monitor.AccstatzOptions{Accounts: []string{"A", "B"}, IncludeUnused: true}},
		{`{"consumer":true,"leader_only":true,"account":"A"}`, &monitor.JszOptions{}, &monitor.JszOptions{Consumers: true, LeaderOnly: true, Account: "A"}},
		{`{"js-enabled-only":true,"details":true}`, &monitor.HealthzOptions{}, &monitor.HealthzOptions{JSEnabledOnly: true, Details: true}},
		{`{"name":"cpu","debug":1,"duration":1000}`, &monitor.ProfilezOptions{}, &monitor.ProfilezOptions{Name: "cpu", Debug: 1, DurationNs: 1000}},
		{`{"all":true,"filter":"q"}`, &monitor.IpqueueszOptions{}, &monitor.IpqueueszOptions{All: true, Filter: "q"}},
		{`{"name":"g","accounts":true,"account_name":"A"}`, &monitor.GatewayzOptions{}, &monitor.GatewayzOptions{Name: "g", Accounts: true, AccountName: "A"}},
	}
	for _, tt := range tests {
		if err := monitor.FromJSON([]byte(tt.body), tt.into); err != nil || !reflect.DeepEqual(tt.into, tt.want) {
			t.Errorf("%T from %s: got %+v %v, want %+v", tt.into, tt.body, tt.into, err, tt.want)
		}
	}
}

// TestBadQuery checks that a refusal is 400 and names the parameter and what it may be.
func TestBadQuery(t *testing.T) {
	h := monitor.Handler(newPages(newSource()), "")
	boolean, number := "true or false", "whole number"
	tests := []struct{ target, parameter, allowed string }{
		{"/connz?subs=2", "subs", "0, 1 or detail"},
		{"/connz?auth=yes", "auth", boolean},
		{"/connz?sort=CID", "sort", "cid, start"},
		{"/connz?sort=stop", "stop", "state closed"},
		{"/connz?sort=reason&state=any", "reason", "state closed"},
		{"/connz?state=half", "state", "open (0), closed (1) or any (2)"},
		{"/connz?cid=-1", "cid", number},
		{"/connz?cid=18446744073709551616", "cid", number},
		{"/connz?filter_subject=a..b", "filter_subject", "wildcards"},
		{"/subsz?subs=detail", "subs", boolean},
		{"/subsz?test=a.*", "test", "without wildcards"},
		{"/accstatz?unused=x", "unused", boolean},
		{"/routez?subs=x", "subs", "0, 1 or detail"},
		{"/gatewayz?accs=x", "accs", boolean},
		{"/leafz?subs=x", "subs", boolean},
		{"/jsz?streams=x", "streams", boolean},
		{"/jsz?leader-only=x", "leader-only", boolean},
		{"/healthz?details=x", "details", boolean},
		{"/healthz?js-enabled-only=x", "js-enabled-only", boolean},
		{"/ipqueuesz?all=x", "all", boolean},
		{"/accountz?acc=nobody", "nobody", "does not exist"},
	}
	for _, tt := range tests {
		w := get(h, tt.target)
		var answer struct{ Error string }
		decode(t, w, &answer)
		if w.Code != http.StatusBadRequest || !strings.Contains(answer.Error, tt.parameter) || !strings.Contains(answer.Error, tt.allowed) {
			t.Errorf("GET %s: got %d %q, want 400 with %q and %q", tt.target, w.Code, answer.Error, tt.parameter, tt.allowed)
		}
	}
}

func TestBadJSON(t *testing.T) {
	big := `{"user":"` + strings.Repeat("x", monitor.MaxBodyBytes) + `"}`
	for _, body := range []string{
		"{", "x", "[]", "1", `"a"`, "true", `{"limit":1} x`, `{"limit":"1"}`, `{"limit":1.5}`, `{"limit":1e3}`, `{"limit":true}`,
		`{"limit":{}}`, `{"limit":9223372036854775808}`, `{"cid":-1}`, `{"auth":"true"}`, `{"auth":1}`, `{"user":5}`, `{"user":["a"]}`,
		`{"state":3}`, `{"state":[1]}`, `{"state":"1x"}`, `{"sort":1}`, `{"sort":"stap"}`, `{"filter_subject":"a b"}`, `{"subscriptions":"detail"}`,
		"{\"a\":\"\x00\"}", strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 20_000), big,
	} {
		err := monitor.FromJSON([]byte(body), &monitor.ConnzOptions{})
		var request *monitor.RequestError
		if !errors.As(err, &request) || request.Code != http.StatusBadRequest || len(request.Text) > 500 {
			t.Errorf("%.60s: got error %v, want a short one with code 400", body, err)
		}
	}
	if err := monitor.FromJSON([]byte(`{"accounts":"A"}`), &monitor.AccstatzOptions{}); err == nil {
		t.Error("a text was taken for a list")
	}
}

// TestPagingEdges is C015 and its relatives: whatever number a page is asked for, the answer is a page or a
// refusal, and the server goes on.
func TestPagingEdges(t *testing.T) {
	server := httptest.NewServer(monitor.Handler(newPages(newSource()), ""))
	defer server.Close()
	numbers := []struct {
		text string
		ok   bool
	}{
		{"0", true},
		{"1", true},
		{"-1", true},
		{"-9223372036854775808", true},
		{"9223372036854775807", true},
		{"9223372036854775806", true},
		{"2147483648", true},
		{"", true},
		{"9223372036854775808", false},
		{"-9223372036854775809", false},
		{"18446744073709551615", false},
		{"99999999999999999999999999", false},
		{"1.5", false},
		{"1e3", false},
		{"0x10", false},
		{"1_000", false},
		{" 1", false},
		{"1 ", false},
		{"NaN", false},
		{"٣", false},
		{"--1", false},
	}
	for _, path := range []string{"/connz", "/subsz?subs=1", "/jsz"} {
		for _, offset := range numbers {
			for _, limit := range numbers {
				separator := "?"
				if strings.Contains(path, "?") {
					separator = "&"
				}
				target := path + separator + "offset=" + url.QueryEscape(offset.text) + "&limit=" + url.QueryEscape(limit.text)
				checkEdge(t, server.URL, target, offset.ok && limit.ok)
			}
		}
	}
}

func checkEdge(t *testing.T, base, target string, ok bool) {
	t.Helper()
	res, err := http.Get(base + target)
	if err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
	defer res.Body.Close()
	var page map[string]any
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
	want := http.StatusOK
	if !ok {
		want = http.StatusBadRequest
	}
	if res.StatusCode != want {
		t.Errorf("GET %s: got status %d %v, want %d", target, res.StatusCode, page, want)
	}
}

func TestPagesAreWindows(t *testing.T) {
	h := monitor.Handler(newPages(newSource()), "")
	tests := []struct {
		offset, limit string
		want          string // cids of connz, or sids of subsz with their cid
	}{
		{"", "", "[7 8 9]"},
		{"0", "2", "[7 8]"},
		{"1", "1", "[8]"},
		{"2", "9223372036854775807", "[9]"},
		{"3", "1", "[]"},
		{"9223372036854775807", "1", "[]"},
		{"9223372036854775807", "9223372036854775807", "[]"},
		{"-5", "-5", "[7 8 9]"},
	}
	for _, tt := range tests {
		var page struct {
			Total         int
			Offset, Limit int64
			Connections   []struct{ CID int }
		}
		decode(t, get(h, "/connz?offset="+tt.offset+"&limit="+tt.limit), &page)
		cids := []int{}
		for _, c := range page.Connections {
			cids = append(cids, c.CID)
		}
		if fmt.Sprint(cids) != tt.want || page.Total != 3 || page.Connections == nil {
			t.Errorf("offset %q limit %q: got %v of %d, want %s of 3", tt.offset, tt.limit, cids, page.Total, tt.want)
		}
		if page.Offset < 0 || page.Limit < 1 || page.Limit > monitor.MaxLimit {
			t.Errorf("offset %q limit %q: the answer says %d and %d", tt.offset, tt.limit, page.Offset, page.Limit)
		}
	}
}

// FuzzParameters feeds arbitrary text to the options of every page, as a query and as JSON: they are
// accepted or refused with a RequestError, and a page is built from what was accepted.
func FuzzParameters(f *testing.F) {
	f.Add(uint8(0), false, "offset=9223372036854775807&limit=1&sort=stop&state=closed&subs=detail")
	f.Add(uint8(0), true, `{"sort":"cid","state":2,"limit":-1,"cid":18446744073709551615,"filter_subject":"a.>"}`)
	f.Add(uint8(1), false, "subs=1&test=a.b&acc=A")
	f.Add(uint8(3), true, `{"accounts":["A",null,""],"include_unused":true}`)
	f.Add(uint8(4), true, `{"account":"A","stream":"","consumer":"\u0000"}`)
	f.Add(uint8(11), true, `{"name":"heap","debug":9,"duration":-1}`)
	source := newSource()
	pages := newPages(source)
	f.Fuzz(func(t *testing.T, selector uint8, asJSON bool, input string) {
		types := optionTypes()
		options := types[int(selector)%len(types)]
		err := fill(options, asJSON, input)
		var request *monitor.RequestError
		if err != nil && (!errors.As(err, &request) || request.Code != http.StatusBadRequest || request.Text == "") {
			t.Fatalf("got error %#v, want a RequestError", err)
		}
		if err != nil {
			return
		}
		page, err := build(pages, options)
		if err != nil && !errors.As(err, &request) {
			t.Fatalf("got error %#v, want a RequestError", err)
		}
		if _, err := json.Marshal(page); err != nil {
			t.Fatalf("the page cannot be written: %v", err)
		}
	})
}

func fill(options monitor.Parameters, asJSON bool, input string) error {
	if asJSON {
		return monitor.FromJSON([]byte(input), options)
	}
	query, _ := url.ParseQuery(input) // what it could read before an error
	return monitor.FromQuery(query, options)
}

// build makes the page that belongs to the options.
func build(p *monitor.Pages, options monitor.Parameters) (any, error) {
	switch o := options.(type) {
	case *monitor.ConnzOptions:
		return p.Connz(*o)
	case *monitor.SubszOptions:
		return p.Subsz(*o)
	case *monitor.AccountzOptions:
		return p.Accountz(*o)
	case *monitor.AccstatzOptions:
		return p.Accstatz(*o)
	case *monitor.HealthzOptions:
		return p.Healthz(*o), nil
	case *monitor.RoutezOptions:
		return p.Routez(*o)
	case *monitor.GatewayzOptions:
		return p.Gatewayz(*o)
	case *monitor.LeafzOptions:
		return p.Leafz(*o)
	case *monitor.JszOptions:
		return p.Jsz(*o)
	case *monitor.RaftzOptions:
		return p.Raftz(*o)
	case *monitor.IpqueueszOptions:
		return p.Ipqueuesz(*o)
	}
	return nil, nil
}
