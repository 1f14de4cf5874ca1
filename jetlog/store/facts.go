package store

import (
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/segment"
)

// Kinds of facts in segment files.
const (
	subjectFact segment.FactKind = 1 // SubjectState of what was flushed: first, last, count
	idFact      segment.FactKind = 2 // a message id: sequence, time, 0
)

// The state of a subject (first, last, count) has to be known exactly for each message where a limit per
// subject or an expectation is in force, and there may be many more subjects than memory. So:
//
//   - Files carry facts: the state of a subject as of the flush that wrote it, for every subject that the
//     flush knew something new about. The newest file that knows the subject is right, up to that flush.
//   - What goes after the flush is counted here, by subject, and kept until the next flush has written
//     it. A subject about which nothing is here and nothing in a file has no messages.
//   - First and last need no counting: whoever reads a state looks whether they have gone, and if so
//     asks the files for the next one. That may fail, so it cannot be done when a message is removed.
//   - A purge of a range does not go through its subjects. It only raises a mark: facts from before it
//     whose first message lies in the range say nothing any more about the count, and the subject is
//     counted when somebody asks.
//
// An exact table of all subjects in memory was the alternative: 116 bytes for each, against 1.3.

// fact is what is known of a subject's messages below the memory table.
type fact struct {
	state jetlog.SubjectState // if known; first and last may be of messages that have gone since
	known bool
	scan  bool   // what files say about the subject is outdated: it must be counted
	gone  uint64 // not known: messages that have gone since the last freeze
	// dirty: something has gone since the last freeze, so that the next flush has to say it. The subject
	// is kept then.
	dirty   bool
	subject string
}

// facts are what is known of subjects, on top of what files say. Entries that are dirty stay; others
// are a cache.
type facts struct {
	mu      sync.Mutex // guards all below: readers of a stream note what they found
	entries map[segment.Hash]fact
	dirty   int
	limit   int // entries that are not dirty
}

// factEntryBytes is about what an entry takes in memory.
const factEntryBytes = 160

func newFacts(limit int) *facts { return &facts{entries: map[segment.Hash]fact{}, limit: limit} }

// get returns what is known of a subject; it is false if that is nothing.
func (f *facts) get(h segment.Hash) (fact, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[h]
	return e, ok
}

// learn notes what was found out about a subject. What has changed meanwhile cannot be: nothing is
// removed while somebody reads.
func (f *facts) learn(h segment.Hash, s jetlog.SubjectState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[h]
	if !ok && len(f.entries)-f.dirty >= f.limit {
		f.evict()
	}
	e.state, e.known, e.scan, e.gone = s, true, false, 0
	f.entries[h] = e
}

// evict drops some entry that is not dirty, if one is found quickly.
func (f *facts) evict() {
	tries := 16
	for h, e := range f.entries {
		if !e.dirty {
			delete(f.entries, h)
			return
		}
		if tries--; tries == 0 {
			return
		}
	}
}

// removed notes that a message has gone.
func (f *facts) removed(h segment.Hash, subject string) (grown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[h]
	if !e.dirty {
		e.dirty, e.subject = true, subject
		f.dirty++
		grown = true
	}
	switch {
	case e.known:
		e.state.Count--
	case !e.scan:
		e.gone++
	}
	f.entries[h] = e
	return grown
}

// purged notes that every sequence up to one has gone at once.
func (f *facts) purged(upTo uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h, e := range f.entries {
		switch {
		case e.known && e.state.First > upTo:
		case e.dirty:
			e.known, e.gone, e.scan = false, 0, true
			f.entries[h] = e
		default:
			delete(f.entries, h)
		}
	}
}

// note is what is known of a message id.
type note struct {
	seq  uint64
	time int64
}

// base returns the state of a subject as far as it is below the memory table.
func (b *body) base(subject string) (jetlog.SubjectState, error) {
	if len(b.Layers) == 0 {
		return jetlog.SubjectState{}, nil
	}
	h := b.key.Sum(subject)
	e, _ := b.facts.get(h)
	state, exact := e.state, e.known
	if !e.known && !e.scan {
		var err error
		if state, exact, err = b.inherited(h, subject); err != nil {
			return state, err
		}
		state.Count -= min(e.gone, state.Count)
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
	b.facts.learn(h, state)
	return state, nil
}

// inherited returns the state of a subject as of the last freeze; exact is false if that is outdated
// and it must be counted.
func (b *body) inherited(h segment.Hash, subject string) (s jetlog.SubjectState, exact bool, err error) {
	if b.frozen == nil {
		return stored(b.Asker, b.parts, b.Purged, h)
	}
	s, exact, err = b.frozen.state(b.Asker, h, subject)
	if exact && b.Purged > b.frozen.Purged && s.Count > 0 && s.First <= b.Purged {
		exact = false
	}
	return s, exact, err
}

// stored returns what the newest file says that says something.
func stored(a *layer.Asker, parts []*layer.Part, purged uint64, h segment.Hash) (s jetlog.SubjectState, exact bool, err error) {
	for i := len(parts) - 1; i >= 0; i-- {
		v, ok, err := parts[i].Fact(a, subjectFact, h)
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

// combine puts the states of a subject in two layers together, the older first.
func combine(old, young jetlog.SubjectState) jetlog.SubjectState {
	switch {
	case old.Count == 0:
		return young
	case young.Count == 0:
		return old
	}
	return jetlog.SubjectState{First: old.First, Last: young.Last, Count: old.Count + young.Count}
}
