package layer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/segment"
)

// pile is layers of memory tables, and the same messages in a list.
type pile struct {
	below layer.Below
	all   []jetlog.Meta // live ones
}

// newPile returns some layers with holes between and within them, of which some messages have gone.
func newPile(rng *rand.Rand) *pile {
	p := &pile{below: layer.Below{Gone: gone.New()}}
	seq, now := uint64(1), int64(0)
	for range 1 + rng.IntN(4) {
		t := &layer.Table{Memory: jetlog.NewMemory()}
		for range 1 + rng.IntN(40) {
			seq += uint64(1 + rng.IntN(3)/2)
			now += int64(rng.IntN(3))
			m := jetlog.Message{Sequence: seq, Time: now, Subject: fmt.Sprintf("s.%d", rng.IntN(4)), Payload: []byte("x")}
			meta := jetlog.Meta{Sequence: seq, Time: now, Subject: m.Subject, Bytes: uint64(10 + rng.IntN(5))}
			t.Memory.Append(&m, &meta)
			s := t.Span()
			if s.Count == 0 {
				s.First = seq
			}
			s.Last, s.LastTime, s.Count, s.Bytes = seq, now, s.Count+1, s.Bytes+meta.Bytes
			p.all = append(p.all, meta)
		}
		p.below.Layers = append(p.below.Layers, t)
	}
	p.all = slices.DeleteFunc(p.all, func(m jetlog.Meta) bool {
		if rng.IntN(3) > 0 {
			return false
		}
		p.below.Gone.Add(m.Sequence)
		s := p.below.Find(m.Sequence).Span()
		s.Removed, s.RemovedBytes = s.Removed+1, s.RemovedBytes+m.Bytes
		return true
	})
	return p
}

// TestBelow compares what layers answer together with what a list of the live messages says.
func TestBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		p := newPile(rng)
		b := &p.below
		for range 20 {
			at := uint64(rng.IntN(100))
			filter := []jetlog.Filter{nil, {"s.1"}, {"s.*"}, {"s.0", "s.3"}}[rng.IntN(4)]
			var next, last, count, bytes uint64
			for _, m := range p.all {
				if m.Sequence >= at {
					bytes += m.Bytes
				}
				if !filter.Matches(m.Subject) {
					continue
				}
				if m.Sequence <= at {
					last = m.Sequence
				}
				if m.Sequence >= at {
					count++
					if next == 0 {
						next = m.Sequence
					}
				}
			}
			gotNext, err1 := b.NextOf(filter, at)
			gotLast, err2 := b.LastOf(filter, at)
			gotCount, err3 := b.Count(filter, at)
			_, gotBytes, err4 := b.SizeOf(at, ^uint64(0))
			got := fmt.Sprint(gotNext, gotLast, gotCount, gotBytes, err1, err2, err3, err4)
			if want := fmt.Sprint(next, last, count, bytes, nil, nil, nil, nil); got != want {
				t.Fatalf("round %d, %v at %d: next, last, count, bytes: got %s, want %s", round, filter, at, got, want)
			}
		}
		for _, m := range p.all {
			meta, err := b.Meta(m.Sequence)
			loaded, failed := b.Load(m.Sequence)
			if err != nil || failed != nil || meta.Sequence != m.Sequence || meta.Subject != m.Subject || loaded.Subject != m.Subject {
				t.Fatalf("message %d: got %v, %v, %v, %v", m.Sequence, meta, err, loaded, failed)
			}
		}
	}
}

// TestSubjectOf counts one subject, whatever has gone of it, and finds the first message that is not too old.
func TestSubjectOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		p := newPile(rng)
		for i := range 4 {
			subject := fmt.Sprintf("s.%d", i)
			var want jetlog.SubjectState
			for _, m := range p.all {
				if m.Subject != subject {
					continue
				}
				if want.Count++; want.First == 0 {
					want.First = m.Sequence
				}
				want.Last = m.Sequence
			}
			if got, err := p.below.SubjectOf(subject); got != want || err != nil {
				t.Fatalf("round %d, %s: got %v, %v, want %v", round, subject, got, err, want)
			}
		}
		for _, m := range p.all {
			first := p.all[slices.IndexFunc(p.all, func(x jetlog.Meta) bool { return x.Time >= m.Time })].Sequence
			if got, err := p.below.FirstAfter(m.Time); got != first || err != nil {
				t.Fatalf("round %d, first at %d: got %d, %v, want %d", round, m.Time, got, err, first)
			}
		}
	}
}

// TestFacts sees that what has gone of a subject is kept until the next flush, and that the rest gives way.
func TestFacts(t *testing.T) {
	hash := func(n byte) segment.Hash { return segment.Hash{n} }
	f := layer.NewFacts(2)
	if !f.Removed(hash(1), "a") || f.Removed(hash(1), "a") {
		t.Error("a subject grows the facts once")
	}
	for n := byte(2); n < 20; n++ {
		f.Learn(hash(n), jetlog.SubjectState{First: uint64(n), Last: 30, Count: 2})
	}
	if e, ok := f.Get(hash(1)); !ok || e.Known || e.Gone != 2 {
		t.Errorf("what has gone: got %+v, %v, want 2 of a state that is not known", e, ok)
	}
	kept := 0
	for n := byte(2); n < 20; n++ {
		if _, ok := f.Get(hash(n)); ok {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d entries are kept that nobody needs, want 2", kept)
	}
	f.Learn(hash(1), jetlog.SubjectState{First: 5, Last: 9, Count: 3})
	f.Purged(6)
	if e, _ := f.Get(hash(1)); e.Known || !e.Scan {
		t.Errorf("after a purge into the subject: got %+v, want one to be counted", e)
	}
	changed := map[segment.Hash]string{}
	note := func(h segment.Hash, subject string) { changed[h] = subject }
	f.Changed(note)
	if len(changed) != 1 || changed[hash(1)] != "a" {
		t.Errorf("changed: got %v, want a alone", changed)
	}
	f.Fresh().Changed(note)
	if len(changed) != 1 {
		t.Errorf("fresh facts have something: %v", changed)
	}
}
