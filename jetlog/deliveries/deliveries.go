// Package deliveries is what a consumer has delivered and has no answer to: which messages, how often, until when each
// answer may take, and in which order they are to be delivered again. It is part of the state of a stream, and knows no
// clock: times come in.
package deliveries

import (
	"cmp"
	"iter"
	"slices"

	"runnel/jetlog/deadlines"
	"runnel/jetlog/notes"
)

// Delivery is a message that was delivered and not yet answered.
type Delivery struct {
	Sequence uint64
	// Consumer is the consumer sequence of its first delivery. Both sequences rise together, unless messages were passed over
	// and came later.
	Consumer uint64
	// Count is how often it was delivered, at least 1; 0 marks an entry that is settled.
	Count uint64
	// Deadline is when the answer is due, in nanoseconds since 1970, or when it has rested; 0 for never.
	Deadline int64
	// ticket is its place in the redelivery queue, 0 when it is not in it.
	ticket uint64
}

// Table has the deliveries of a consumer in the order of their sequences. Settled entries stay until they are at the front
// or too many. The zero value is empty. It is not safe for concurrent use, but several may ask at once.
//
// Invariants, which Check verifies: the sequences of the entries ascend; live counts those that are not settled; the first
// is not settled; each of them is either in the queue, or has its deadline in timers, or waits for ever.
type Table struct {
	list []Delivery
	live int
	// notes are kept for policies that need them, otherwise nil.
	notes *notes.Table
	// coming is nil until something is to happen to a delivery: most consumers have none, and there are many.
	coming *coming
}

// coming is what is to happen to deliveries.
type coming struct {
	// timers has the deadlines of the deliveries, and of others that hold no longer.
	timers deadlines.Heap
	queue  redelivery
}

// timers are the deadlines; nothing may be added.
func (t *Table) timers() deadlines.Heap {
	if t.coming == nil {
		return nil
	}
	return t.coming.timers
}

// tickets is the redelivery queue; nothing may be added.
func (t *Table) tickets() []ticket {
	if t.coming == nil {
		return nil
	}
	return t.coming.queue.tickets
}

// awaits returns where it is noted what is to happen.
func (t *Table) awaits() *coming {
	if t.coming == nil {
		t.coming = &coming{}
	}
	return t.coming
}

// Sequences calls yield for the messages whose deliveries wait for an answer, in their order, until it returns false.
func (t *Table) Sequences(yield func(seq uint64) bool) {
	for d := range t.All() {
		if !yield(d.Sequence) {
			return
		}
	}
}

// Len returns how many deliveries wait for an answer.
func (t *Table) Len() int { return t.live }

// First returns the one with the lowest sequence, nil if there is none.
func (t *Table) First() *Delivery {
	if len(t.list) == 0 {
		return nil
	}
	return &t.list[0]
}

// Find returns the delivery of a message, nil if none waits. It is valid until the table changes.
func (t *Table) Find(seq uint64) *Delivery {
	i, found := t.at(seq)
	if !found || t.list[i].Count == 0 {
		return nil
	}
	return &t.list[i]
}

// at returns where the entry of a message is, or would be. In most lists no sequence is missing, and then its place is known at
// once: a search would look at memory that is far apart.
func (t *Table) at(seq uint64) (i int, found bool) {
	if len(t.list) > 0 && seq >= t.list[0].Sequence {
		if i := seq - t.list[0].Sequence; i < uint64(len(t.list)) && t.list[i].Sequence == seq {
			return int(i), true
		}
	}
	return slices.BinarySearchFunc(t.list, seq, compare)
}

func compare(d Delivery, seq uint64) int { return cmp.Compare(d.Sequence, seq) }

// All returns all deliveries in their order. They may be settled meanwhile with Mark, and changed in no other way.
func (t *Table) All() iter.Seq[*Delivery] { return unsettled(t.list) }

// UpTo returns the deliveries with a sequence <= seq, as All does.
func (t *Table) UpTo(seq uint64) iter.Seq[*Delivery] {
	i, found := slices.BinarySearchFunc(t.list, seq, compare)
	if found {
		i++
	}
	return unsettled(t.list[:i])
}

func unsettled(list []Delivery) iter.Seq[*Delivery] {
	return func(yield func(*Delivery) bool) {
		for i := range list {
			if d := &list[i]; d.Count > 0 && !yield(d) {
				return
			}
		}
	}
}

// Add notes the first delivery of a message that does not wait yet, and returns the entry.
func (t *Table) Add(d Delivery, now int64) *Delivery {
	i := len(t.list)
	if i > 0 && t.list[i-1].Sequence >= d.Sequence {
		var settled bool
		if i, settled = slices.BinarySearchFunc(t.list, d.Sequence, compare); settled {
			t.list = slices.Delete(t.list, i, i+1)
		}
	}
	t.list = slices.Insert(t.list, i, d)
	t.live++
	t.notes.Begin(d.Sequence, now)
	return &t.list[i]
}

// Settle takes a message out and reports whether it was there.
func (t *Table) Settle(seq uint64) bool {
	d := t.Find(seq)
	if d == nil {
		return false
	}
	t.mark(d)
	t.compact()
	return true
}

// SettleUpTo takes out all messages with a sequence <= seq.
func (t *Table) SettleUpTo(seq uint64) {
	for d := range t.UpTo(seq) {
		t.mark(d)
	}
	t.compact()
}

// Retain takes out the messages that keep does not want.
func (t *Table) Retain(keep func(seq uint64) bool) {
	for d := range t.All() {
		if !keep(d.Sequence) {
			t.mark(d)
		}
	}
	t.compact()
}

// Clear takes out all messages. Notes are kept of later ones if they were of these.
func (t *Table) Clear() {
	noting := t.Noting()
	if *t = (Table{}); noting {
		t.notes = notes.New()
	}
}

// mark notes that an entry is settled.
func (t *Table) mark(d *Delivery) {
	t.notes.End(d.Sequence)
	d.Count = 0
	t.live--
}

// compact keeps the invariants after entries were settled.
func (t *Table) compact() {
	for len(t.list) > 0 && t.list[0].Count == 0 {
		t.list = t.list[1:]
	}
	if len(t.list) > 2*t.live+16 {
		t.list = slices.DeleteFunc(t.list, func(d Delivery) bool { return d.Count == 0 })
	}
	if len(t.list) == 0 {
		t.list = nil
	}
}
