package check

import (
	"maps"
	"slices"

	"runnel/chaos/history"
)

// ReadersConfig says what the readers of a stream may meet.
type ReadersConfig struct {
	Stream string
	// Removals says that limits, purges or deletes may remove messages. Then nobody can be blamed for a
	// message that is gone or was left out.
	Removals bool
}

// Readers checks readers in the order of the stream, at any node and during faults (W2). What each gets is a
// prefix of the stream from its first message on: sequences strictly rise and nothing is left out. No two
// readers, nor a reader and the final reads, differ at a sequence; what was read once is there in the end.
func Readers(ops []history.Operation, cfg ReadersConfig) []Finding {
	c := newCollector(cfg.Stream)
	s := gatherSent(ops, cfg.Stream)
	views := gatherViews(c, ops, cfg.Stream)
	known := agree(c, ops, cfg.Stream)
	for i := range ops {
		// What is acknowledged has to be read too, under its sequence.
		if o := &ops[i]; o.Stream == cfg.Stream && o.Result == history.OK && o.Sequence != 0 && o.Value != "" && sends(o.Kind) {
			known.see(c, o)
		}
	}
	sequences := slices.Sorted(maps.Keys(known))
	var read []*history.Operation // what readers got, each sequence once
	seen := map[uint64]bool{}
	last := map[int]uint64{} // by reader: its last sequence
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || o.Kind != history.Read || o.Result != history.OK {
			continue
		}
		s.foreign(c, o)
		if !seen[o.Sequence] {
			seen[o.Sequence] = true
			read = append(read, o)
		}
		before := last[o.Process]
		if o.Sequence <= before {
			c.add(Order, o.Node, of(known[before], o), "reader %d got sequence %d after %d", o.Process, o.Sequence, before)
			continue
		}
		if !cfg.Removals {
			// What comes just before it in the stream is what the reader had before.
			at, _ := slices.BinarySearch(sequences, o.Sequence)
			if at > 0 && sequences[at-1] > before {
				left := known[sequences[at-1]]
				c.add(Skipped, o.Node, of(left, o), "reader %d got sequence %d after %d, and not %q at %d", o.Process, o.Sequence, before, left.Value, left.Sequence)
			}
		}
		last[o.Process] = o.Sequence
	}
	if !cfg.Removals {
		vanished(c, read, views)
	}
	return c.findings()
}

// vanished reports what was read and is not at a node in the end.
func vanished(c *collector, read []*history.Operation, views []*view) {
	for _, v := range views {
		for _, o := range read {
			if v.at(o.Sequence) == nil {
				c.add(Vanished, v.node, of(o, v.drained), "%q at sequence %d was read at %s and is not here, read %s", o.Value, o.Sequence, o.Node, v.way())
			}
		}
	}
}
