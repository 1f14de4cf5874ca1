package wal

import (
	"errors"
	"slices"
	"sync"
)

// segments are the files of an open log. They belong to the Log, under its mutex.
//
// Numbers are consecutive: used, then ready, then next. A segment goes from ready to used, to released,
// and its file to spares and back to ready, with another number.
type segments struct {
	used     []*segment // with records that are needed, or begun; oldest first
	ready    []*segment // prepared; oldest first
	released []*segment // not needed any more; the supplier takes their numbers
	spares   []string   // paths of files without a number
	next     uint64     // number of the next one that is prepared
	noSpace  error      // ErrNoSpace with its cause, if the disk was full last time
	again    bool       // try once more although it was
	waits    bool       // what is released does until somebody needs a segment: no more files may be open
	supply   sync.Cond  // the supplier waits for work
	recent   [256]noted // what note did last
}

// noted is a group that is in the table of the segment already, for a batch.
type noted struct {
	group    uint64
	position Position
}

// slot is where a group is in recent.
func slot(group uint64) uint8 { return uint8(group * 0x9e3779b97f4a7c15 >> 56) }

// note remembers that a group has records in a segment. Mostly it had some in the same batch already.
func (s *segments) note(in *segment, group uint64, p Position) {
	n := &s.recent[slot(group)]
	if n.group == group && n.position == p {
		return
	}
	*n = noted{group: group, position: p}
	in.groups[group] = p
	in.last = p
}

// begin lets the queue go on in the next segment, if there is one besides those in reserve.
func (s *segments) begin(q *queue, reserve int) bool {
	if len(s.ready) <= reserve {
		return false
	}
	next := s.ready[0]
	s.ready = slices.Delete(s.ready, 0, 1)
	s.used = append(s.used, next)
	q.begin(next)
	s.waits = false
	s.supply.Signal()
	return true
}

// retry asks the supplier to try again although there was no space.
func (s *segments) retry() {
	s.again, s.waits = true, false
	s.supply.Signal()
}

// release forgets what a group has before a position, and the segments that nobody needs then.
func (s *segments) release(group uint64, before Position) {
	for _, used := range s.used {
		if last, ok := used.groups[group]; ok {
			if last >= before {
				break
			}
			delete(used.groups, group)
		}
	}
	if n := &s.recent[slot(group)]; n.group == group && n.position < before {
		*n = noted{}
	}
	s.collect()
}

// collect hands segments over to the supplier that nobody needs, the oldest first: what remains stays a
// row without gaps.
func (s *segments) collect() {
	n := 0
	for n < len(s.used) && s.used[n].retired && !s.used[n].pinned && len(s.used[n].groups) == 0 {
		n++
	}
	if n > 0 {
		s.released = append(s.released, s.used[:n]...)
		s.used = slices.Delete(s.used, 0, n)
		s.supply.Signal()
	}
}

// files counts those that have a number or wait for one.
func (s *segments) files() int {
	return len(s.used) + len(s.ready) + len(s.released) + len(s.spares)
}

// close closes what is open.
func (s *segments) close() error {
	var errs []error
	for _, x := range append(s.used, s.ready...) {
		if x.file != nil {
			errs = append(errs, x.file.Close())
			x.file = nil
		}
	}
	return errors.Join(errs...)
}

// Pinned is the oldest segment of a log: as long as it is needed, nothing after it becomes free.
type Pinned struct {
	Segment uint64   // its number
	Last    Position // of its last batch
	Groups  []uint64 // groups whose records in it are needed, in ascending order
	Damaged bool     // AcceptDamage was not called
}

// Pinned says what keeps the oldest segment. Whoever owns these groups can write their state elsewhere, or
// append the records again, and then release what is up to Last. It is false if nothing does.
func (l *Log) Pinned() (Pinned, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments.used) == 0 || len(l.segments.used[0].groups) == 0 && !l.segments.used[0].pinned {
		return Pinned{}, false
	}
	oldest := l.segments.used[0]
	p := Pinned{Segment: oldest.number, Last: oldest.last, Damaged: oldest.pinned}
	for g := range oldest.groups {
		p.Groups = append(p.Groups, g)
	}
	slices.Sort(p.Groups)
	return p, true
}

// Release says that a group needs none of its records before a position: nobody will miss them after a
// restart. What it appended at or after it stays. Segments that nobody needs are used again, in the
// background; until then, and after a power cut, their records may still be recovered. End releases all
// that the group has.
func (l *Log) Release(group uint64, before Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments.release(group, before)
}

// AcceptDamage says that what Recovered.Damage tells is written down elsewhere, or repaired. Until then the
// segments with damage stay, whatever is released, and every start tells it again. From then on their files
// are kept under another name when nobody needs them.
func (l *Log) AcceptDamage() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments.used {
		s.pinned = false
	}
	l.segments.collect()
}
