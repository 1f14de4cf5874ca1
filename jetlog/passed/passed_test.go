package passed_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/passed"
)

func check(t *testing.T, s *passed.Set) {
	t.Helper()
	s.Check(func(format string, args ...any) { t.Errorf(format, args...) })
}

// same compares a set with what is to be in it.
func same(t *testing.T, s *passed.Set, want map[uint64]bool) {
	t.Helper()
	check(t, s)
	if got, want := slices.Collect(s.All), slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) || s.Len() != uint64(len(want)) {
		t.Fatalf("got %d: %v, want %v", s.Len(), got, want)
	}
}

// again returns the set after it was written down and read.
func again(t *testing.T, s *passed.Set) *passed.Set {
	t.Helper()
	data := s.AppendSnapshot(nil)
	r := codec.NewReader(data)
	next := passed.Read(&r)
	if err := r.End(); err != nil {
		t.Fatalf("read: %v", err)
	}
	if got := next.AppendSnapshot(nil); !bytes.Equal(got, data) {
		t.Fatalf("written again it is %x, before %x", got, data)
	}
	return next
}

// TestRandom takes random steps with a set and with a map. What is near together is dense and what is far apart sparse.
func TestRandom(t *testing.T) {
	for seed := range uint64(9) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s, want := &passed.Set{}, map[uint64]bool{}
		span := []uint64{300, 20_000, 1 << 40}[seed%3]
		for step := range 3000 {
			seq := 1 + rng.Uint64N(span)
			switch n := rng.IntN(100); {
			case n < 60:
				for i := range uint64(rng.IntN(4)) {
					s.Add(seq + i)
					want[seq+i] = true
				}
			case n < 98:
				if s.Has(seq) != want[seq] || s.Remove(seq) != want[seq] {
					t.Fatalf("seed %d, step %d: %d is in the set or not", seed, step, seq)
				}
				delete(want, seq)
			case step%200 == 0:
				s.RemoveUpTo(seq / 4)
				maps.DeleteFunc(want, func(have uint64, _ bool) bool { return have <= seq/4 })
			}
			above := uint64(0)
			for have := range want {
				if have > seq {
					above++
				}
			}
			if step%100 == 0 && s.Above(seq) != above {
				t.Fatalf("seed %d, step %d: %d are above %d, want %d", seed, step, s.Above(seq), seq, above)
			}
			if step%300 == 0 {
				same(t, s, want)
				s = again(t, s)
			}
		}
		same(t, s, want)
	}
}

func TestNil(t *testing.T) {
	var s *passed.Set
	if s.Len() != 0 || s.Has(1) || s.Remove(1) || s.Next(0) != 0 || s.Full() || s.Above(0) != 0 {
		t.Error("a nil set is not empty")
	}
	s.RemoveUpTo(9)
	check(t, s)
	if got := again(t, s); got.Len() != 0 {
		t.Errorf("read again: got %d, want none", got.Len())
	}
}

func TestThose(t *testing.T) {
	s := &passed.Set{}
	for seq := uint64(1); seq <= 6; seq++ {
		s.Add(seq)
	}
	even, err := s.Those(func(seq uint64) (bool, error) { return seq%2 == 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	same(t, even, map[uint64]bool{2: true, 4: true, 6: true})
	if none, err := s.Those(func(uint64) (bool, error) { return false, nil }); none != nil || err != nil {
		t.Errorf("none: got %v, %v", none, err)
	}
	want := errors.New("unreadable")
	if _, err := s.Those(func(seq uint64) (bool, error) { return true, want }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestFull is about a set that has as many pages as it may: one sequence in each.
func TestFull(t *testing.T) {
	s := &passed.Set{}
	n := uint64(0)
	for ; !s.Full(); n++ {
		s.Add(1 + n*4096)
	}
	if n != 8192 {
		t.Errorf("full with %d pages, want 8192", n)
	}
	if size := len(s.AppendSnapshot(nil)); size > 5*int(n) {
		t.Errorf("a sparse set takes %d bytes, want 4 for each", size)
	}
	if s.Remove(1); s.Full() {
		t.Error("still full")
	}
}

// TestSize holds what a page takes to what it takes as it is, however it looks.
func TestSize(t *testing.T) {
	for name, every := range map[string]uint64{"all": 1, "every second": 2, "every 33rd": 33, "one": 4096} {
		s := &passed.Set{}
		for seq := uint64(4096); seq < 8192; seq += every {
			s.Add(seq)
		}
		if size := len(s.AppendSnapshot(nil)); size > 520 {
			t.Errorf("%s: %d bytes, want not more than the page itself", name, size)
		}
		again(t, s)
	}
}

func TestDamage(t *testing.T) {
	for name, data := range map[string][]byte{
		"no run":            {1, 1, 0, 0},
		"empty run":         {1, 1, 1, 3, 0},
		"runs that touch":   {1, 1, 2, 0, 1, 0, 1},
		"beyond the page":   {1, 1, 1, 0xff, 0x1f, 2},
		"same page twice":   {2, 1, 1, 0, 1, 0, 1, 0, 1},
		"words for one run": append([]byte{1, 1, 0, 0x80, 4}, bytes.Repeat([]byte{255}, 512)...),
		"cut off":           {1, 1, 1},
		"message 0":         {1, 0, 1, 0, 1},
	} {
		r := codec.NewReader(data)
		if passed.Read(&r); r.End() == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{1, 1, 1, 0, 1})
	f.Add([]byte{2, 0, 1, 5, 1, 3, 2, 0, 1, 7, 9})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := codec.NewReader(data)
		s := passed.Read(&r)
		if r.End() != nil {
			return
		}
		check(t, s)
		if got := s.AppendSnapshot(nil); !bytes.Equal(got, data) && len(got) > len(data) {
			t.Errorf("%x became %x", data, got)
		}
	})
}

func BenchmarkPass(b *testing.B) {
	b.ReportAllocs()
	s := &passed.Set{}
	seq := uint64(0)
	for b.Loop() {
		seq++
		s.Add(seq)
		if seq > 1000 {
			s.Remove(seq - 1000)
		}
	}
}
