// Package causes remembers from which messages those of a stream were made, where publishing was to acknowledge them too:
// whose acknowledgement the stream still owes to another stream, and whose it has paid lately. So a message that was
// processed twice has one outcome, and its acknowledgement is not lost. It is part of the state of a stream: equal tables
// give equal bytes.
package causes

import (
	"cmp"
	"fmt"
	"slices"

	"runnel/jetlog/codec"
)

const (
	// OwedMost is how many acknowledgements a stream may owe. None is ever forgotten: what would owe more is refused.
	OwedMost = 65536
	// PaidMost is how many of those that were paid are known still, so that who publishes again learns that all is well.
	// Who comes later is told that the message is acknowledged already: that one is not forgotten where it is.
	PaidMost = 16384
)

// Source is a consumer, as long as it does not begin again.
type Source struct {
	ID          uint64 // of its stream
	Stream      string // the name of that
	Consumer    string
	Incarnation uint64
}

// Cause is the delivery that a message was made from.
type Cause struct {
	Source
	Sequence uint64
	// Paid is what Table.Paid was before it was found out that the delivery waits for an answer.
	Paid uint64
}

// sourceBytes is the least that a source takes.
const sourceBytes = 4

// Append appends the source.
func (s *Source) Append(out []byte) []byte {
	out = codec.AppendUint(out, s.ID)
	out = codec.AppendBytes(out, s.Stream)
	out = codec.AppendBytes(out, s.Consumer)
	return codec.AppendUint(out, s.Incarnation)
}

// ReadSource reads what Append has written.
func ReadSource(r *codec.Reader) Source {
	return Source{ID: r.Uint(), Stream: r.String(), Consumer: r.String(), Incarnation: r.Uint()}
}

// Append appends the cause.
func (c *Cause) Append(out []byte) []byte {
	return codec.AppendUint(codec.AppendUint(c.Source.Append(out), c.Sequence), c.Paid)
}

// Read reads what Append has written.
func Read(r *codec.Reader) *Cause {
	return &Cause{Source: ReadSource(r), Sequence: r.Uint(), Paid: r.Uint()}
}

// Debt is an acknowledgement that is owed, or was.
type Debt struct {
	*Source
	// Sequence is that of the message that was processed, Here that of what was made of it.
	Sequence, Here uint64
}

// Table has the causes of a stream. The zero value is empty. It is not safe for concurrent use.
//
// Invariants: Here ascends in owed, and in paid; known has exactly the entries of both; sources has those that some
// entry refers to, and how many do.
type Table struct {
	owed, paid []Debt
	known      map[key]uint64 // to Here
	sources    map[Source]*shared
	total      uint64
}

// shared is a source that entries refer to.
type shared struct {
	source Source
	uses   int
}

// key is what an entry is known by.
type key struct {
	source   *shared
	sequence uint64
}

// Owed is how many acknowledgements are owed.
func (t *Table) Owed() int { return len(t.owed) }

// Full reports whether no more can be owed.
func (t *Table) Full() bool { return len(t.owed) >= OwedMost }

// Paid is how many were paid in all.
func (t *Table) Paid() uint64 { return t.total }

// Len is how many are known.
func (t *Table) Len() int { return len(t.known) }

// Find returns the sequence of the message that was made from the same delivery, if that is known.
func (t *Table) Find(c *Cause) (here uint64, known bool) {
	s := t.sources[c.Source]
	if s == nil {
		return 0, false
	}
	here, known = t.known[key{s, c.Sequence}]
	return here, known
}

// Late reports whether so many were paid since it was found out that the delivery waits for an answer, that its own
// may be among them and forgotten.
func (t *Table) Late(c *Cause) bool { return t.total-c.Paid >= PaidMost }

// Owe notes a message, whose sequence is larger than all before, that was made from a delivery which is not known, and
// whose acknowledgement is owed.
func (t *Table) Owe(c *Cause, here uint64) {
	t.owed = append(t.owed, t.enter(c.Source, c.Sequence, here))
}

// Note is Owe where the acknowledgement is paid at once.
func (t *Table) Note(c *Cause, here uint64) {
	t.keep(t.enter(c.Source, c.Sequence, here))
}

// enter makes an entry known.
func (t *Table) enter(source Source, sequence, here uint64) Debt {
	if t.known == nil {
		t.known, t.sources = map[key]uint64{}, map[Source]*shared{}
	}
	s := t.sources[source]
	if s == nil {
		s = &shared{source: source}
		t.sources[source] = s
	}
	s.uses++
	t.known[key{s, sequence}] = here
	return Debt{Source: &s.source, Sequence: sequence, Here: here}
}

// keep notes an entry that is paid, and forgets the first of those that are too many.
func (t *Table) keep(d Debt) {
	t.total++
	i, _ := slices.BinarySearchFunc(t.paid, d.Here, compare)
	t.paid = slices.Insert(t.paid, i, d)
	if len(t.paid) <= PaidMost {
		return
	}
	first := t.paid[0]
	t.paid = t.paid[1:]
	s := t.sources[*first.Source]
	delete(t.known, key{s, first.Sequence})
	if s.uses--; s.uses == 0 {
		delete(t.sources, s.source)
	}
}

func compare(d Debt, here uint64) int { return cmp.Compare(d.Here, here) }

// Pay notes that acknowledgements of a source are paid, and returns how many of them were owed.
func (t *Table) Pay(source Source, sequences []uint64) (paid int) {
	s := t.sources[source]
	if s == nil {
		return 0
	}
	var done []uint64
	for _, seq := range sequences {
		here, known := t.known[key{s, seq}]
		if !known {
			continue
		}
		if _, owed := slices.BinarySearchFunc(t.owed, here, compare); owed {
			done = append(done, here)
		}
	}
	slices.Sort(done)
	done = slices.Compact(done)
	t.owed = slices.DeleteFunc(t.owed, func(d Debt) bool {
		_, is := slices.BinarySearch(done, d.Here)
		if is {
			t.keep(d)
		}
		return is
	})
	return len(done)
}

// Debts yields what is owed, in the order of the messages here.
func (t *Table) Debts(yield func(Debt) bool) {
	for _, d := range t.owed {
		if !yield(d) {
			return
		}
	}
}

// Check returns what is wrong, nil for nothing; last is the last sequence of the stream.
func (t *Table) Check(last uint64) error {
	uses := map[*Source]int{}
	for _, list := range [2][]Debt{t.owed, t.paid} {
		before := uint64(0)
		for _, d := range list {
			c := &Cause{Source: *d.Source, Sequence: d.Sequence}
			if here, known := t.Find(c); !known || here != d.Here || d.Here <= before || d.Here > last {
				return fmt.Errorf("message %d, made from %d of consumer %q, comes behind %d, the last is %d", d.Here, d.Sequence, d.Consumer, before, last)
			}
			before = d.Here
			uses[d.Source]++
		}
	}
	if n := len(t.owed) + len(t.paid); n != len(t.known) || len(uses) != len(t.sources) || uint64(len(t.paid)) > t.total {
		return fmt.Errorf("%d causes of %d sources, known are %d of %d, %d were paid", n, len(uses), len(t.known), len(t.sources), t.total)
	}
	for s, n := range uses {
		if shared := t.sources[*s]; shared == nil || shared.uses != n {
			return fmt.Errorf("source %+v is used %d times", *s, n)
		}
	}
	return nil
}
