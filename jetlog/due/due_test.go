package due

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/codec"
)

// TestTimers compares the timers of schedules with a map, whatever is done to them.
func TestTimers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s Table
	want := map[string][2]int64{} // sequence and time
	for seq := int64(1); seq < 3000; seq++ {
		subject := fmt.Sprint(rng.IntN(40))
		switch n := rng.IntN(20); {
		case n < 13:
			at := int64(rng.IntN(100))
			s.Set(subject, uint64(seq), at)
			want[subject] = [2]int64{seq, at}
		case n < 16:
			s.Drop(subject)
			delete(want, subject)
		case n < 19:
			s.Gone(subject, uint64(seq-rng.Int64N(3)-1))
			if w, ok := want[subject]; ok && s.bySubject[subject] == nil {
				if w[0] < seq-3 {
					t.Fatalf("%d is gone", w[0])
				}
				delete(want, subject)
			}
		default:
			upTo := seq - rng.Int64N(100)
			s.GoneUpTo(uint64(max(upTo, 0)))
			for subject, w := range want {
				if w[0] <= upTo {
					delete(want, subject)
				}
			}
		}
		now := int64(rng.IntN(110) - 5)
		due := s.Due(now, 1000)
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
			if w := want[timer.Subject]; w != [2]int64{int64(timer.Sequence), timer.At} || i > 0 && timer.At < due[i-1].At {
				t.Fatalf("%d: %+v is due, want %v", seq, timer, w)
			}
		}
	}
}

// filled returns a table with three schedules.
func filled() *Table {
	var s Table
	for i := range 3 {
		s.Set(fmt.Sprint("s.", i), uint64(i+1), int64(100-i))
	}
	return &s
}

// TestCheckFinds breaks one invariant after the other.
func TestCheckFinds(t *testing.T) {
	for name, wreck := range map[string]func(s *Table){
		"nothing": func(*Table) {},
		"index":   func(s *Table) { s.heap[1].index = 2 },
		"order":   func(s *Table) { s.heap[2].at = 1 },
		"table":   func(s *Table) { delete(s.bySubject, "s.0") },
		"heap":    func(s *Table) { s.heap = s.heap[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			s := filled()
			wreck(s)
			var found strings.Builder
			s.Check(func(format string, args ...any) { fmt.Fprintf(&found, format, args...) })
			if (found.Len() == 0) != (name == "nothing") {
				t.Errorf("found %q", found.String())
			}
		})
	}
}

// TestAsk asks a table what it has.
func TestAsk(t *testing.T) {
	s := filled()
	if d, ok := s.Get("s.1"); !ok || d != (Due{"s.1", 2, 99}) || s.Next() != 98 || s.Len() != 3 {
		t.Errorf("got %+v %v, the next at %d of %d", d, ok, s.Next(), s.Len())
	}
	if _, ok := s.Get("s.9"); ok || new(Table).Next() != 0 {
		t.Error("there is something where nothing is")
	}
	if all := slices.Collect(s.All); len(all) != 3 {
		t.Errorf("all are %v", all)
	}
	for range s.All {
		break
	}
	if due := s.Due(200, 2); len(due) != 2 || due[0].At != 98 || due[1].At != 99 {
		t.Errorf("the first two are %v", due)
	}
}

// TestRestore writes a table down and reads it, and sees that what cannot be is refused.
func TestRestore(t *testing.T) {
	for name, wreck := range map[string]func(s *Table){
		"nothing":             func(*Table) {},
		"two of one sequence": func(s *Table) { s.heap[1].seq = s.heap[0].seq },
		"two of one subject":  func(s *Table) { s.heap[1].subject = s.heap[0].subject },
	} {
		t.Run(name, func(t *testing.T) {
			s := filled()
			wreck(s)
			r := codec.NewReader(s.AppendSnapshot(nil))
			var again Table
			if sound := again.Restore(&r); sound != (name == "nothing") || sound && !slices.Equal(again.Due(200, 9), s.Due(200, 9)) {
				t.Errorf("restored: %v, %v", sound, again.Due(200, 9))
			}
		})
	}
}

// BenchmarkDue is what a stream with many schedules is asked when one is due.
func BenchmarkDue(b *testing.B) {
	b.ReportAllocs()
	var s Table
	for i := range 100000 {
		s.Set(fmt.Sprint(i), uint64(i+1), int64(i*7919%100003+10))
	}
	for b.Loop() {
		if got := s.Due(12, 10); len(got) == 0 {
			b.Fatal("none is due")
		}
	}
}
