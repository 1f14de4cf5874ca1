package deliveries

import (
	"slices"
	"time"

	"runnel/jetlog/deadlines"
)

// redelivery is the queue of what is to be delivered again. A place in it holds while the delivery
// has its number; others are passed over and cleared out now and then.
type redelivery struct {
	tickets []ticket
	last    uint64
}

type ticket struct {
	seq, number uint64
}

// Entries that no longer hold may make up half of a queue or heap, and this many besides.
const staleMax = 64

// Queue puts a delivery at the end of the redelivery queue, if it is not in it.
func (t *Table) Queue(d *Delivery) {
	if d.ticket != 0 {
		return
	}
	q := &t.awaits().queue
	if len(q.tickets) > 2*t.live+staleMax {
		q.tickets = slices.DeleteFunc(q.tickets, func(k ticket) bool { return !t.holds(k) })
	}
	q.last++
	d.ticket = q.last
	q.tickets = append(q.tickets, ticket{d.Sequence, d.ticket})
}

// holds reports whether a place in the queue is still meant.
func (t *Table) holds(k ticket) bool {
	d := t.Find(k.seq)
	return d != nil && d.ticket == k.number
}

// Queued calls yield for the messages that are to be delivered again, in the order of the queue, until it returns false.
func (t *Table) Queued(yield func(seq, deliveries uint64) bool) {
	for _, k := range t.tickets() {
		if d := t.Find(k.seq); d != nil && d.ticket == k.number && !yield(k.seq, d.Count) {
			return
		}
	}
}

// Expect sets how long the answer to a delivery may take, 0 for ever, and takes it out of the redelivery queue.
func (t *Table) Expect(d *Delivery, now int64, wait time.Duration) {
	t.notes.Rest(d.Sequence, false)
	t.ring(d, now, wait)
}

// Rest puts a delivery aside for a while, until it comes again.
func (t *Table) Rest(d *Delivery, now int64, wait time.Duration) {
	t.notes.Rest(d.Sequence, true)
	t.ring(d, now, wait)
}

// ring sets when something is to happen to a delivery, and takes it out of the redelivery queue.
func (t *Table) ring(d *Delivery, now int64, wait time.Duration) {
	d.ticket = 0
	d.Deadline = 0
	if wait <= 0 {
		return
	}
	d.Deadline = deadlines.Later(now, wait)
	c := t.awaits()
	if len(c.timers) > 2*t.live+staleMax {
		c.timers = slices.DeleteFunc(c.timers, func(at deadlines.Deadline) bool { return !t.runs(at) })
		c.timers.Rebuild()
	}
	c.timers.Push(deadlines.Deadline{At: d.Deadline, Sequence: d.Sequence})
}

// runs reports whether a deadline still holds.
func (t *Table) runs(at deadlines.Deadline) bool {
	d := t.Find(at.Sequence)
	return d != nil && d.ticket == 0 && d.Deadline == at.At
}

// Due returns the first delivery whose deadline has come, nil if there is none. Its deadline is taken away, so something has
// to become of the delivery.
func (t *Table) Due(now int64) *Delivery {
	c := t.coming
	if c == nil {
		return nil
	}
	for len(c.timers) > 0 && !t.runs(c.timers[0]) {
		c.timers.Pop()
	}
	if len(c.timers) == 0 || c.timers[0].At > now {
		return nil
	}
	return t.Find(c.timers.Pop().Sequence)
}

// NextDeadline returns when the first answer is due, 0 when none is awaited. Like all that only asks, it
// changes nothing: deadlines that hold no longer stay until Due meets them.
func (t *Table) NextDeadline() int64 {
	if timers := t.timers(); len(timers) == 0 || t.runs(timers[0]) {
		return timers.First()
	}
	next := int64(0)
	for d := range t.All() {
		if d.ticket == 0 && d.Deadline != 0 && (next == 0 || d.Deadline < next) {
			next = d.Deadline
		}
	}
	return next
}
