package jetlog

import (
	"cmp"
	"slices"

	"runnel/jetlog/notes"
)

// delivery is a message that was delivered and not yet answered.
type delivery struct {
	seq uint64
	// consumer is the consumer sequence of its first delivery. Both sequences rise together.
	consumer uint64
	// count is how often it was delivered, at least 1; 0 marks an entry that is settled.
	count uint64
	// deadline is when the answer is due.
	deadline int64
	// ticket is its place in the redelivery queue, 0 when it is not in it.
	ticket uint64
}

// ackPending are the deliveries that wait for an answer, in the order of their sequences. Settled
// entries stay until they are at the front or too many.
//
// Invariants: sequences ascend; live counts the entries that are not settled; the first is not
// settled.
type ackPending struct {
	list []delivery
	live int
	// notes are kept for policies that need them, otherwise nil.
	notes *notes.Table
}

func (a *ackPending) find(seq uint64) *delivery {
	i, found := slices.BinarySearchFunc(a.list, seq, compareDelivery)
	if !found || a.list[i].count == 0 {
		return nil
	}
	return &a.list[i]
}

func compareDelivery(d delivery, seq uint64) int { return cmp.Compare(d.seq, seq) }

// add notes a delivery; its sequence is larger than all before.
func (a *ackPending) add(d delivery) {
	a.list = append(a.list, d)
	a.live++
}

// settle takes a sequence out and reports whether it was there.
func (a *ackPending) settle(seq uint64) bool {
	d := a.find(seq)
	if d == nil {
		return false
	}
	a.mark(d)
	a.compact()
	return true
}

// mark notes that an entry is settled.
func (a *ackPending) mark(d *delivery) {
	a.notes.End(d.seq)
	d.count = 0
	a.live--
}

// compact keeps the invariants after entries were settled.
func (a *ackPending) compact() {
	for len(a.list) > 0 && a.list[0].count == 0 {
		a.list = a.list[1:]
	}
	if len(a.list) > 2*a.live+16 {
		a.list = slices.DeleteFunc(a.list, func(d delivery) bool { return d.count == 0 })
	}
	if len(a.list) == 0 {
		a.list = nil
	}
}

// upTo returns the unsettled entries with a sequence <= seq, mixed with settled ones.
func (a *ackPending) upTo(seq uint64) []delivery {
	i, found := slices.BinarySearchFunc(a.list, seq, compareDelivery)
	if found {
		i++
	}
	return a.list[:i]
}
