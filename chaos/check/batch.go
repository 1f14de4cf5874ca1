package check

import (
	"runnel/chaos/history"
)

// Batches checks atomic batches (W8): at every node either all messages of a batch are there, one after the
// other in the order in which they were sent, or none; all if the commit was acknowledged, at the sequences
// that its ack says, and none if it was refused or never sent.
func Batches(ops []history.Operation, stream string) []Finding {
	c := newCollector(stream)
	s := gatherSent(ops, stream)
	batches := gatherBatches(ops, stream)
	agree(c, ops, stream)
	views := gatherViews(c, ops, stream)
	for _, v := range views {
		at := make(map[string]*history.Operation, len(v.messages))
		for _, o := range v.messages {
			if s.find(o.Value) == nil {
				c.add(Unexpected, v.node, of(o), "%q at sequence %d was never sent", o.Value, o.Sequence)
			}
			if before := at[o.Value]; before != nil {
				c.add(Duplicate, v.node, of(before, o), "%q is at sequences %d and %d", o.Value, before.Sequence, o.Sequence)
			}
			at[o.Value] = o
		}
		for _, b := range batches {
			b.check(c, v, at)
		}
	}
	replicas(c, views, nil)
	return c.findings()
}

// batch is one atomic batch as it was sent.
type batch struct {
	members []*history.Operation // in the order of sending; the commit is the last
	commit  *history.Operation   // nil if it was never sent
}

// gatherBatches finds the batches of a stream, in the order in which they began.
func gatherBatches(ops []history.Operation, stream string) []*batch {
	byID := map[string]*batch{}
	var all []*batch
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Batch == "" || o.Kind != history.Add && o.Kind != history.Commit {
			continue
		}
		b := byID[o.Batch]
		if b == nil {
			b = &batch{}
			byID[o.Batch] = b
			all = append(all, b)
		}
		b.members = append(b.members, o)
		if o.Kind == history.Commit {
			b.commit = o
		}
	}
	return all
}

// check looks at the batch as one view has it.
func (b *batch) check(c *collector, v *view, at map[string]*history.Operation) {
	var there []*history.Operation
	for _, m := range b.members {
		if o := at[m.Value]; o != nil {
			there = append(there, o)
		}
	}
	id, n := b.members[0].Batch, len(b.members)
	last := b.members[n-1]
	switch {
	case len(there) == 0 && (b.commit == nil || b.commit.Result != history.OK):
		return
	case len(there) == 0:
		c.add(Lost, v.node, of(b.commit), "batch %s, acknowledged up to sequence %d, is not here", id, b.commit.Sequence)
		return
	case b.commit == nil:
		c.add(Refused, v.node, of(last, there[0]), "batch %s was never committed, and %d of its messages are here", id, len(there))
		return
	case b.commit.Result == history.Failed:
		c.add(Refused, v.node, of(b.commit, there[0]), "batch %s was refused (%s), and %d of its messages are here", id, b.commit.Error, len(there))
		return
	case len(there) < n:
		c.add(Torn, v.node, of(b.commit, there[0]), "of batch %s %d of %d messages are here", id, len(there), n)
		return
	}
	for i, o := range there {
		if o.Sequence != there[0].Sequence+uint64(i) {
			c.add(Torn, v.node, of(there[0], o), "the messages of batch %s are not one after the other: sequence %d is message %d, the first is %d",
				id, o.Sequence, i+1, there[0].Sequence)
			return
		}
	}
	if end := there[n-1].Sequence; b.commit.Result == history.OK && b.commit.Sequence != end {
		c.add(Moved, v.node, of(b.commit, there[n-1]), "batch %s was acknowledged up to sequence %d and ends at %d", id, b.commit.Sequence, end)
	}
}
