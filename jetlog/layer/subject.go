package layer

import (
	"runnel/jetlog"
	"runnel/jetlog/segment"
)

// Stored returns what the newest file says of a subject that says something, with its facts of a kind; exact is false if
// messages below purged, which have gone since, are counted in it.
func Stored(
	a *Asker, parts []*Part, purged uint64, kind segment.FactKind, h segment.Hash,
) (s jetlog.SubjectState, exact bool, err error) {
	for i := len(parts) - 1; i >= 0; i-- {
		v, ok, err := parts[i].Fact(a, kind, h)
		if err != nil {
			return s, false, err
		}
		if ok {
			s = jetlog.SubjectState{First: v[0], Last: v[1], Count: v[2]}
			return s, purged <= parts[i].Purged || s.Count == 0 || s.First > purged, nil
		}
	}
	return s, true, nil
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
