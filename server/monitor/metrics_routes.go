package monitor

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxPeerSeries is how many other servers have metrics of their own. Clusters are smaller.
const maxPeerSeries = 100

// routeMetrics are the figures of the connections to each other server, all connections to one together.
type routeMetrics struct {
	pages                                            *Pages
	inMsgs, inBytes, outMsgs, outBytes, pending, rtt *prometheus.Desc
}

func newRouteMetrics(pages *Pages, desc func(name, help string, labels ...string) *prometheus.Desc) *routeMetrics {
	of := func(name, help string) *prometheus.Desc { return desc("route_"+name, help, "server_name") }
	return &routeMetrics{
		pages:    pages,
		inMsgs:   of("received_messages_total", "Messages received from another server, over the connections that are open."),
		inBytes:  of("received_bytes_total", "Payload bytes received from another server, over the connections that are open."),
		outMsgs:  of("sent_messages_total", "Messages sent to another server, over the connections that are open."),
		outBytes: of("sent_bytes_total", "Payload bytes sent to another server, over the connections that are open."),
		pending:  of("pending_bytes", "Bytes that wait to be sent to another server."),
		rtt:      of("rtt_seconds", "Round trip time to another server, as the last ping took it."),
	}
}

// collect sends the series of the servers that are connected.
func (m *routeMetrics) collect(out chan<- prometheus.Metric) {
	sums := map[string]*Route{}
	var names []string
	for _, r := range m.pages.routes(false) {
		name := strings.ToValidUTF8(r.RemoteName, "?")
		sum := sums[name]
		switch {
		case sum == nil && len(names) == maxPeerSeries:
			continue
		case sum == nil:
			sum = &Route{}
			sums[name], names = sum, append(names, name)
		}
		sum.Traffic.InMsgs += r.Traffic.InMsgs
		sum.Traffic.InBytes += r.Traffic.InBytes
		sum.Traffic.OutMsgs += r.Traffic.OutMsgs
		sum.Traffic.OutBytes += r.Traffic.OutBytes
		sum.PendingBytes += r.PendingBytes
		sum.RTT = max(sum.RTT, r.RTT)
	}
	for _, name := range names {
		r := sums[name]
		send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
			out <- prometheus.MustNewConstMetric(d, kind, v, name)
		}
		send(m.inMsgs, prometheus.CounterValue, float64(r.Traffic.InMsgs))
		send(m.inBytes, prometheus.CounterValue, float64(r.Traffic.InBytes))
		send(m.outMsgs, prometheus.CounterValue, float64(r.Traffic.OutMsgs))
		send(m.outBytes, prometheus.CounterValue, float64(r.Traffic.OutBytes))
		send(m.pending, prometheus.GaugeValue, float64(r.PendingBytes))
		send(m.rtt, prometheus.GaugeValue, r.RTT.Seconds())
	}
}
