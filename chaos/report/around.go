package report

import (
	"cmp"
	"slices"

	"runnel/chaos/history"
)

// aroundEach is how many operations are shown on each side of one that a finding stems from.
const aroundEach = 3

// aroundMax is how many are shown in all.
const aroundMax = 24

// around are operations near those that a finding stems from: for a message that was read, the ones beside it
// in the same reading; for all else, what was asked of the same stream at about that time, and the faults then.
// They are ordered by their starts, and do not repeat what the finding has.
func around(ops []history.Operation, of []history.Operation) []history.Operation {
	var all []history.Operation
	for i := range of {
		o := &of[i]
		var near []history.Operation
		switch o.Kind {
		case history.Final, history.Read:
			near = beside(ops, o)
		case history.Drained, history.Listed, history.Exists: // they are of no time of the load
		default:
			near = meanwhile(ops, o)
		}
		for _, n := range near {
			if len(all) < aroundMax && !slices.Contains(of, n) && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Sequence, b.Sequence))
	})
	return all
}

// beside are the messages next to one in the reading that it is from.
func beside(ops []history.Operation, o *history.Operation) []history.Operation {
	var all []history.Operation
	for i := range ops {
		n := &ops[i]
		same := n.Kind == o.Kind && n.Stream == o.Stream && n.Node == o.Node && n.Consumer == o.Consumer
		if same && (o.Kind == history.Final || n.Process == o.Process) && n.Sequence+aroundEach >= o.Sequence && n.Sequence <= o.Sequence+aroundEach {
			all = append(all, *n)
		}
	}
	return all
}

// meanwhile are the requests for the same stream that began just before and after one, and the faults that
// were there then.
func meanwhile(ops []history.Operation, o *history.Operation) []history.Operation {
	var before, after, all []*history.Operation
	byStart := func(a, b *history.Operation) int { return cmp.Compare(a.Start, b.Start) }
	for i := range ops {
		n := &ops[i]
		switch {
		case *n == *o:
		case n.Kind == history.Fault:
			if n.Start <= o.End && n.End >= o.Start && len(all) < aroundEach {
				all = append(all, n)
			}
		case n.Stream != o.Stream || !asked(n):
		case n.Start <= o.Start:
			if before = append(before, n); len(before) > 16*aroundEach {
				before = lastOf(before, byStart)
			}
		default:
			if after = append(after, n); len(after) > 16*aroundEach {
				after = firstOf(after, byStart)
			}
		}
	}
	all = append(append(all, lastOf(before, byStart)...), firstOf(after, byStart)...)
	near := make([]history.Operation, 0, len(all))
	for _, n := range all {
		near = append(near, *n)
	}
	return near
}

// asked says whether a client did something with the stream, other than reading in its order.
func asked(o *history.Operation) bool {
	switch o.Kind {
	case history.Fetch:
		return o.Value != ""
	case history.Add, history.Nak, history.Term:
		return true
	}
	return history.Request(o.Kind)
}

// firstOf keeps the first few of a list, lastOf the last few.
func firstOf(list []*history.Operation, compare func(a, b *history.Operation) int) []*history.Operation {
	slices.SortStableFunc(list, compare)
	return list[:min(len(list), aroundEach)]
}

func lastOf(list []*history.Operation, compare func(a, b *history.Operation) int) []*history.Operation {
	slices.SortStableFunc(list, compare)
	return slices.Clone(list[max(0, len(list)-aroundEach):])
}
