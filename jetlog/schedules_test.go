package jetlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/headers"
	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// scheduled returns a stream with some schedules and other messages.
func scheduled(t *testing.T) (*Stream, *Memory) {
	t.Helper()
	s, m := New(1, config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1,
		AllowSchedules: true, AllowRollup: true, Replicas: 1,
	}, 1), NewMemory()
	for i := range 6 {
		c := &command.Publish{Time: 10, Subject: fmt.Sprintf("s.%d", i)}
		if i%2 == 0 {
			c.Header = headers.Build(
				headers.Field{Name: "Nats-Schedule", Value: "@every 1h"}, headers.Field{Name: "Nats-Schedule-Target", Value: "s.out"},
			)
			c.Fire = int64(100 - i)
		}
		if r, err := s.Apply(c, m); err != nil || r.Code != 0 {
			t.Fatal(r, err)
		}
	}
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// TestCheckFindsSchedules breaks one invariant of schedules after the other.
func TestCheckFindsSchedules(t *testing.T) {
	for name, wreck := range map[string]func(s *Stream, m *Memory){
		"index":         func(s *Stream, _ *Memory) { s.schedules.heap[1].index = 2 },
		"order":         func(s *Stream, _ *Memory) { s.schedules.heap[2].at = 1 },
		"table":         func(s *Stream, _ *Memory) { delete(s.schedules.bySubject, "s.0") },
		"heap":          func(s *Stream, _ *Memory) { s.schedules.heap = s.schedules.heap[:2] },
		"no schedule":   func(s *Stream, _ *Memory) { s.schedules.set("s.1", 2, 500) },
		"other subject": func(s *Stream, _ *Memory) { s.schedules.drop("s.0"); s.schedules.set("s.1", 1, 500) },
		"gone":          func(_ *Stream, m *Memory) { m.Remove(&Meta{Sequence: 1}, Deleted) },
	} {
		t.Run(name, func(t *testing.T) {
			s, m := scheduled(t)
			wreck(s, m)
			if err := s.Check(m); err == nil {
				t.Error("nothing is found")
			}
		})
	}
}

// TestTimers compares the timers of schedules with a map, whatever is done to them.
func TestTimers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s schedules
	want := map[string][2]int64{} // sequence and time
	for seq := int64(1); seq < 3000; seq++ {
		subject := fmt.Sprint(rng.IntN(40))
		switch n := rng.IntN(20); {
		case n < 13:
			at := int64(rng.IntN(100))
			s.set(subject, uint64(seq), at)
			want[subject] = [2]int64{seq, at}
		case n < 16:
			s.drop(subject)
			delete(want, subject)
		case n < 19:
			s.gone(subject, uint64(seq-rng.Int64N(3)-1))
			if w, ok := want[subject]; ok && s.bySubject[subject] == nil {
				if w[0] < seq-3 {
					t.Fatalf("%d is gone", w[0])
				}
				delete(want, subject)
			}
		default:
			upTo := seq - rng.Int64N(100)
			s.goneUpTo(uint64(max(upTo, 0)))
			for subject, w := range want {
				if w[0] <= upTo {
					delete(want, subject)
				}
			}
		}
		now := int64(rng.IntN(110) - 5)
		due := s.due(now, 0, nil)
		slices.SortFunc(due, compareTimers)
		n := 0
		for _, w := range want {
			if w[1] <= now {
				n++
			}
		}
		if len(due) != n || len(s.heap) != len(want) || len(s.bySubject) != len(want) {
			t.Fatalf("%d: %d of %d are due, want %d of %d", seq, len(due), len(s.heap), n, len(want))
		}
		for i, timer := range due {
			if w := want[timer.subject]; w != [2]int64{int64(timer.seq), timer.at} || i > 0 && compareTimers(due[i-1], timer) > 0 {
				t.Fatalf("%d: %+v is due, want %v", seq, timer, w)
			}
		}
	}
}

// TestFireForward sees that a schedule never goes back.
func TestFireForward(t *testing.T) {
	s, m := scheduled(t)
	for _, next := range []int64{1, 99, 100} {
		r, err := s.Apply(&command.Fire{Time: 200, Schedule: "s.0", Sequence: 1, Due: 100, Next: next, Subject: "s.out"}, m)
		if err != nil || r.Code != config.BadRequest || s.state.Last != 6 {
			t.Errorf("next at %d: got %+v, %v", next, r, err)
		}
	}
}

// TestRestoreSchedules sees that what cannot be is not restored.
func TestRestoreSchedules(t *testing.T) {
	s, _ := scheduled(t)
	s.postpone(chore{kind: choreAll, filter: Filter{"s.1"}, next: 1, upTo: 5, reason: Purged})
	for name, wreck := range map[string]func(s *Stream){
		"two of one sequence": func(s *Stream) { s.schedules.heap[1].seq = s.schedules.heap[0].seq },
		"two of one subject":  func(s *Stream) { s.schedules.heap[1].subject = s.schedules.heap[0].subject },
		"kind of a chore":     func(s *Stream) { s.chores[0].kind = choreKinds },
		"reason of a chore":   func(s *Stream) { s.chores[0].reason = 200 },
	} {
		t.Run(name, func(t *testing.T) {
			other, err := Restore(s.AppendSnapshot(nil))
			if err != nil {
				t.Fatal(err)
			}
			wreck(other)
			if again, err := Restore(other.AppendSnapshot(nil)); err == nil {
				t.Errorf("restored: %+v", again.schedules)
			} else if strings.Contains(err.Error(), "newer") {
				t.Error(err)
			}
		})
	}
	r := codec.NewReader(codec.AppendUint(nil, uint64(1<<40)))
	if s.readChores(&r); r.Err() == nil {
		t.Error("a list that is too long is read")
	}
}

// BenchmarkDueSchedules is what a stream with many schedules is asked when one is due.
func BenchmarkDueSchedules(b *testing.B) {
	b.ReportAllocs()
	var s Stream
	for i := range 100000 {
		s.schedules.set(fmt.Sprint(i), uint64(i+1), int64(i*7919%100003+10))
	}
	for b.Loop() {
		if got := s.DueSchedules(12, 10); len(got) == 0 {
			b.Fatal("none is due")
		}
	}
}
