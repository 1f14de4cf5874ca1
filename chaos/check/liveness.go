package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// LivenessConfig says how soon things go on.
type LivenessConfig struct {
	// Limit is how long clients that try may go without an acknowledgement, counted from when all that was broken is healed.
	// What was asked for before that may have been lost on its way: its client must not wait longer than the limit, and then
	// it counts from the next try.
	Limit time.Duration
	// Tolerated says which faults leave a healthy, connected majority, so that acknowledgements must go on
	// within the limit while they last. May be nil: none.
	Tolerated func(fault history.Operation) bool
}

// idleMax is how long no try may be going on for clients to count as trying: they pause between two tries.
const idleMax = time.Second

// Liveness checks of each workload that stores messages that acknowledgements go on within the limit when
// nothing is broken. Time in which no client tries does not count.
func Liveness(ops []history.Operation, cfg LivenessConfig) []Finding {
	c := newCollector("")
	byWorkload := map[string][]*history.Operation{}
	var end time.Duration
	for i := range ops {
		if o := &ops[i]; sends(o.Kind) && o.Kind != history.Add {
			byWorkload[o.Workload] = append(byWorkload[o.Workload], o)
			end = max(end, o.End)
		}
	}
	parts := gatherQuiet(ops, end, cfg.Tolerated)
	for _, name := range slices.Sorted(maps.Keys(byWorkload)) {
		tries := byWorkload[name]
		slices.SortFunc(tries, func(a, b *history.Operation) int { return cmp.Compare(a.End, b.End) })
		for _, part := range parts {
			stalls(c, part, tries, cfg.Limit)
		}
	}
	return c.findings()
}

// stalls reports the stretches of a quiet part in which clients tried for longer than the limit and none got
// an answer that it was done. The tries are ordered by their ends.
func stalls(c *collector, part span, tries []*history.Operation, limit time.Duration) {
	at, _ := slices.BinarySearchFunc(tries, part.start, func(o *history.Operation, t time.Duration) int { return cmp.Compare(o.End, t) })
	var since *history.Operation // the first try since the last acknowledgement
	begun, covered := part.start, part.start
	for _, o := range tries[at:] {
		if since != nil && o.Start > covered+idleMax {
			since = nil
		}
		covered = o.End
		first := o
		if o.Start >= part.start { // who has asked while something was broken may have asked in vain: that counts for itself
			if since == nil || o.Start < since.Start {
				since = o
			}
			first = since
		}
		from := max(begun, first.Start)
		to := min(o.End, part.end)
		if to-from > limit {
			c.add(Stalled, first.Node, of(first, o), "no acknowledgement for %v, from %v on, though nothing was broken since %v",
				(to - from).Round(time.Millisecond), from.Round(time.Millisecond), part.start.Round(time.Millisecond))
		}
		switch {
		case o.End >= part.end:
			return
		case o.Result == history.OK:
			begun, since = o.End, nil
		case to-from > limit:
			begun, since = o.End, nil // reported; the next stretch is one of its own
		}
	}
}
