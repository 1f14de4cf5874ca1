package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"runnel/server/jetstream/api"
)

// patternMetrics are the series about what is under way between streams: dead letters, and acknowledgements that were published with a
// message. Only what there is has series, and of streams only so many as have others. Who leads a stream tells of it.
type patternMetrics struct {
	dead, deadAge       *prometheus.Desc
	waiting, waitingAge *prometheus.Desc
	owed, owedAge       *prometheus.Desc
	unlisted            *prometheus.Desc

	namedDead, namedOwing chosen
}

func newPatternMetrics(desc describe) *patternMetrics {
	return &patternMetrics{
		dead:    desc("dead_letter_messages", "Messages in a dead-letter stream.", "account", "stream"),
		deadAge: desc("dead_letter_oldest_seconds", "How long the first message of a dead-letter stream has been there.", "account", "stream"),
		waiting: desc("consumer_dead_letters_waiting", "Messages that a consumer has given up and its dead-letter stream has not taken yet.",
			"account", "stream", "consumer"),
		waitingAge: desc("consumer_dead_letters_waiting_seconds", "How long the first of them has been given up.", "account", "stream", "consumer"),
		owed: desc("stream_owed_acks", "Acknowledgements that were published with messages of a stream, and that another stream has not taken yet.",
			"account", "stream"),
		owedAge:  desc("stream_owed_acks_seconds", "How long ago the message was stored that came with the first of them.", "account", "stream"),
		unlisted: desc("jetstream_unlisted_dead_letter_streams", "Dead-letter streams without series of their own (metrics.max_streams)."),
	}
}

// collectStreams sends the series of streams that the server leads: of at most that many of each kind, those with the most.
func (m *patternMetrics) collectStreams(out chan<- prometheus.Metric, led []streamFigures, most int) {
	var dead, owing []candidate
	for i := range led {
		s := &led[i]
		if s.Dead != nil {
			dead = append(dead, candidate{labelKey(s.account, s.Name), s.Dead.Messages})
		}
		if s.Owed != nil {
			owing = append(owing, candidate{labelKey(s.account, s.Name), uint64(s.Owed.Acks)})
		}
	}
	withDead, withOwed := m.namedDead.choose(dead, most), m.namedOwing.choose(owing, most)
	out <- gaugeMetric(m.unlisted, float64(len(dead)-len(withDead)))
	for i := range led {
		s := &led[i]
		if s.Dead != nil && withDead[labelKey(s.account, s.Name)] {
			out <- gaugeMetric(m.dead, float64(s.Dead.Messages), s.account, s.Name)
			out <- gaugeMetric(m.deadAge, s.Dead.Seconds, s.account, s.Name)
		}
		if s.Owed != nil && withOwed[labelKey(s.account, s.Name)] {
			out <- gaugeMetric(m.owed, float64(s.Owed.Acks), s.account, s.Name)
			out <- gaugeMetric(m.owedAge, s.Owed.Seconds, s.account, s.Name)
		}
	}
}

// collectConsumer sends the series of a consumer of which letters wait.
func (m *patternMetrics) collectConsumer(out chan<- prometheus.Metric, c *api.ConsumerInfo, labels ...string) {
	if c.Letters == nil {
		return
	}
	out <- gaugeMetric(m.waiting, float64(c.Letters.Waiting), labels...)
	out <- gaugeMetric(m.waitingAge, ageOf(&c.Letters.Oldest, c.Now), labels...)
}
