package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"runnel/server/memory"
)

// memoryMetrics are those of the memory budget. Without one there are none.
type memoryMetrics struct{ limit, goal, used, step, pace, scarce, refused *prometheus.Desc }

func newMemoryMetrics(desc func(name, help string, labels ...string) *prometheus.Desc) *memoryMetrics {
	return &memoryMetrics{
		limit:   desc("memory_limit_bytes", "Memory that the process may have (memory_limit)."),
		goal:    desc("memory_goal_bytes", "What Go's heap and stacks may take of it."),
		used:    desc("memory_used_bytes", "What cannot be collected of it, as of the last collection."),
		step:    desc("memory_step", "How scarce memory is: 0 calm, 1 tight, 2 slow, 3 stopped."),
		pace:    desc("memory_pace_bytes", "What a connection may publish to streams in a second; 0 for as much as it wants."),
		scarce:  desc("memory_scarce_total", "How often publishers were slowed down since memory was scarce."),
		refused: desc("memory_refused_connections_total", "Connections refused since memory was used up."),
	}
}

func (m *memoryMetrics) collect(out chan<- prometheus.Metric, s *memory.State) {
	if s == nil {
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(d, kind, v)
	}
	send(m.limit, prometheus.GaugeValue, float64(s.LimitBytes))
	send(m.goal, prometheus.GaugeValue, float64(s.GoalBytes))
	send(m.used, prometheus.GaugeValue, float64(s.UsedBytes))
	send(m.step, prometheus.GaugeValue, float64(s.Step))
	send(m.pace, prometheus.GaugeValue, float64(s.PaceBytes))
	send(m.scarce, prometheus.CounterValue, float64(s.Scarce))
	send(m.refused, prometheus.CounterValue, float64(s.Refused))
}
