package body_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/body"
)

// plain is a body in its plainest form: a map, and every question answered by looking at all of it.
type plain map[uint64]body.Meta

func (p plain) matching(filter body.Filter, from, to uint64) []uint64 {
	var out []uint64
	for _, seq := range slices.Sorted(maps.Keys(p)) {
		if from <= seq && seq <= to && filter.Matches(p[seq].Subject) {
			out = append(out, seq)
		}
	}
	return out
}

func first(list []uint64) uint64 {
	if len(list) == 0 {
		return 0
	}
	return list[0]
}

const top = ^uint64(0)

// TestMemory changes a body at random, with holes of every length, and asks all questions.
func TestMemory(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m, p := body.NewMemory(), plain{}
		next := uint64(1)
		for step := range 400 {
			switch n := rng.IntN(10); {
			case n < 6 || len(p) == 0:
				if rng.IntN(10) == 0 {
					next += rng.Uint64N(1 << rng.IntN(40))
				}
				add(m, p, next, fmt.Sprintf("s.%d.%d", rng.IntN(3), rng.IntN(3)), int64(step/2))
				next++
			case n < 9:
				live := p.matching(nil, 0, top)
				meta := p[live[rng.IntN(len(live))]]
				m.Remove(&meta, body.Deleted)
				delete(p, meta.Sequence)
			default:
				live := p.matching(nil, 0, top)
				to := live[rng.IntN(1+len(live)/4)]
				m.RemoveRange(0, to, body.Purged)
				for _, seq := range p.matching(nil, 0, to) {
					delete(p, seq)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
			ask(t, rng, m, p, next)
		}
	}
}

func add(m *body.Memory, p plain, seq uint64, subject string, time int64) {
	message := body.Message{Sequence: seq, Time: time, Subject: subject, Payload: []byte("payload")}
	meta := body.Meta{Sequence: seq, Time: time, Subject: subject, Bytes: seq % 100, Expires: int64(seq % 3)}
	m.Append(&message, &meta)
	p[seq] = meta
}

// ask compares the answers to all questions about some sequence and some filter.
func ask(t *testing.T, rng *rand.Rand, m *body.Memory, p plain, next uint64) {
	t.Helper()
	seq := rng.Uint64N(next + 2)
	if live := p.matching(nil, 0, top); len(live) > 0 && rng.IntN(2) == 0 {
		seq = live[rng.IntN(len(live))] + rng.Uint64N(3) - 1
	}
	filters := []body.Filter{nil, {">"}, {"s.1.1"}, {"s.*.2"}, {"s.1.*", "s.*.1"}, {"s.none"}, {"none.>"}}
	f := filters[rng.IntN(len(filters))]
	where := fmt.Sprintf("filter %v, sequence %d", f, seq)
	equal := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s: got %v, want %v", where, what, got, want)
		}
	}
	meta, _ := m.Meta(seq)
	equal("Meta", meta, p[seq])
	message, _ := m.Load(seq)
	equal("Load", message.Sequence, p[seq].Sequence)
	got, _ := m.Next(seq)
	equal("Next", got, first(p.matching(nil, seq, top)))
	got, _ = m.NextOf(f, seq)
	equal("NextOf", got, first(p.matching(f, seq, top)))
	got, _ = m.LastOf(f, seq)
	before := p.matching(f, 0, seq)
	slices.Reverse(before)
	equal("LastOf", got, first(before))
	got, _ = m.Count(f, seq)
	equal("Count", got, uint64(len(p.matching(f, seq, top))))
	messages, bytes, _ := m.Size(seq/2, seq)
	sum := uint64(0)
	for _, s := range p.matching(nil, seq/2, seq) {
		sum += p[s].Bytes
	}
	equal("Size", [2]uint64{messages, bytes}, [2]uint64{uint64(len(p.matching(nil, seq/2, seq))), sum})
	at := int64(rng.IntN(210))
	got, _ = m.FirstAfter(at)
	later := p.matching(nil, 0, top)
	later = slices.DeleteFunc(later, func(s uint64) bool { return p[s].Time < at })
	equal("FirstAfter", got, first(later))
	askSubjects(t, m, p, f)
}

