package monitor

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// maxAccountSeries is how many accounts have metrics of their own; the rest is one "other" account.
	maxAccountSeries = 100
	// maxQueueSeries is how many internal queues have a metric.
	maxQueueSeries = 100
	// otherAccount is the label of all accounts without metrics of their own.
	otherAccount = "other"
)

// metricsHandler serves the metrics of the server, of the Go runtime and of the process from a registry of
// its own, in the formats that Prometheus understands.
func metricsHandler(pages *Pages) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		newMetrics(pages),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError, // one series that cannot be written does not hide the others
		MaxRequestsInFlight: pagesAtOnce,
	})
}

// metrics reads the source anew for every scrape. Labels have names that people chose, and of those only so many
// that the number of series is bounded.
type metrics struct {
	pages  *Pages
	server []serverMetric
	totals []*prometheus.Desc // in the order of accountValues

	info, healthy, slow, stale, queues, requests *prometheus.Desc

	named     chosen // accounts with series of their own
	jetStream *jetStreamMetrics
	routes    *routeMetrics
	memory    *memoryMetrics
}

// serverMetric is a figure of the whole server that has no label.
type serverMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*ServerSnapshot) float64
}

func newMetrics(pages *Pages) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("runnel_"+name, help, labels, nil)
	}
	m := &metrics{
		pages:    pages,
		server:   serverMetrics(desc),
		info:     desc("info", "Who the server is; always 1.", "server_id", "server_name", "version", "nats_version", "cluster"),
		healthy:  desc("healthy", "1 while the health probe is content, otherwise 0."),
		slow:     desc("slow_consumers_total", "Connections closed because they did not take their messages.", "kind"),
		stale:    desc("stale_connections_total", "Connections closed because they did not answer pings.", "kind"),
		queues:   desc("queue_pending", "Entries waiting in an internal queue.", "queue"),
		requests: desc("http_requests_total", "Requests to the monitoring pages.", "path"),

		jetStream: newJetStreamMetrics(pages, desc),
		routes:    newRouteMetrics(pages, desc),
		memory:    newMemoryMetrics(desc),
	}
	for _, v := range accountValues() {
		m.totals = append(m.totals, desc("account_"+v.name, v.help, "account"))
	}
	return m
}

// serverMetrics lists the figures of the whole server.
func serverMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) []serverMetric {
	gauge := func(name, help string, value func(*ServerSnapshot) float64) serverMetric {
		return serverMetric{desc(name, help), prometheus.GaugeValue, value}
	}
	counter := func(name, help string, value func(*ServerSnapshot) int64) serverMetric {
		return serverMetric{desc(name, help), prometheus.CounterValue, func(s *ServerSnapshot) float64 {
			return float64(value(s))
		}}
	}
	return []serverMetric{
		gauge("start_time_seconds", "When the server started, in Unix time.",
			func(s *ServerSnapshot) float64 { return float64(s.Start.UnixMilli()) / 1000 }),
		gauge("config_load_time_seconds", "When the running configuration was loaded, in Unix time.",
			func(s *ServerSnapshot) float64 { return float64(s.ConfigLoadTime.UnixMilli()) / 1000 }),
		gauge("connections", "Client connections that are open.",
			func(s *ServerSnapshot) float64 { return float64(s.Counters.Connections) }),
		gauge("connections_limit", "Client connections that may be open (max_connections).",
			func(s *ServerSnapshot) float64 { return float64(s.Options.MaxConnections) }),
		counter("connections_total", "Client connections accepted since the start.",
			func(s *ServerSnapshot) int64 { return int64(s.Counters.TotalConnections) }),
		gauge("subscriptions", "Subscriptions of all accounts.",
			func(s *ServerSnapshot) float64 { return float64(s.Counters.Subscriptions) }),
		gauge("routes", "Route connections to other servers of the cluster.",
			func(s *ServerSnapshot) float64 { return float64(s.Counters.Routes) }),
		gauge("remotes", "Other servers of the cluster that this one is connected with.",
			func(s *ServerSnapshot) float64 { return float64(s.Counters.Remotes) }),
		gauge("leafnodes", "Leaf node connections.",
			func(s *ServerSnapshot) float64 { return float64(s.Counters.LeafNodes) }),
		counter("received_messages_total", "Messages received, from clients and other servers.",
			func(s *ServerSnapshot) int64 { return s.Counters.InMsgs }),
		counter("received_bytes_total", "Payload bytes received, from clients and other servers.",
			func(s *ServerSnapshot) int64 { return s.Counters.InBytes }),
		counter("sent_messages_total", "Messages sent, to clients and other servers.",
			func(s *ServerSnapshot) int64 { return s.Counters.OutMsgs }),
		counter("sent_bytes_total", "Payload bytes sent, to clients and other servers.",
			func(s *ServerSnapshot) int64 { return s.Counters.OutBytes }),
		counter("client_received_messages_total", "Messages received from clients.",
			func(s *ServerSnapshot) int64 { return s.Counters.InClientMsgs }),
		counter("client_received_bytes_total", "Payload bytes received from clients.",
			func(s *ServerSnapshot) int64 { return s.Counters.InClientBytes }),
		counter("client_sent_messages_total", "Messages sent to clients.",
			func(s *ServerSnapshot) int64 { return s.Counters.OutClientMsgs }),
		counter("client_sent_bytes_total", "Payload bytes sent to clients.",
			func(s *ServerSnapshot) int64 { return s.Counters.OutClientBytes }),
		counter("stalled_clients_total", "How often a publisher was made to wait for slow consumers.",
			func(s *ServerSnapshot) int64 { return s.Counters.StalledClients }),
	}
}

