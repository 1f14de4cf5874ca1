package layer

import (
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/segment"
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

// Fact is what is known of a subject's messages below the memory table.
type Fact struct {
	State jetlog.SubjectState // if known; first and last may be of messages that have gone since
	Known bool
	Scan  bool   // what files say about the subject is outdated: it must be counted
	Gone  uint64 // not known: messages that have gone since the last freeze
	// Dirty: something has gone since the last freeze, so that the next flush has to say it. The subject
	// is kept then.
	Dirty   bool
	Subject string
}

// Facts are what is known of subjects, on top of what files say. Entries that are dirty stay; others are a cache.
type Facts struct {
	limit int // entries that are not dirty

	mu      sync.Mutex // guards all below: readers of a stream note what they found
	entries map[segment.Hash]Fact
	dirty   int
}

// FactBytes is about what an entry takes in memory.
const FactBytes = 160

// NewFacts returns facts of nothing, which keep so many entries that are not dirty.
func NewFacts(limit int) *Facts { return &Facts{entries: map[segment.Hash]Fact{}, limit: limit} }

// Get returns what is known of a subject; it is false if that is nothing.
func (f *Facts) Get(h segment.Hash) (Fact, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[h]
	return e, ok
}

// Learn notes what was found out about a subject. What has changed meanwhile cannot be: nothing is
// removed while somebody reads.
func (f *Facts) Learn(h segment.Hash, s jetlog.SubjectState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.entries[h]
	if !ok && len(f.entries)-f.dirty >= f.limit {
		f.evict()
	}
	e.State, e.Known, e.Scan, e.Gone = s, true, false, 0
	f.entries[h] = e
}

// evict drops some entry that is not dirty, if one is found quickly.
func (f *Facts) evict() {
	tries := 16
	for h, e := range f.entries {
		if !e.Dirty {
			delete(f.entries, h)
			return
		}
		if tries--; tries == 0 {
			return
		}
	}
}

// Removed notes that a message has gone.
func (f *Facts) Removed(h segment.Hash, subject string) (grown bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[h]
	if !e.Dirty {
		e.Dirty, e.Subject = true, subject
		f.dirty++
		grown = true
	}
	switch {
	case e.Known:
		e.State.Count--
	case !e.Scan:
		e.Gone++
	}
	f.entries[h] = e
	return grown
}

// Purged notes that every sequence up to one has gone at once.
func (f *Facts) Purged(upTo uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h, e := range f.entries {
		switch {
		case e.Known && e.State.First > upTo:
		case e.Dirty:
			e.Known, e.Gone, e.Scan = false, 0, true
			f.entries[h] = e
		default:
			delete(f.entries, h)
		}
	}
}

// Fresh returns facts of nothing that keep as many entries.
func (f *Facts) Fresh() *Facts { return NewFacts(f.limit) }

// Changed calls yield for the subjects that are dirty, in no order.
func (f *Facts) Changed(yield func(h segment.Hash, subject string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h, e := range f.entries {
		if e.Dirty {
			yield(h, e.Subject)
		}
	}
}