func askSubjects(t *testing.T, m *body.Memory, p plain, f body.Filter) {
	t.Helper()
	want := map[string]body.SubjectState{}
	for _, seq := range p.matching(f, 0, top) {
		s := want[p[seq].Subject]
		if s.Count == 0 {
			s.First = seq
		}
		want[p[seq].Subject] = body.SubjectState{First: s.First, Last: seq, Count: s.Count + 1}
	}
	var names []string
	if err := m.Subjects(f, func(subject string, state body.SubjectState) bool {
		names = append(names, subject)
		one, _ := m.Subject(subject)
		if state != want[subject] || one != state {
			t.Errorf("filter %v: %s is %+v and %+v, want %+v", f, subject, state, one, want[subject])
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(names, sorted) {
		t.Errorf("filter %v: subjects %v, want %v", f, names, sorted)
	}
	stopped := 0
	_ = m.Subjects(f, func(string, body.SubjectState) bool {
		stopped++
		return false
	})
	if stopped > 1 {
		t.Errorf("filter %v: %d subjects after the first", f, stopped-1)
	}
}

func TestMemoryIDs(t *testing.T) {
	m := body.NewMemory()
	want := func(id string, seq uint64, time int64) {
		t.Helper()
		gotSeq, gotTime, err := m.MessageID([]byte(id))
		if gotSeq != seq || gotTime != time || err != nil {
			t.Errorf("%s: got %d at %d, %v, want %d at %d", id, gotSeq, gotTime, err, seq, time)
		}
	}
	m.Remember([]byte("a"), 1, 10)
	m.Remember([]byte("b"), 2, 20)
	m.Remember([]byte("a"), 3, 30)
	want("a", 3, 30)
	want("none", 0, 0)
	m.Forget(20)
	want("a", 3, 30)
	want("b", 2, 20)
	m.Forget(30)
	want("a", 3, 30)
	want("b", 0, 0)
	m.Forget(31)
	want("a", 0, 0)
}

// TestMemoryHole sees that a message that outlives billions of others costs no memory for them.
func TestMemoryHole(t *testing.T) {
	m, p := body.NewMemory(), plain{}
	add(m, p, 1, "s.old", 1)
	add(m, p, 1<<60, "s.new", 2)
	for _, seq := range []uint64{0, 1, 2, 1 << 59, 1 << 60, 1<<60 + 1} {
		if got, _ := m.Next(seq); got != first(p.matching(nil, seq, top)) {
			t.Errorf("Next(%d): got %d", seq, got)
		}
		if got, _ := m.Count(nil, seq); got != uint64(len(p.matching(nil, seq, top))) {
			t.Errorf("Count from %d: got %d", seq, got)
		}
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		filter   body.Filter
		all      bool
		literal  string
		subject  string
		matching bool
	}{
		{nil, true, "", "a.b", true},
		{body.Filter{">"}, true, "", "a.b", true},
		{body.Filter{"a.b"}, false, "a.b", "a.b", true},
		{body.Filter{"a.b"}, false, "a.b", "a.c", false},
		{body.Filter{"a.*", "*.b"}, false, "", "x.b", true},
		{body.Filter{"a.*", "*.b"}, false, "", "x.c", false},
	}
	for _, tt := range tests {
		literal, _ := tt.filter.Literal()
		if tt.filter.All() != tt.all || literal != tt.literal || tt.filter.Matches(tt.subject) != tt.matching {
			t.Errorf("%v: all %v, literal %q, matches %s %v", tt.filter, tt.filter.All(), literal, tt.subject,
				tt.filter.Matches(tt.subject))
		}
	}
}
