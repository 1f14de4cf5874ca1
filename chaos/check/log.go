package check

import (
	"cmp"
	"slices"

	"runnel/chaos/history"
)

// Set is the comparison of what was sent to a stream with what can be read of it in the end: in total, or
// at one node alone, since one node may show what all others together hide.
type Set struct {
	Stream   string `json:"stream"`
	Node     string `json:"node,omitempty"`     // "" for the total: what is read anywhere
	Consumer string `json:"consumer,omitempty"` // the way of reading; "" is by direct get, or the total

	Attempted    int `json:"attempted"`    // sent, and not surely refused
	Acknowledged int `json:"acknowledged"` // of these, the confirmed ones
	Read         int `json:"read"`         // different values that were read
	Lost         int `json:"lost"`         // acknowledged and not read
	LostPrefix   int `json:"lostPrefix"`   // of these, before the first value of their writer that was read; all if none was
	LostMiddle   int `json:"lostMiddle"`   // of these, between two values of their writer that were read: the worst
	LostPostfix  int `json:"lostPostfix"`  // of these, after the last one
	Unexpected   int `json:"unexpected"`   // read, and never sent or refused
	Recovered    int `json:"recovered"`    // read and never acknowledged, which is allowed
}

// Log checks a stream that keeps everything (W1): what is acknowledged is at every node, once, under the
// sequence of its ack; nothing else is, and no two nodes differ. Acks rise with the operations. The sets are
// the total first, then each node and way of reading.
func Log(ops []history.Operation, stream string) ([]Set, []Finding) {
	c := newCollector(stream)
	s := gatherSent(ops, stream)
	views := gatherViews(c, ops, stream)
	total := make([]uint64, len(s.values))
	unexpected := map[string]bool{}
	sets := make([]Set, 1, len(views)+1)
	for _, v := range views {
		at, foreign := s.sightings(c, v)
		for i, sequence := range at {
			total[i] = max(total[i], sequence)
		}
		for _, text := range foreign {
			unexpected[text] = true
		}
		set := s.compare(at, len(foreign), func(where string, lost *value) {
			c.add(Lost, v.node, of(lost.acked, v.drained), "%q, acknowledged with sequence %d, is not here (%s of what process %d wrote), read %s",
				lost.acked.Value, lost.acked.Sequence, where, lost.acked.Process, v.way())
		})
		set.Stream, set.Node, set.Consumer = stream, v.node, v.consumer
		sets = append(sets, set)
		if n := len(v.messages); v.drained.Sequence > 0 && (n == 0 || v.messages[n-1].Sequence < v.drained.Sequence) {
			c.add(Differs, v.node, of(v.drained), "the stream says that its last sequence is %d, which does not come when read %s", v.drained.Sequence, v.way())
		}
	}
	if len(views) > 0 {
		sets[0] = s.compare(total, len(unexpected), func(where string, lost *value) {
			c.add(Lost, "", of(lost.acked), "%q, acknowledged with sequence %d, is at no node (%s of what process %d wrote)",
				lost.acked.Value, lost.acked.Sequence, where, lost.acked.Process)
		})
	}
	sets[0].Stream = stream
	s.checkAcks(c, ops, stream)
	agree(c, ops, stream)
	replicas(c, views, nil)
	return sets, c.findings()
}

// sightings tells for each value at which sequence the view has it (0: not at all), and which texts nobody
// sent. It reports those, copies too many, and values that are not where their ack says.
func (s *sent) sightings(c *collector, v *view) (at []uint64, foreign []string) {
	at = make([]uint64, len(s.values))
	copies := map[int32]int32{} // of values that are there more than once
	for _, o := range v.messages {
		if s.foreign(c, o) {
			foreign = append(foreign, o.Value)
			continue
		}
		i := s.index[o.Value]
		sender := &s.values[i]
		if at[i] != 0 {
			copies[i]++
			if copies[i] >= sender.tries-sender.fails {
				c.add(Duplicate, v.node, of(sender.first, o), "%q is at sequences %d and %d, and was sent %d times", o.Value, at[i], o.Sequence, sender.tries)
			}
		}
		// Where there are copies, the one that was acknowledged is what must be there.
		if at[i] == 0 || sender.acked != nil && sender.acked.Sequence == o.Sequence {
			at[i] = o.Sequence
		}
	}
	for i, sequence := range at {
		if a := s.values[i].acked; sequence != 0 && a != nil && a.Sequence != 0 && a.Sequence != sequence {
			c.add(Moved, v.node, of(a, v.at(sequence)), "%q was acknowledged with sequence %d and is at %d", a.Value, a.Sequence, sequence)
		}
	}
	return at, foreign
}

