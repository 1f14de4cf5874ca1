package report

import (
	"cmp"
	"slices"
	"time"

	"runnel/chaos/history"
)

// Series is how a workload went, second by second.
type Series struct {
	Workload string  `json:"workload"`
	Points   []Point `json:"points"` // from second 0 to the last one in which a request ended, without gaps
}

// Point is one second of a workload: the requests that ended in it.
type Point struct {
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"`
	// P50 and P99 are how long those took that ended OK: half of them, and 99 in 100, took at most that; 0 if
	// there were none.
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

// measure makes the series of all workloads, in the order of their names.
func measure(ops []history.Operation) []Series {
	took := map[string][][]time.Duration{} // by workload and second
	byName := map[string]*Series{}
	for i := range ops {
		o := &ops[i]
		if !history.Request(o.Kind) {
			continue
		}
		s := byName[o.Workload]
		if s == nil {
			s = &Series{Workload: o.Workload}
			byName[o.Workload] = s
		}
		second := int(o.End / time.Second)
		for len(s.Points) <= second {
			s.Points = append(s.Points, Point{})
			took[o.Workload] = append(took[o.Workload], nil)
		}
		switch p := &s.Points[second]; o.Result {
		case history.OK:
			p.OK++
			took[o.Workload][second] = append(took[o.Workload][second], o.End-o.Start)
		case history.Failed:
			p.Failed++
		default:
			p.Unknown++
		}
	}
	all := make([]Series, 0, len(byName))
	for name, s := range byName {
		for second, list := range took[name] {
			slices.Sort(list)
			s.Points[second].P50, s.Points[second].P99 = share(list, 50), share(list, 99)
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Series) int {
		return cmp.Or(cmp.Compare(len(a.Workload), len(b.Workload)), cmp.Compare(a.Workload, b.Workload)) // W2 before W10
	})
	return all
}

// share is the smallest of the sorted values that so many in a hundred do not exceed; 0 if there are none.
func share(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
