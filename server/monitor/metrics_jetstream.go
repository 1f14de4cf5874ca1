package monitor

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"runnel/server/jetstream/api"
)

// jetStreamMetrics are the series about JetStream. There are none while it is off.
type jetStreamMetrics struct {
	pages     *Pages
	totals    []jetStreamMetric
	streams   []streamMetric
	consumers []consumerMetric

	stalled, sourceLag                 *prometheus.Desc
	unlistedStreams, unlistedConsumers *prometheus.Desc
	namedStreams, namedConsumers       chosen
	patterns                           *patternMetrics
}

// jetStreamMetric is a figure of JetStream as a whole.
type jetStreamMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*JetStream) float64
}

// streamMetric is a figure of a stream, consumerMetric one of a consumer.
type streamMetric struct {
	desc  *prometheus.Desc
	value func(*StreamDetail) float64
}

type consumerMetric struct {
	desc  *prometheus.Desc
	value func(*ConsumerDetail) float64
}

// describe makes the description of a series.
type describe func(name, help string, labels ...string) *prometheus.Desc

func newJetStreamMetrics(pages *Pages, desc describe) *jetStreamMetrics {
	return &jetStreamMetrics{
		pages:     pages,
		totals:    jetStreamTotals(desc),
		streams:   streamMetrics(desc),
		consumers: consumerMetrics(desc),
		stalled: desc("consumer_stalled", "1 while a consumer delivers nothing although it could, with the reason.",
			"account", "stream", "consumer", "reason"),
		sourceLag: desc("stream_source_lag_messages", "Messages that a mirror, or a stream with sources, has not copied yet; of several sources the most.",
			"account", "stream"),
		unlistedStreams:   desc("jetstream_unlisted_streams", "Streams without series of their own (metrics.max_streams)."),
		unlistedConsumers: desc("jetstream_unlisted_consumers", "Consumers without series of their own (metrics.max_consumers)."),
		patterns:          newPatternMetrics(desc),
	}
}

// jetStreamTotals lists the figures of JetStream as a whole.
func jetStreamTotals(desc describe) []jetStreamMetric {
	gauge := func(name, help string, value func(*JetStream) float64) jetStreamMetric {
		return jetStreamMetric{desc("jetstream_"+name, help), prometheus.GaugeValue, value}
	}
	counter := func(name, help string, value func(*JetStream) uint64) jetStreamMetric {
		return jetStreamMetric{desc("jetstream_"+name, help), prometheus.CounterValue, func(js *JetStream) float64 {
			return float64(value(js))
		}}
	}
	return []jetStreamMetric{
		gauge("up", "1 while JetStream does its work, otherwise 0.", func(js *JetStream) float64 { return flagValue(js.Err == nil) }),
		gauge("streams", "Streams of all accounts.", func(js *JetStream) float64 { return float64(js.Streams) }),
		gauge("consumers", "Consumers of all streams.", func(js *JetStream) float64 { return float64(js.Consumers) }),
		gauge("messages", "Messages in all streams.", func(js *JetStream) float64 { return float64(js.Messages) }),
		gauge("bytes", "Bytes of all messages.", func(js *JetStream) float64 { return float64(js.Bytes) }),
		gauge("memory_used_bytes", "Bytes of memory streams.", func(js *JetStream) float64 { return float64(js.Stats.MemoryBytes) }),
		gauge("memory_reserved_bytes", "Bytes that memory streams with a limit may grow to.",
			func(js *JetStream) float64 { return float64(js.Stats.ReservedMemoryBytes) }),
		gauge("memory_limit_bytes", "Bytes that memory streams may have (max_memory_store).",
			func(js *JetStream) float64 { return float64(js.Config.MaxMemoryBytes) }),
		gauge("storage_used_bytes", "Bytes of file streams.", func(js *JetStream) float64 { return float64(js.Stats.StorageBytes) }),
		gauge("storage_reserved_bytes", "Bytes that file streams with a limit may grow to.",
			func(js *JetStream) float64 { return float64(js.Stats.ReservedStorageBytes) }),
		gauge("storage_limit_bytes", "Bytes that file streams may have (max_file_store).",
			func(js *JetStream) float64 { return float64(js.Config.MaxStorageBytes) }),
		gauge("problems", "Streams and consumers with which something is wrong; /jsz names them.",
			func(js *JetStream) float64 { return float64(len(js.Problems)) }),
		counter("api_requests_total", "Requests to the API.", func(js *JetStream) uint64 { return js.Stats.API.Total }),
		counter("api_errors_total", "Answers of the API that were errors.", func(js *JetStream) uint64 { return js.Stats.API.Errors }),
	}
}

