package monitor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"runnel/server/monitor"
)

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := get(h, "/metrics")
	if w.Code != http.StatusOK {
		t.Fatalf("got status %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	s := newSource()
	h := monitor.Handler(newPages(s), "")
	text := scrape(t, h)
	for _, line := range []string{
		`runnel_info{cluster="",nats_version="2.15.2",server_id="NABC",server_name="srv1",version="0.1.0"} 1`,
		"runnel_healthy 1",
		"runnel_connections 3",
		"runnel_connections_limit 5000",
		"runnel_connections_total 5",
		"runnel_subscriptions 4",
		"runnel_received_messages_total 11",
		"runnel_received_bytes_total 110",
		"runnel_sent_messages_total 21",
		"runnel_sent_bytes_total 210",
		"runnel_client_received_messages_total 10",
		"runnel_client_sent_bytes_total 200",
		"runnel_stalled_clients_total 4",
		`runnel_slow_consumers_total{kind="client"} 2`,
		`runnel_stale_connections_total{kind="route"} 0`,
		`runnel_queue_pending{queue="system requests"} 2`,
		`runnel_http_requests_total{path="/metrics"} 1`,
		`runnel_account_connections{account="A"} 2`,
		`runnel_account_received_messages_total{account="A"} 20`,
		`runnel_account_sent_bytes_total{account="A"} 400`,
		`runnel_account_slow_consumers_total{account="A"} 1`,
		"# TYPE runnel_received_messages_total counter",
		"# TYPE runnel_connections gauge",
		"# TYPE go_goroutines gauge",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(text, `account="other"`) {
		t.Error("there is an other account though all are named")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE runnel_"); ok && !strings.Contains(text, "# HELP runnel_"+strings.Fields(name)[0]+" ") {
			t.Errorf("no help for %s", line)
		}
	}
	s.health = errors.New("ill")
	if !strings.Contains(scrape(t, h), "runnel_healthy 0\n") {
		t.Error("an unwell server shows as healthy")
	}
}

func TestRouteMetrics(t *testing.T) {
	s := newClustered()
	text := scrape(t, monitor.Handler(newPages(s), ""))
	for _, line := range []string{
		"runnel_routes 3",
		"runnel_remotes 2",
		`runnel_route_received_messages_total{server_name="srv2"} 3`,
		`runnel_route_received_bytes_total{server_name="srv2"} 30`,
		`runnel_route_sent_messages_total{server_name="srv2"} 3`,
		`runnel_route_sent_bytes_total{server_name="srv2"} 30`,
		`runnel_route_pending_bytes{server_name="srv2"} 7`,
		`runnel_route_rtt_seconds{server_name="srv2"} 0.000582`,
		`runnel_route_sent_messages_total{server_name="srv3"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for i := range 1000 {
		s.routes = append(s.routes, monitor.Route{RemoteName: fmt.Sprintf("r%d", i)})
	}
	if got := series(scrape(t, monitor.Handler(newPages(s), "")), "runnel_route_pending_bytes"); got != 100 {
		t.Errorf("got %d series of other servers, want 100", got)
	}
}

// series counts the lines of one metric.
func series(text, name string) int {
	return strings.Count(text, "\n"+name+"{")
}

func TestMetricsAreBounded(t *testing.T) {
	s := newSource()
	s.accounts = manyAccounts(3 * monitor.MaxAccountSeries)
	s.queues = map[string]monitor.Queue{}
	for i := range 1000 {
		s.queues[fmt.Sprintf("q%d", i)] = monitor.Queue{Pending: 1}
	}
	h := monitor.Handler(newPages(s), "")
	text := scrape(t, h)
	if got := series(text, "runnel_account_connections"); got != monitor.MaxAccountSeries+1 {
		t.Errorf("got %d series of accounts, want %d", got, monitor.MaxAccountSeries+1)
	}
	if got := series(text, "runnel_queue_pending"); got != 100 {
		t.Errorf("got %d series of queues, want 100", got)
	}
	if !strings.Contains(text, `runnel_account_connections{account="other"} 200`+"\n") {
		t.Error("the other accounts are not summed up")
	}
	if !strings.Contains(text, `runnel_account_connections{account="acc0299"}`) || strings.Contains(text, `account="acc0000"`) {
		t.Error("not the busiest accounts are named")
	}
	for i := range 500 { // requests cannot add series
		get(h, fmt.Sprintf("/none%d", i))
	}
	if got := series(scrape(t, h), "runnel_http_requests_total"); got != 1 {
		t.Errorf("got %d series of requests, want 1", got)
	}
}

// TestMetricsStayNamed checks that an account does not lose its series when others overtake it, and makes
// room when it is gone.
func TestMetricsStayNamed(t *testing.T) {
	s := newSource()
	s.accounts = manyAccounts(monitor.MaxAccountSeries + 2)
	h := monitor.Handler(newPages(s), "")
	scrape(t, h)
	s.accounts[0].Received.Msgs = 1 << 40 // the idlest becomes the busiest
	if text := scrape(t, h); strings.Contains(text, `account="acc0000"`) || !strings.Contains(text, `account="acc0002"`) {
		t.Error("series moved with the ranking")
	}
	s.accounts = append(s.accounts[:2], s.accounts[3:]...)
	if text := scrape(t, h); !strings.Contains(text, `account="acc0000"`) || strings.Contains(text, `account="acc0002"`) {
		t.Error("the place of an account that is gone was not given to the busiest")
	}
}

// TestMetricsAccountCalledOther checks that an account with the name of the sum does not make it ambiguous.
func TestMetricsAccountCalledOther(t *testing.T) {
	s := newSource()
	s.accounts = append(manyAccounts(monitor.MaxAccountSeries+1), monitor.Account{Name: "other", Connections: 7})
	s.accounts[len(s.accounts)-1].Received.Msgs = 1 << 40
	text := scrape(t, monitor.Handler(newPages(s), ""))
	if got := strings.Count(text, `runnel_account_connections{account="other"}`); got != 1 {
		t.Errorf("got %d series for other, want 1", got)
	}
	if !strings.Contains(text, `runnel_account_connections{account="other"} 8`+"\n") {
		t.Error("the sum of the others does not include the account of that name")
	}
}

func TestMetricsOddNames(t *testing.T) {
	s := newSource()
	s.accounts = []monitor.Account{{Name: "bad\xff"}, {Name: "other", Connections: 5}, {Name: "bad\xfe"}, {Name: `q"\`, Connections: 1}}
	s.queues = map[string]monitor.Queue{"\xff": {Pending: 1}}
	s.server.Identity.Name = "\xff"
	text := scrape(t, monitor.Handler(newPages(s), ""))
	for _, line := range []string{
		`runnel_account_connections{account="other"} 5`,
		`runnel_account_connections{account="q\"\\"} 1`,
		"runnel_connections 3",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}
