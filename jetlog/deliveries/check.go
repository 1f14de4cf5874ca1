package deliveries

import (
	"slices"

	"runnel/jetlog/deadlines"
)

// Check verifies the invariants, and reports through wrong each that does not hold. It changes nothing.
func (t *Table) Check(wrong func(format string, args ...any)) {
	if !t.timers().Ordered() {
		wrong("deadlines are out of order")
	}
	n, resting := 0, 0
	last := Delivery{}
	for _, d := range t.list {
		if d.Sequence <= last.Sequence || d.Consumer == 0 {
			wrong("delivery %d of message %d comes behind delivery %d of message %d", d.Consumer, d.Sequence, last.Consumer, last.Sequence)
		}
		if last = d; d.Count == 0 {
			continue
		}
		n++
		if d.ticket != 0 && !slices.Contains(t.tickets(), ticket{d.Sequence, d.ticket}) {
			wrong("message %d is not in the redelivery queue", d.Sequence)
		}
		if d.ticket == 0 && d.Deadline != 0 && !slices.Contains(t.timers(), deadlines.Deadline{At: d.Deadline, Sequence: d.Sequence}) {
			wrong("message %d has no deadline", d.Sequence)
		}
		note, known := t.notes.Get(d.Sequence)
		if t.notes != nil && !known {
			wrong("message %d waits for an answer, but is not noted", d.Sequence)
		}
		if note.Resting {
			resting++
		}
	}
	if n != t.live || len(t.list) > 0 && t.list[0].Count == 0 {
		wrong("%d wait for an answer, counted %d", t.live, n)
	}
	if t.notes != nil && t.notes.Len() != t.live || t.notes.Resting() != resting {
		wrong("%d are noted and %d rest, want %d and %d", t.notes.Len(), t.notes.Resting(), t.live, resting)
	}
}
