package check

import (
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// Figures are how available a workload was. They are no verdict: during a fault all may be as it should.
type Figures struct {
	Workload string `json:"workload"`
	Kind     string `json:"kind"` // of the operations that are counted
	OK       int    `json:"ok"`
	Failed   int    `json:"failed"`
	Unknown  int    `json:"unknown"`
	// Share is the part of the run's seconds, from the first operation to the last, in which at least one
	// operation ended OK, of those in which any ended: 0 to 1.
	Share float64 `json:"share"`
	// LongestGap is the longest time between two operations that ended OK, or between the first or last of
	// them and the first or last operation; in nanoseconds.
	LongestGap time.Duration `json:"longestGap"`
}

// Availability counts what came of the operations of clients, for each workload and kind, in the order of
// their names. Fetches that got nothing are not counted.
func Availability(ops []history.Operation) []Figures {
	type name struct{ workload, kind string }
	byName := map[name][]*history.Operation{}
	for i := range ops {
		o := &ops[i]
		if fetched := o.Kind == history.Fetch && o.Value != ""; !fetched && !history.Request(o.Kind) {
			continue // observers get what there is; they do not ask
		}
		byName[name{o.Workload, o.Kind}] = append(byName[name{o.Workload, o.Kind}], o)
	}
	all := make([]Figures, 0, len(byName))
	for n, ops := range byName {
		f := figures(ops)
		f.Workload, f.Kind = n.workload, n.kind
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Figures) int {
		return slices.Compare([]string{a.Workload, a.Kind}, []string{b.Workload, b.Kind})
	})
	return all
}

// figures counts operations of one kind; there is at least one.
func figures(ops []*history.Operation) Figures {
	var f Figures
	var done []time.Duration
	busy := map[time.Duration]bool{} // by second: whether one ended OK
	first, last := ops[0].Start, ops[0].End
	for _, o := range ops {
		first, last = min(first, o.Start), max(last, o.End)
		second := o.End / time.Second
		busy[second] = busy[second] || o.Result == history.OK
		switch o.Result {
		case history.OK:
			f.OK++
			done = append(done, o.End)
		case history.Failed:
			f.Failed++
		default:
			f.Unknown++
		}
	}
	good := 0
	for ok := range maps.Values(busy) {
		if ok {
			good++
		}
	}
	f.Share = float64(good) / float64(len(busy))
	slices.Sort(done)
	before := first
	for _, end := range append(done, last) {
		f.LongestGap = max(f.LongestGap, end-before)
		before = end
	}
	return f
}
