package jetlog

import (
	"cmp"
	"container/heap"
	"slices"

	"runnel/jetlog/codec"
)

// schedules are the messages of a stream that publish others when they are due. A subject has one at most:
// the last message on it.
//
// Invariant: both have the same timers, each at its index in the heap.
type schedules struct {
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

// set notes when a message is due, which takes the place of one before on its subject.
func (s *schedules) set(subject string, seq uint64, at int64) {
	s.drop(subject)
	if s.bySubject == nil {
		s.bySubject = map[string]*timer{}
	}
	t := &timer{at: at, seq: seq, subject: subject}
	s.bySubject[subject] = t
	heap.Push(&s.heap, t)
}

// drop forgets what is on a subject.
func (s *schedules) drop(subject string) {
	if t := s.bySubject[subject]; t != nil {
		heap.Remove(&s.heap, t.index)
		delete(s.bySubject, subject)
	}
}

// gone forgets a message that has gone.
func (s *schedules) gone(subject string, seq uint64) {
	if t := s.bySubject[subject]; t != nil && t.seq == seq {
		s.drop(subject)
	}
}

// goneUpTo forgets all messages up to a sequence.
func (s *schedules) goneUpTo(seq uint64) {
	for _, t := range slices.Clone(s.heap) {
		if t.seq <= seq {
			s.drop(t.subject)
		}
	}
}

// due appends to out the timers from one of the heap on that are due.
func (s *schedules) due(now int64, from int, out []*timer) []*timer {
	if from >= len(s.heap) || s.heap[from].at > now {
		return out
	}
	out = append(out, s.heap[from])
	return s.due(now, 2*from+2, s.due(now, 2*from+1, out))
}

// appendSnapshot appends all timers in the order of their sequences.
func (s *schedules) appendSnapshot(out []byte) []byte {
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

// read reads what appendSnapshot has written and reports whether it is in order.
func (s *schedules) read(r *codec.Reader) bool {
	last := uint64(0)
	for range r.Count(3) {
		seq, at, subject := last+r.Uint(), r.Int(), r.String()
		if r.Err() != nil {
			return true
		}
		if seq <= last || s.bySubject[subject] != nil {
			return false
		}
		s.set(subject, seq, at)
		last = seq
	}
	return true
}