// compare counts what is read of the values, and tells of each that is lost where that is in the writing of
// its process.
func (s *sent) compare(at []uint64, unexpected int, lost func(where string, v *value)) Set {
	type span struct{ first, last int }
	read := map[int]span{} // by process: its first and last value that was read
	set := Set{Unexpected: unexpected, Read: unexpected}
	for i := range s.values {
		if at[i] == 0 {
			continue
		}
		set.Read++
		process := s.values[i].first.Process
		sp, ok := read[process]
		if !ok {
			sp.first = i
		}
		sp.last = i
		read[process] = sp
	}
	for i := range s.values {
		v := &s.values[i]
		if v.refused() {
			continue
		}
		set.Attempted++
		switch {
		case v.acked == nil && at[i] != 0:
			set.Recovered++
		case v.acked != nil && at[i] == 0:
			set.Lost++
			sp, ok := read[v.first.Process]
			switch {
			case !ok || i < sp.first:
				set.LostPrefix++
				lost("at the beginning", v)
			case i > sp.last:
				set.LostPostfix++
				lost("at the end", v)
			default:
				set.LostMiddle++
				lost("in the middle", v)
			}
		}
		if v.acked != nil {
			set.Acknowledged++
		}
	}
	return set
}

// checkAcks reports acks that give one sequence twice, or that do not rise: with the operations of one
// process, and with those of any two of which one had ended before the other began. A value that was sent
// more than once says nothing of order, since its ack may name an earlier try.
func (s *sent) checkAcks(c *collector, ops []history.Operation, stream string) {
	bySequence := map[uint64]*history.Operation{}
	byProcess := map[int]*history.Operation{}
	var single []*history.Operation
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Result != history.OK || o.Sequence == 0 || !sends(o.Kind) {
			continue
		}
		other := bySequence[o.Sequence]
		switch {
		case other == nil:
			bySequence[o.Sequence] = o
		case other.Value != o.Value || o.Value == "":
			c.add(Conflict, o.Node, of(other, o), "sequence %d was given to %q and to %q", o.Sequence, other.Value, o.Value)
		}
		if v := s.find(o.Value); v == nil || !v.once() {
			continue
		}
		if last := byProcess[o.Process]; last != nil && o.Sequence < last.Sequence {
			c.add(Order, o.Node, of(last, o), "process %d was given sequence %d after %d", o.Process, o.Sequence, last.Sequence)
		}
		byProcess[o.Process] = o
		single = append(single, o)
	}
	checkRealTime(c, single)
}

// checkRealTime reports operations whose sequence is below that of one that had ended before they began.
func checkRealTime(c *collector, acked []*history.Operation) {
	ended := slices.Clone(acked)
	slices.SortFunc(acked, func(a, b *history.Operation) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortFunc(ended, func(a, b *history.Operation) int { return cmp.Compare(a.End, b.End) })
	var highest *history.Operation
	next := 0
	for _, o := range acked {
		for next < len(ended) && ended[next].End < o.Start {
			if highest == nil || ended[next].Sequence > highest.Sequence {
				highest = ended[next]
			}
			next++
		}
		if highest != nil && highest.Sequence > o.Sequence && highest.Process != o.Process {
			c.add(Order, o.Node, of(highest, o), "sequence %d was given after sequence %d had been", o.Sequence, highest.Sequence)
		}
	}
}