// Describe sends nothing: the set of series depends on the source, and the collector is checked when it is
// collected.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads the source once and sends all series.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	s := m.pages.source.Server()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	id := s.Identity
	gauge(m.info, 1, id.ID, strings.ToValidUTF8(id.Name, "?"), id.Runnel, id.Version, strings.ToValidUTF8(id.Cluster, "?"))
	gauge(m.healthy, m.pages.health())
	for _, v := range m.server {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.value(&s))
	}
	for kind, n := range s.Counters.SlowConsumersByKind.each {
		counter(m.slow, float64(n), kind)
	}
	for kind, n := range s.Counters.StaleConnectionsByKind.each {
		counter(m.stale, float64(n), kind)
	}
	for path, n := range m.pages.requests.snapshot() {
		counter(m.requests, float64(n), path)
	}
	queues := m.pages.source.Queues()
	for _, name := range firstNames(queues, maxQueueSeries) {
		gauge(m.queues, float64(queues[name].Pending), strings.ToValidUTF8(name, "?"))
	}
	m.memory.collect(out, s.Memory)
	m.collectAccounts(out)
	m.routes.collect(out)
	m.jetStream.collect(out, s.Series)
}

// health is 1 while the health probe is content.
func (p *Pages) health() float64 {
	return flagValue(p.Healthz(HealthzOptions{}).StatusCode == http.StatusOK)
}

// each yields the counter of every kind.
func (k ByKind) each(yield func(kind string, n uint64) bool) {
	_ = yield("client", k.Clients) && yield("route", k.Routes) && yield("gateway", k.Gateways) && yield("leaf", k.Leafs)
}

// firstNames returns at most n names of queues in their order.
func firstNames(queues map[string]Queue, n int) []string {
	names := make([]string, 0, len(queues))
	for name := range queues {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(n, len(names))]
}

// accountValue is a figure of an account.
type accountValue struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*Account) int64
}

func accountValues() []accountValue {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return []accountValue{
		{"connections", "Client connections of the account.", gauge, func(a *Account) int64 { return int64(a.Connections) }},
		{"subscriptions", "Subscriptions of the account.", gauge, func(a *Account) int64 { return int64(a.Subscriptions) }},
		{"received_messages_total", "Messages that members of the account published.", counter, func(a *Account) int64 { return a.Received.Msgs }},
		{"received_bytes_total", "Payload bytes that members of the account published.", counter, func(a *Account) int64 { return a.Received.Bytes }},
		{"sent_messages_total", "Messages delivered to members of the account.", counter, func(a *Account) int64 { return a.Sent.Msgs }},
		{"sent_bytes_total", "Payload bytes delivered to members of the account.", counter, func(a *Account) int64 { return a.Sent.Bytes }},
		{"slow_consumers_total", "Connections of the account closed because they did not take their messages.", counter, func(a *Account) int64 { return a.SlowConsumers }},
	}
}

// collectAccounts sends the series of the named accounts, and the sum of the others under one name.
func (m *metrics) collectAccounts(out chan<- prometheus.Metric) {
	accounts := m.pages.source.Accounts()
	named := m.chooseNamed(accounts)
	values := accountValues()
	others := make([]int64, len(values))
	for i := range accounts {
		a := &accounts[i]
		for j, v := range values {
			if !named[a.Name] {
				others[j] += v.value(a)
				continue
			}
			out <- prometheus.MustNewConstMetric(m.totals[j], v.kind, float64(v.value(a)), strings.ToValidUTF8(a.Name, "?"))
		}
	}
	if len(named) == len(accounts) {
		return
	}
	for j, v := range values {
		out <- prometheus.MustNewConstMetric(m.totals[j], v.kind, float64(others[j]), otherAccount)
	}
}

// chooseNamed decides which accounts have series of their own: the busiest. One that is really called like the sum of
// the others never gets its own.
func (m *metrics) chooseNamed(accounts []Account) map[string]bool {
	var candidates []candidate
	for i := range accounts {
		if a := &accounts[i]; a.Name != otherAccount {
			candidates = append(candidates, candidate{a.Name, uint64(a.Sent.Msgs + a.Received.Msgs)})
		}
	}
	return m.named.choose(candidates, maxAccountSeries)
}
