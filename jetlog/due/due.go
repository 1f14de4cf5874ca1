// Package due is which messages of a stream send others later, when each is due, and what it sends then. It is part of the
// state of a stream, and knows no clock.
package due

import (
	"cmp"
	"container/heap"
	"slices"

	"runnel/jetlog/codec"
)

// Due is a schedule that is due.
type Due struct {
	// Subject and Sequence are those of the message with the schedule.
	Subject  string
	Sequence uint64
	// At is when it is due, in nanoseconds since 1970.
	At int64
}

// Table has the messages of a stream that send others later. A subject has one at most: the last message on it. The zero value
// is empty. It is not safe for concurrent use, but several may ask at once.
//
// Invariant, which Check verifies: both have the same timers, each at its index in the heap.
type Table struct {
	bySubject map[string]*timer
	heap      timers
}

// timer is when the message on a subject is due.
type timer struct {
	at      int64
	seq     uint64
	subject string
	index   int
}

// timers is a heap for container/heap, earliest first.
type timers []*timer

func (h timers) Len() int { return len(h) }

func (h timers) Less(i, j int) bool { return compareTimers(h[i], h[j]) < 0 }

func compareTimers(a, b *timer) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
}

func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop are for container/heap.
func (h *timers) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop removes the last.
func (h *timers) Pop() any {
	s := *h
	t := s[len(s)-1]
	s[len(s)-1] = nil
	*h = s[:len(s)-1]
	return t
}

// Set notes when a message is due, which takes the place of one before on its subject.
func (s *Table) Set(subject string, seq uint64, at int64) {
	s.Drop(subject)
	if s.bySubject == nil {
		s.bySubject = map[string]*timer{}
	}
	t := &timer{at: at, seq: seq, subject: subject}
	s.bySubject[subject] = t
	heap.Push(&s.heap, t)
}

// Drop forgets what is on a subject.
func (s *Table) Drop(subject string) {
	if t := s.bySubject[subject]; t != nil {
		heap.Remove(&s.heap, t.index)
		delete(s.bySubject, subject)
	}
}

// Gone forgets a message that has gone.
func (s *Table) Gone(subject string, seq uint64) {
	if t := s.bySubject[subject]; t != nil && t.seq == seq {
		s.Drop(subject)
	}
}

// GoneUpTo forgets all messages up to a sequence.
func (s *Table) GoneUpTo(seq uint64) {
	for _, t := range slices.Clone(s.heap) {
		if t.seq <= seq {
			s.Drop(t.subject)
		}
	}
}

// due appends to out the timers from one of the heap on that are due.
func (s *Table) due(now int64, from int, out []*timer) []*timer {
	if from >= len(s.heap) || s.heap[from].at > now {
		return out
	}
	out = append(out, s.heap[from])
	return s.due(now, 2*from+2, s.due(now, 2*from+1, out))
}

// AppendSnapshot appends all timers in the order of their sequences.
func (s *Table) AppendSnapshot(out []byte) []byte {
	list := slices.SortedFunc(slices.Values(s.heap), func(a, b *timer) int { return cmp.Compare(a.seq, b.seq) })
	out = codec.AppendUint(out, uint64(len(list)))
	last := uint64(0)
	for _, t := range list {
		out = codec.AppendUint(out, t.seq-last)
		out = codec.AppendInt(out, t.at)
		out = codec.AppendBytes(out, t.subject)
		last = t.seq
	}
	return out
}

// Restore fills an empty table with what AppendSnapshot has written, and reports whether it is in order.
func (s *Table) Restore(r *codec.Reader) bool {
	last := uint64(0)
	for range r.Count(3) {
		seq, at, subject := last+r.Uint(), r.Int(), r.String()
		if r.Err() != nil {
			return true
		}
		if seq <= last || s.bySubject[subject] != nil {
			return false
		}
		s.Set(subject, seq, at)
		last = seq
	}
	return true
}

// Len returns how many there are.
func (s *Table) Len() int { return len(s.heap) }

// Get returns what is due on a subject; it is false if there is nothing.
func (s *Table) Get(subject string) (Due, bool) {
	t := s.bySubject[subject]
	if t == nil {
		return Due{}, false
	}
	return Due{t.subject, t.seq, t.at}, true
}

// Next returns when the first is due, 0 for never.
func (s *Table) Next() int64 {
	if len(s.heap) == 0 {
		return 0
	}
	return s.heap[0].at
}

// All calls yield for all, in no order, until it returns false. They must not change meanwhile.
func (s *Table) All(yield func(Due) bool) {
	for _, t := range s.heap {
		if !yield(Due{t.subject, t.seq, t.at}) {
			return
		}
	}
}

// Due returns what is due, the earliest first, at most limit.
func (s *Table) Due(now int64, limit int) []Due {
	list := s.due(now, 0, nil)
	slices.SortFunc(list, compareTimers)
	out := make([]Due, 0, min(limit, len(list)))
	for _, t := range list[:min(limit, len(list))] {
		out = append(out, Due{t.subject, t.seq, t.at})
	}
	return out
}

// Check verifies the invariant, and reports through wrong what does not hold.
func (s *Table) Check(wrong func(format string, args ...any)) {
	if len(s.bySubject) != len(s.heap) {
		wrong("%d subjects with schedules, but %d timers", len(s.bySubject), len(s.heap))
	}
	for i, t := range s.heap {
		if t.index != i || i > 0 && s.heap.Less(i, (i-1)/2) || s.bySubject[t.subject] != t {
			wrong("the timer of message %d is out of order", t.seq)
		}
	}
}
