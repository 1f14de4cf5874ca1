package check

import (
	"cmp"
	"maps"
	"slices"

	"runnel/chaos/history"
)

// view is a stream as one way of reading showed it in the end at one node.
type view struct {
	node, consumer string
	messages       []*history.Operation // Final, by rising sequence, each sequence once
	drained        *history.Operation   // what says that the messages are all
}

// way is the view's way of reading in words.
func (v *view) way() string {
	if v.consumer == "" {
		return "by direct get"
	}
	return "through consumer " + v.consumer
}

// last is the highest sequence that the node says or shows to have.
func (v *view) last() uint64 {
	last := v.drained.Sequence
	if n := len(v.messages); n > 0 {
		last = max(last, v.messages[n-1].Sequence)
	}
	return last
}

// at is the message at a sequence; nil if there is none.
func (v *view) at(sequence uint64) *history.Operation {
	i, ok := slices.BinarySearchFunc(v.messages, sequence, func(o *history.Operation, s uint64) int {
		return cmp.Compare(o.Sequence, s)
	})
	if !ok {
		return nil
	}
	return v.messages[i]
}

// latest are the last messages of each key.
func (v *view) latest() map[string]*history.Operation {
	last := map[string]*history.Operation{}
	for _, o := range v.messages {
		last[o.Key] = o
	}
	return last
}

// gatherViews finds the final reads of a stream. What was not read to its end is reported and left out.
// The views come in the order of their names.
func gatherViews(c *collector, ops []history.Operation, stream string) []*view {
	type name struct{ node, consumer string }
	byName := map[name]*view{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Kind != history.Final && o.Kind != history.Drained {
			continue
		}
		v := byName[name{o.Node, o.Consumer}]
		if v == nil {
			v = &view{node: o.Node, consumer: o.Consumer}
			byName[name{o.Node, o.Consumer}] = v
		}
		switch {
		case o.Kind == history.Drained && (v.drained == nil || v.drained.Result != history.OK):
			v.drained = o
		case o.Kind == history.Final && o.Result == history.OK:
			v.messages = append(v.messages, o)
		}
	}
	var all []*view
	for _, v := range byName {
		if v.drained == nil || v.drained.Result != history.OK {
			c.add(Unchecked, v.node, of(v.drained), "%s was not read to its end %s", stream, v.way())
			continue
		}
		v.sort(c)
		all = append(all, v)
	}
	if len(byName) == 0 {
		c.add(Unchecked, "", nil, "%s was read at no node in the end", stream)
	}
	slices.SortFunc(all, func(a, b *view) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.consumer, b.consumer))
	})
	return all
}

// sort brings the messages in order and drops what was only read twice. Two values for one sequence in one
// view are reported at once.
func (v *view) sort(c *collector) {
	slices.SortStableFunc(v.messages, func(a, b *history.Operation) int { return cmp.Compare(a.Sequence, b.Sequence) })
	kept := v.messages[:0]
	for _, o := range v.messages {
		if n := len(kept); n > 0 && kept[n-1].Sequence == o.Sequence {
			if kept[n-1].Value != o.Value {
				c.add(Conflict, o.Node, of(kept[n-1], o), "sequence %d is %q and %q in one reading", o.Sequence, kept[n-1].Value, o.Value)
			}
			continue
		}
		kept = append(kept, o)
	}
	v.messages = kept
}

// agreement notes which value each sequence has, whoever saw it, and reports when somebody sees another.
type agreement map[uint64]*history.Operation

// see notes one sight.
func (a agreement) see(c *collector, o *history.Operation) {
	if o.Sequence == 0 {
		return
	}
	other, ok := a[o.Sequence]
	switch {
	case !ok:
		a[o.Sequence] = o
	case other.Value != o.Value || other.Key != o.Key && other.Key != "" && o.Key != "":
		c.add(Conflict, o.Node, of(other, o), "sequence %d is %q, and %q at %s", o.Sequence, o.Value, other.Value, other.Node)
	}
}

// agree looks at all messages that anybody got of a stream: no two may differ at a sequence.
func agree(c *collector, ops []history.Operation, stream string) agreement {
	a := agreement{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Result != history.OK {
			continue
		}
		switch o.Kind {
		case history.Final, history.Read, history.Fetch, history.Watch, history.Get, history.StaleGet:
			a.see(c, o)
		}
	}
	return a
}

// replicas reports messages that one view has and another lacks, unless they are excused from it: they may
// have gone between the two readings.
func replicas(c *collector, views []*view, excused func(*history.Operation, *view) bool) {
	all := map[uint64]*history.Operation{}
	for _, v := range views {
		for _, o := range v.messages {
			all[o.Sequence] = o
		}
	}
	var sequences []uint64
	for _, v := range views {
		if len(v.messages) == len(all) {
			continue // sequences are unique in a view, so it has all
		}
		if sequences == nil {
			sequences = slices.Sorted(maps.Keys(all))
		}
		for _, sequence := range sequences {
			o := all[sequence]
			if v.at(sequence) == nil && (excused == nil || !excused(o, v)) {
				c.add(Differs, v.node, of(o, v.drained), "sequence %d (%q) is at %s and not here, read %s", sequence, o.Value, o.Node, v.way())
			}
		}
	}
}
