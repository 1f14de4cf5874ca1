package causes

import (
	"cmp"
	"slices"

	"runnel/jetlog/codec"
)

// AppendSnapshot appends the table: the sources in order, then what is owed and what is paid, each with the place of its source
// among those, and its sequence here as the difference to the one before.
func (t *Table) AppendSnapshot(out []byte) []byte {
	list := make([]*Source, 0, len(t.sources))
	for _, s := range t.sources {
		list = append(list, &s.source)
	}
	slices.SortFunc(list, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Consumer, b.Consumer), cmp.Compare(a.Incarnation, b.Incarnation),
			cmp.Compare(a.Stream, b.Stream))
	})
	places := make(map[*Source]int, len(list))
	out = codec.AppendUint(out, uint64(len(list)))
	for i, s := range list {
		places[s] = i
		out = s.Append(out)
	}
	for _, entries := range [2][]Debt{t.owed, t.paid} {
		out = codec.AppendUint(out, uint64(len(entries)))
		before := uint64(0)
		for _, d := range entries {
			out = codec.AppendUint(out, uint64(places[d.Source]))
			out = codec.AppendUint(codec.AppendUint(out, d.Sequence), d.Here-before)
			before = d.Here
		}
	}
	return codec.AppendUint(out, t.total)
}

// debtBytes is the least that an entry takes.
const debtBytes = 3

// Restore fills an empty table from a snapshot, and is false if it is not in order.
func (t *Table) Restore(r *codec.Reader) bool {
	sources := make([]Source, r.Count(sourceBytes))
	for i := range sources {
		sources[i] = ReadSource(r)
	}
	sound := true
	read := func(most int) (list []Debt) {
		before := uint64(0)
		for range r.Count(debtBytes) {
			place, seq, more := r.Uint(), r.Uint(), r.Uint()
			if r.Err() != nil || place >= uint64(len(sources)) || more == 0 || before+more < before {
				sound = false
				return nil
			}
			c := Cause{Source: sources[place], Sequence: seq}
			if _, twice := t.Find(&c); twice || len(list) == most {
				sound = false
				return nil
			}
			before += more
			list = append(list, t.enter(c.Source, seq, before))
		}
		return list
	}
	t.owed = read(OwedMost)
	if sound {
		t.paid = read(PaidMost)
	}
	t.total = r.Uint()
	return sound && len(t.sources) == len(sources) && uint64(len(t.paid)) <= t.total
}
