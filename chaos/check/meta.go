package check

import (
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// Meta checks what becomes of streams and consumers that are created, changed and deleted under the same
// names (W10), in the listings of each node: what was acknowledged last is what there is, a deletion stays
// one, nobody's stream is deleted, all nodes list the same. A stream that was created again has no message of
// the one that was deleted.
func Meta(ops []history.Operation) []Finding {
	c := newCollector("")
	things := gatherThings(ops)
	listings := gatherListings(c, ops)
	names := slices.SortedFunc(maps.Keys(things), compareThings)
	nodes := slices.Sorted(maps.Keys(listings))
	for _, name := range names {
		for i, node := range nodes {
			listed := listings[node][name]
			things[name].check(c, name, node, listed)
			if first := listings[nodes[0]][name]; i > 0 && marker(first) != marker(listed) {
				c.add(Differs, node, of(first, listed), "%s is %s here and %s at %s", name, described(listed), described(first), nodes[0])
			}
		}
	}
	oldMessages(c, ops)
	return c.findings()
}

// thing names a stream, or a consumer of one.
type thing struct{ stream, consumer string }

// String is the name in words.
func (t thing) String() string {
	if t.consumer == "" {
		return "stream " + t.stream
	}
	return "consumer " + t.consumer + " of stream " + t.stream
}

func compareThings(a, b thing) int {
	return slices.Compare([]string{a.stream, a.consumer}, []string{b.stream, b.consumer})
}

// changes are what was asked for a thing and may have happened.
type changes []*history.Operation

// gatherThings sorts the changes by what they are about. The deletion of a stream is one of its consumers' too.
func gatherThings(ops []history.Operation) map[thing]changes {
	all := map[thing]changes{}
	var deleted []*history.Operation
	for i := range ops {
		o := &ops[i]
		if o.Result == history.Failed {
			continue
		}
		switch o.Kind {
		case history.DeleteStream:
			deleted = append(deleted, o)
			fallthrough
		case history.CreateStream, history.UpdateStream:
			name := thing{stream: o.Stream}
			all[name] = append(all[name], o)
		case history.CreateConsumer, history.UpdateConsumer, history.DeleteConsumer:
			name := thing{o.Stream, o.Consumer}
			all[name] = append(all[name], o)
		}
	}
	for name := range all {
		if name.consumer == "" {
			continue
		}
		for _, d := range deleted {
			if d.Stream == name.stream {
				all[name] = append(all[name], d)
			}
		}
	}
	return all
}

// gatherListings finds what each node lists. A node whose listing is not complete is reported and left out.
func gatherListings(c *collector, ops []history.Operation) map[string]map[thing]*history.Operation {
	all := map[string]map[thing]*history.Operation{}
	for i := range ops {
		switch o := &ops[i]; {
		case o.Kind == history.Listed && o.Result == history.OK:
			all[o.Node] = map[thing]*history.Operation{}
		case o.Kind == history.Listed:
			c.add(Unchecked, o.Node, of(o), "the streams and consumers could not be listed")
		}
	}
	for i := range ops {
		if o := &ops[i]; o.Kind == history.Exists && o.Result == history.OK && all[o.Node] != nil {
			all[o.Node][thing{o.Stream, o.Consumer}] = o
		}
	}
	if len(all) == 0 {
		c.add(Unchecked, "", nil, "no node listed its streams and consumers")
	}
	return all
}

// marker is the configuration of what is listed; "" if it is not there.
func marker(o *history.Operation) string {
	if o == nil {
		return ""
	}
	return o.Value
}

// described is the same in words.
func described(o *history.Operation) string {
	if o == nil {
		return "not there"
	}
	return "configured as " + o.Value
}

// deletes says whether the operation removes what it is about.
func deletes(o *history.Operation) bool {
	return o.Kind == history.DeleteStream || o.Kind == history.DeleteConsumer
}

// check compares what a node lists with what may be. The last change may be any that no confirmed one has
// surely come after; without a confirmed one there may never have been anything.
func (cs changes) check(c *collector, name thing, node string, listed *history.Operation) {
	var latest *history.Operation // of the confirmed ones, the one that began last
	for _, o := range cs {
		if o.Result == history.OK && (latest == nil || o.Start > latest.Start) {
			latest = o
		}
	}
	for _, o := range cs {
		end := o.End
		if o.Result == history.Unknown {
			end = never
		}
		if latest != nil && latest.Start > end {
			continue
		}
		if deletes(o) && listed == nil || !deletes(o) && listed != nil && listed.Value == o.Value {
			return
		}
	}
	switch {
	case latest == nil && listed == nil:
	case latest == nil:
		c.add(Unexpected, node, of(listed), "%s is %s, and nobody asked for that", name, described(listed))
	case listed == nil:
		c.add(Lost, node, of(latest), "%s was %s and is not there, and nobody deleted it since", name, described(latest))
	case deletes(latest):
		c.add(Resurrected, node, of(latest, listed), "%s was deleted and is there again", name)
	default:
		c.add(Outdated, node, of(latest, listed), "%s was %s and is %s", name, described(latest), described(listed))
	}
}

// oldMessages reports messages that were acknowledged before their stream was deleted, and are in the one that
// has its name now.
func oldMessages(c *collector, ops []history.Operation) {
	deleted := map[string]*history.Operation{} // by stream: the confirmed deletion that began last
	for i := range ops {
		o := &ops[i]
		if d := deleted[o.Stream]; o.Kind == history.DeleteStream && o.Result == history.OK && (d == nil || o.Start > d.Start) {
			deleted[o.Stream] = o
		}
	}
	acked := map[string]time.Duration{} // by value: when its ack came
	for i := range ops {
		if o := &ops[i]; deleted[o.Stream] != nil && sends(o.Kind) && o.Value != "" {
			end := o.End
			if o.Result == history.Unknown {
				end = never
			}
			acked[o.Value] = max(acked[o.Value], end)
		}
	}
	for i := range ops {
		o := &ops[i]
		d := deleted[o.Stream]
		if o.Kind != history.Final || d == nil {
			continue
		}
		if end, ok := acked[o.Value]; ok && end < d.Start {
			c.add(Resurrected, o.Node, of(d, o), "%q was stored in stream %s before that was deleted, and is in the new one", o.Value, o.Stream)
		}
	}
}
