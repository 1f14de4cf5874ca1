package layer

import (
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/segment"
)

// Kinds of facts in segment files.
const (
	SubjectFact segment.FactKind = 1 // SubjectState of what was flushed: first, last, count
	IDFact      segment.FactKind = 2 // a message id: sequence, time, 0
)

// Stored returns what the newest file says of a subject that says something; exact is false if messages below purged,
// which have gone since, are counted in it.
func Stored(a *Asker, parts []*Part, purged uint64, h segment.Hash) (s jetlog.SubjectState, exact bool, err error) {
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if p.Covered {
			continue
		}
		v, ok, err := p.Fact(a, SubjectFact, h)
		if err != nil {
			return s, false, err
		}
		if ok {
			s, exact = p.stored(v, purged)
			return s, exact, nil
		}
	}
	return s, true, nil
}

// stored is a fact of the file as Stored returns it.
func (p *Part) stored(v segment.Value, purged uint64) (s jetlog.SubjectState, exact bool) {
	s = jetlog.SubjectState{First: v[0], Last: v[1], Count: v[2]}
	return s, purged <= p.Purged || s.Count == 0 || s.First > purged
}

// StoredAll is Stored for many subjects at once, whose hashes ascend: it calls found with the position of each that a file
// says something of. It goes from file to file, newest first, and through each of them in order, which is much quicker
// than to go through all files for each subject.
func StoredAll(
	parts []*Part, purged uint64, hashes []segment.Hash, found func(i int, s jetlog.SubjectState, exact bool),
) error {
	hashes = slices.Clone(hashes) // those of which nothing is known yet
	places := make([]int, len(hashes))
	for i := range places {
		places[i] = i
	}
	for i := len(parts) - 1; i >= 0 && len(hashes) > 0; i-- {
		p := parts[i]
		if p.Covered {
			continue
		}
		const done = -1
		err := p.File.Segment.FindFacts(p.Stream, SubjectFact, hashes, func(at int, v segment.Value) {
			s, exact := p.stored(v, purged)
			found(places[at], s, exact)
			places[at] = done
		})
		if err != nil {
			return err
		}
		left := 0
		for at, place := range places {
			if place != done {
				hashes[left], places[left] = hashes[at], place
				left++
			}
		}
		hashes, places = hashes[:left], places[:left]
	}
	return nil
}

// Combine puts the states of a subject in two layers together, the older first.
func Combine(old, young jetlog.SubjectState) jetlog.SubjectState {
	switch {
	case old.Count == 0:
		return young
	case young.Count == 0:
		return old
	}
	return jetlog.SubjectState{First: old.First, Last: young.Last, Count: old.Count + young.Count}
}
