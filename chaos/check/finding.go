package check

import (
	"cmp"
	"fmt"
	"slices"

	"runnel/chaos/history"
)

// Kind is the sort of a finding: what was promised and not kept.
type Kind string

// The kinds of findings.
const (
	Lost        Kind = "lost"        // acknowledged, and not there
	Unexpected  Kind = "unexpected"  // there, and never sent
	Refused     Kind = "refused"     // there, though the server said that it refused it
	Duplicate   Kind = "duplicate"   // there more often than it was sent, or than it may be
	Moved       Kind = "moved"       // there under another sequence than acknowledged
	Conflict    Kind = "conflict"    // two values for one sequence
	Order       Kind = "order"       // in an order that contradicts the order of the operations
	Differs     Kind = "differs"     // replicas, or a watcher and its store, that are not equal in the end
	Vanished    Kind = "vanished"    // read once, and gone later
	Skipped     Kind = "skipped"     // left out by a reader that had to see it
	Redelivered Kind = "redelivered" // delivered again after its acknowledgement was confirmed
	Kept        Kind = "kept"        // there, though limits, acks or a purge must have removed it
	Fork        Kind = "fork"        // two pasts, of which only one can be
	Impossible  Kind = "impossible"  // no order of the operations explains their answers: not linearizable
	Torn        Kind = "torn"        // a part of an atomic batch
	Resurrected Kind = "resurrected" // there again after a confirmed removal
	Outdated    Kind = "outdated"    // an old configuration that a confirmed change had replaced
	Early       Kind = "early"       // seen before its time had come
	Overlap     Kind = "overlap"     // in the hands of two workers at once
	Stalled     Kind = "stalled"     // no progress within the limit, though nothing was broken
	Broken      Kind = "broken"      // a server that ended by itself, was not ready in time, or told of an error in its log
	Unchecked   Kind = "unchecked"   // could not be checked
)

// examplesMax is how many operations a finding keeps.
const examplesMax = 6

// Finding is something that a server must not have done, or that could not be checked.
type Finding struct {
	Kind       Kind                `json:"kind"`
	Workload   string              `json:"workload,omitempty"` // "W1" ...
	Stream     string              `json:"stream,omitempty"`
	Node       string              `json:"node,omitempty"`       // where; "" if it is not one node's
	Text       string              `json:"text"`                 // the first case in words
	Count      int                 `json:"count"`                // how many cases of it there are; at least 1
	Operations []history.Operation `json:"operations,omitempty"` // what the first cases stem from; a few
}

// Violation says whether the finding is one against the server, and not about what could not be checked.
func (f *Finding) Violation() bool { return f.Kind != Unchecked }

// String is the finding in one line.
func (f *Finding) String() string {
	s := fmt.Sprintf("%s: %s", f.Kind, f.Text)
	if f.Node != "" {
		s = fmt.Sprintf("%s at %s: %s", f.Kind, f.Node, f.Text)
	}
	if f.Count > 1 {
		s += fmt.Sprintf(" (and %d more)", f.Count-1)
	}
	return s
}

// place is what findings are put together by.
type place struct {
	kind Kind
	node string
}

// collector puts findings of a kind at a node together.
type collector struct {
	stream string
	found  map[place]*Finding
}

func newCollector(stream string) *collector {
	return &collector{stream: stream, found: map[place]*Finding{}}
}

// add adds a case. Its text is made only for the first of its kind at the node.
func (c *collector) add(kind Kind, node string, ops []*history.Operation, format string, args ...any) {
	at := place{kind, node}
	f := c.found[at]
	if f == nil {
		f = &Finding{Kind: kind, Stream: c.stream, Node: node, Text: fmt.Sprintf(format, args...)}
		c.found[at] = f
	}
	f.Count++
	for _, o := range ops {
		if o == nil || len(f.Operations) >= examplesMax {
			continue
		}
		if f.Workload == "" {
			f.Workload = o.Workload
		}
		f.Operations = append(f.Operations, *o)
	}
}

// findings are all that were added, ordered by kind and node.
func (c *collector) findings() []Finding {
	var all []Finding
	for _, f := range c.found {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node))
	})
	return all
}

// of makes a list of operations.
func of(ops ...*history.Operation) []*history.Operation { return ops }
