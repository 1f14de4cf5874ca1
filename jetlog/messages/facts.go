package messages

import (
	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/segment"
)

// note is what is known of a message id.
type note struct {
	seq  uint64
	time int64
}

// base returns the state of a subject as far as it is below the memory table.
func (b *Body) base(subject string) (jetlog.SubjectState, error) {
	if len(b.Layers) == 0 {
		return jetlog.SubjectState{}, nil
	}
	h := b.Key.Sum(subject)
	e, _ := b.facts.Get(h)
	state, exact := e.State, e.Known
	if !e.Known && !e.Scan {
		var err error
		if state, exact, err = b.inherited(h, subject); err != nil {
			return state, err
		}
		state.Count -= min(e.Gone, state.Count)
	}
	var err error
	if exact {
		state, err = b.Below.Settle(subject, state)
	} else {
		state, err = b.Below.SubjectOf(subject)
	}
	if err != nil {
		return jetlog.SubjectState{}, err
	}
	b.facts.Learn(h, state)
	return state, nil
}

// inherited returns the state of a subject as of the last freeze; exact is false if that is outdated
// and it must be counted.
func (b *Body) inherited(h segment.Hash, subject string) (s jetlog.SubjectState, exact bool, err error) {
	if b.Frozen == nil {
		return layer.Stored(b.Asker, b.Parts, b.Purged, h)
	}
	s, exact, err = b.Frozen.state(b.Asker, h, subject)
	if exact && b.Purged > b.Frozen.Purged && s.Count > 0 && s.First <= b.Purged {
		exact = false
	}
	return s, exact, err
}
