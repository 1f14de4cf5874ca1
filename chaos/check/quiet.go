package check

import (
	"cmp"
	"slices"
	"time"

	"runnel/chaos/history"
)

// span is a part of the run.
type span struct{ start, end time.Duration }

// quiet are the parts of the run in which nothing was broken, in order and apart from one another.
type quiet []span

// gatherQuiet finds the quiet parts up to the end. Where a fault is tolerated (it leaves a majority that is
// healthy and connected), the time during it is quiet too, but its beginning and its end each begin a new
// part: a leader may change there.
func gatherQuiet(ops []history.Operation, end time.Duration, tolerated func(history.Operation) bool) quiet {
	var broken []span
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Kind != history.Fault:
		case tolerated != nil && tolerated(*o):
			broken = append(broken, span{o.Start, o.Start}, span{o.End, o.End})
		default:
			broken = append(broken, span{o.Start, o.End})
		}
	}
	slices.SortFunc(broken, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var parts quiet
	from := time.Duration(0)
	for _, b := range broken {
		if b.start > from {
			parts = append(parts, span{from, min(b.start, end)})
		}
		from = max(from, b.end)
		if from >= end {
			return parts
		}
	}
	return append(parts, span{from, end})
}

// longest is the longest quiet time without a break between two times.
func (q quiet) longest(from, to time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(q, from, func(s span, t time.Duration) int { return cmp.Compare(s.end, t) })
	var longest time.Duration
	for ; i < len(q) && q[i].start < to; i++ {
		longest = max(longest, min(q[i].end, to)-max(q[i].start, from))
	}
	return longest
}