// streamMetrics lists the figures of a stream.
func streamMetrics(desc describe) []streamMetric {
	gauge := func(name, help string, value func(*StreamDetail) float64) streamMetric {
		return streamMetric{desc("stream_"+name, help, "account", "stream"), value}
	}
	return []streamMetric{
		gauge("messages", "Messages in a stream.", func(s *StreamDetail) float64 { return float64(s.State.Messages) }),
		gauge("bytes", "Bytes of the messages in a stream.", func(s *StreamDetail) float64 { return float64(s.State.Bytes) }),
		gauge("first_sequence", "Sequence of the first message in a stream.",
			func(s *StreamDetail) float64 { return float64(s.State.FirstSequence) }),
		gauge("last_sequence", "Sequence of the last message that a stream got; its rate is that of publishing.",
			func(s *StreamDetail) float64 { return float64(s.State.LastSequence) }),
		gauge("consumers", "Consumers of a stream.", func(s *StreamDetail) float64 { return float64(s.State.Consumers) }),
		gauge("lost_messages", "Messages that the disk did not give back.", func(s *StreamDetail) float64 { return float64(s.Lost) }),
	}
}

// consumerMetrics lists the figures of a consumer.
func consumerMetrics(desc describe) []consumerMetric {
	gauge := func(name, help string, value func(*ConsumerDetail) float64) consumerMetric {
		return consumerMetric{desc("consumer_"+name, help, "account", "stream", "consumer"), value}
	}
	lag := func(name, help string, value func(l *api.Lag, now time.Time) float64) consumerMetric {
		return gauge(name, help, func(c *ConsumerDetail) float64 {
			if c.Lag == nil {
				return 0
			}
			return value(c.Lag, c.Now)
		})
	}
	return []consumerMetric{
		gauge("pending_messages", "Messages that a consumer has not delivered yet.",
			func(c *ConsumerDetail) float64 { return float64(c.Pending) }),
		gauge("ack_pending_messages", "Messages that were delivered and not acknowledged yet.",
			func(c *ConsumerDetail) float64 { return float64(c.AckPending) }),
		gauge("redelivered_messages", "Of the messages not acknowledged yet, those delivered more than once.",
			func(c *ConsumerDetail) float64 { return float64(c.Redelivered) }),
		gauge("waiting_requests", "Pull requests that wait for messages.",
			func(c *ConsumerDetail) float64 { return float64(c.Waiting) }),
		gauge("delivered_sequence", "Sequence of a consumer's last delivery; its rate is that of delivering.",
			func(c *ConsumerDetail) float64 { return float64(c.Delivered.Consumer) }),
		lag("lag_seconds", "Age of the oldest message that was not delivered or not acknowledged yet, 0 for none.",
			func(l *api.Lag, _ time.Time) float64 { return l.Age.Seconds() }),
		lag("undelivered_seconds", "Age of the oldest message that was not delivered yet, 0 for none.",
			func(l *api.Lag, now time.Time) float64 { return ageOf(l.OldestUndelivered, now) }),
		lag("unacked_seconds", "Age of the oldest message that was delivered and not acknowledged yet, 0 for none.",
			func(l *api.Lag, now time.Time) float64 { return ageOf(l.OldestUnacked, now) }),
		lag("served_per_second", "Messages that a consumer was through with each second, over the last 10 seconds.",
			func(l *api.Lag, _ time.Time) float64 { return l.Served }),
	}
}

// ageOf is how old something is, 0 for nothing.
func ageOf(since *time.Time, now time.Time) float64 {
	if since == nil {
		return 0
	}
	return max(now.Sub(*since).Seconds(), 0)
}

// streamFigures is a stream with its account; asked for without configurations, it is small.
type streamFigures struct {
	account string
	StreamDetail
}

