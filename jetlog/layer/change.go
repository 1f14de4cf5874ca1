package layer

import (
	"bytes"
	"cmp"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/segment"
)

// Change is a subject about which something has become new since the last flush.
type Change struct {
	Hash    segment.Hash
	State   jetlog.SubjectState // exact
	subject string
	old     jetlog.SubjectState // below the table
	exact   bool                // false if that must be counted
}

// Changes returns the subjects of a table, and those that are dirty among the facts, with their states: what there is of them
// below the table and in it. They are in the order of their hashes. The facts are those of what lies below, which is in
// these files; all of it must not change meanwhile.
func Changes(below *Below, parts []*Part, facts *Facts, table *jetlog.Memory, hash func(string) [16]byte) ([]Change, error) {
	all := collect(facts, table, hash)
	if err := inherit(all, below, parts, facts); err != nil {
		return nil, err
	}
	for i := range all {
		c := &all[i]
		var err error
		if c.exact {
			c.old, err = below.Settle(c.subject, c.old)
		} else {
			c.old, err = below.SubjectOf(c.subject)
		}
		if err != nil {
			return nil, err
		}
		c.State = Combine(c.old, c.State)
	}
	return all, nil
}

// collect returns the subjects with what the table has of them.
func collect(facts *Facts, table *jetlog.Memory, hash func(string) [16]byte) []Change {
	all := make([]Change, 0, table.SubjectCount())
	table.States(func(subject string, state jetlog.SubjectState) {
		all = append(all, Change{Hash: hash(subject), subject: subject, State: state, exact: true})
	})
	facts.Changed(func(h segment.Hash, subject string) {
		all = append(all, Change{Hash: h, subject: subject, exact: true})
	})
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(b.State.Count, a.State.Count))
	})
	// Of two the first is that of the table.
	return slices.CompactFunc(all, func(a, b Change) bool { return a.Hash == b.Hash })
}

// inherit notes what is known of the subjects below the table.
func inherit(all []Change, below *Below, parts []*Part, facts *Facts) error {
	var hashes []segment.Hash
	var places []int
	for i := range all {
		c := &all[i]
		switch e, _ := facts.Get(c.Hash); {
		case e.Known:
			c.old = e.State
		case e.Scan:
			c.exact = false
		default:
			hashes, places = append(hashes, c.Hash), append(places, i)
		}
	}
	return StoredAll(parts, below.Purged, hashes, func(i int, s jetlog.SubjectState, exact bool) {
		c := &all[places[i]]
		e, _ := facts.Get(c.Hash)
		s.Count -= min(e.Gone, s.Count)
		c.old, c.exact = s, exact
	})
}
