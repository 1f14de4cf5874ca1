package memory

import "runtime/metrics"

// Usage is what Go's memory is at one moment.
type Usage struct {
	// UsedBytes cannot be collected: what was alive when garbage was collected last, and stacks and the like.
	UsedBytes int64
	// Collections is how often garbage was collected since the start of the process.
	Collections uint64
}

// meter reads the runtime's metrics, in the same memory each time. One goroutine uses it.
type meter struct{ samples []metrics.Sample }

// What the meter reads, in this order.
const (
	metricTotal = iota
	metricReleased
	metricObjects
	metricUnused
	metricFree
	metricLive
	metricCollections
)

func newMeter() *meter {
	names := [...]string{
		metricTotal: "/memory/classes/total:bytes", metricReleased: "/memory/classes/heap/released:bytes",
		metricObjects: "/memory/classes/heap/objects:bytes", metricUnused: "/memory/classes/heap/unused:bytes",
		metricFree: "/memory/classes/heap/free:bytes", metricLive: "/gc/heap/live:bytes",
		metricCollections: "/gc/cycles/total:gc-cycles",
	}
	m := &meter{samples: make([]metrics.Sample, len(names))}
	for i, name := range names {
		m.samples[i].Name = name
	}
	return m
}

// usage is what is in use now.
func (m *meter) usage() Usage {
	metrics.Read(m.samples)
	value := func(i int) int64 { return int64(m.samples[i].Value.Uint64()) }
	beside := value(metricTotal) - value(metricReleased) - value(metricObjects) - value(metricUnused) - value(metricFree)
	return Usage{UsedBytes: value(metricLive) + max(beside, 0), Collections: m.samples[metricCollections].Value.Uint64()}
}