// collect sends the series.
func (m *jetStreamMetrics) collect(out chan<- prometheus.Metric, most Series) {
	js, on := m.pages.source.JetStream()
	if !on {
		return
	}
	for _, v := range m.totals {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.value(&js))
	}
	var streams []streamFigures
	if most.Streams > 0 || most.Consumers > 0 {
		query := StreamQuery{Consumers: most.Consumers > 0, Dead: most.Streams > 0}
		for _, a := range m.pages.source.JetStreamAccounts() {
			for s := range m.pages.source.JetStreamStreams(a.ID, query) {
				streams = append(streams, streamFigures{a.ID, s})
			}
		}
	}
	out <- gaugeMetric(m.unlistedStreams, float64(max(0, js.Streams-m.collectStreams(out, streams, most.Streams))))
	streams, led := ledOf(streams, m.pages.source.Server().Identity.Name)
	consumers := js.Consumers
	if most.Consumers > 0 {
		consumers = led
	}
	m.patterns.collectStreams(out, streams, most.Streams)
	out <- gaugeMetric(m.unlistedConsumers, float64(max(0, consumers-m.collectConsumers(out, streams, most.Consumers))))
}

// ledOf returns the streams that a server leads, and how many consumers they have. Of those that others lead it knows what was
// applied, and not what their clients are up to: to have both in a graph would be to have every consumer several times.
func ledOf(streams []streamFigures, server string) (led []streamFigures, consumers int) {
	for i := range streams {
		s := &streams[i]
		if c := s.Cluster; c != nil && len(c.Replicas) > 0 && c.Leader != server {
			continue
		}
		led = append(led, *s)
		consumers += len(s.Consumers)
	}
	return led, consumers
}

// collectStreams sends the series of at most that many streams, the largest if there are more, and returns their
// number.
func (m *jetStreamMetrics) collectStreams(out chan<- prometheus.Metric, streams []streamFigures, most int) int {
	candidates := make([]candidate, 0, len(streams))
	for i := range streams {
		candidates = append(candidates, candidate{labelKey(streams[i].account, streams[i].Name), streams[i].State.Bytes})
	}
	named := m.namedStreams.choose(candidates, most)
	for i := range streams {
		s := &streams[i]
		if !named[labelKey(s.account, s.Name)] {
			continue
		}
		for _, v := range m.streams {
			out <- gaugeMetric(v.desc, v.value(&s.StreamDetail), s.account, s.Name)
		}
		if lag, copies := s.sourceLag(); copies {
			out <- gaugeMetric(m.sourceLag, float64(lag), s.account, s.Name)
		}
	}
	return len(named)
}

// sourceLag returns how far a stream is behind what it copies, false when it copies nothing.
func (s *StreamDetail) sourceLag() (lag uint64, copies bool) {
	if s.Mirror != nil {
		return s.Mirror.Lag, true
	}
	for _, source := range s.Sources {
		lag = max(lag, source.Lag)
	}
	return lag, len(s.Sources) > 0
}

// collectConsumers sends the series of at most that many consumers, those that are furthest behind if there are more,
// and returns their number.
func (m *jetStreamMetrics) collectConsumers(out chan<- prometheus.Metric, streams []streamFigures, most int) int {
	var candidates []candidate
	for i := range streams {
		s := &streams[i]
		for j := range s.Consumers {
			c := &s.Consumers[j]
			behind := c.Pending + uint64(max(0, c.AckPending))
			if c.Letters != nil {
				behind += uint64(c.Letters.Waiting)
			}
			candidates = append(candidates, candidate{labelKey(s.account, s.Name, c.Name), behind})
		}
	}
	named := m.namedConsumers.choose(candidates, most)
	for i := range streams {
		s := &streams[i]
		for j := range s.Consumers {
			c := &s.Consumers[j]
			if !named[labelKey(s.account, s.Name, c.Name)] {
				continue
			}
			for _, v := range m.consumers {
				out <- gaugeMetric(v.desc, v.value(c), s.account, s.Name, c.Name)
			}
			if c.Stalled != nil {
				out <- gaugeMetric(m.stalled, 1, s.account, s.Name, c.Name, c.Stalled.Reason)
			}
			m.patterns.collectConsumer(out, &c.ConsumerInfo, s.account, s.Name, c.Name)
		}
	}
	return len(named)
}

// labelKey is one name for a thing with several labels; no label of ours has a line end.
func labelKey(labels ...string) string { return strings.Join(labels, "\n") }

// gaugeMetric returns a figure. Labels that are no text would be refused, with a panic.
func gaugeMetric(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "?")
	}
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// flagValue is a condition as a figure.
func flagValue(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
