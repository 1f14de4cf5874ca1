package letters_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"runnel/jetlog/codec"
	"runnel/jetlog/letters"
)

func list(b *letters.Box) (out []letters.Letter) {
	for l := range b.All {
		out = append(out, *l)
	}
	return out
}

func check(t *testing.T, b *letters.Box) {
	t.Helper()
	b.Check(func(format string, args ...any) { t.Errorf(format, args...) })
}

// TestRandom takes random steps with a box and with a plain list, over and over.
func TestRandom(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		b := letters.New(seed + 1)
		var want []letters.Letter
		last := uint64(0)
		drop := func(goes func(letters.Letter) bool) { want = slices.DeleteFunc(want, goes) }
		for step := range 800 {
			seq := 1 + uint64(rng.IntN(60))
			there := slices.ContainsFunc(want, func(l letters.Letter) bool { return l.Sequence == seq })
			switch n := rng.IntN(100); {
			case n < 60:
				l := letters.Letter{Sequence: seq, Consumer: seq, Reason: letters.Expired, Text: "why", Deliveries: 2, First: 3, Last: 4, Time: int64(step)}
				b.Add(l)
				if !there {
					last++
					l.Number = last
					want = append(want, l)
				}
			case n < 80:
				if b.Remove(seq) != there {
					t.Fatalf("seed %d, step %d: removed %v", seed, step, !there)
				}
				drop(func(l letters.Letter) bool { return l.Sequence == seq })
			case n < 90:
				upTo := last - min(last, uint64(rng.IntN(20)))
				if got := b.UpTo(upTo); len(got) > 0 && got[len(got)-1].Number > upTo {
					t.Fatalf("seed %d, step %d: up to %d: %+v", seed, step, upTo, got)
				}
				b.Handed(upTo)
				drop(func(l letters.Letter) bool { return l.Number <= upTo })
			case n < 94:
				b.Retain(func(seq uint64) bool { return seq%5 != 0 })
				drop(func(l letters.Letter) bool { return l.Sequence%5 == 0 })
			case n < 97:
				b = b.Clone()
			default:
				next := letters.New(0)
				r := codec.NewReader(b.AppendSnapshot(nil))
				if !next.Restore(&r) || r.End() != nil {
					t.Fatalf("seed %d, step %d: not restored: %v", seed, step, r.End())
				}
				b = next
			}
			check(t, b)
			if got := list(b); !slices.Equal(got, want) || b.Len() != len(want) || b.Last() != last || b.ID() != seed+1 {
				t.Fatalf("seed %d, step %d: got %v\nwant %v", seed, step, got, want)
			}
			var sequences []uint64
			for _, l := range want {
				sequences = append(sequences, l.Sequence)
			}
			slices.Sort(sequences)
			if got := b.Sequences(); !slices.Equal(got, sequences) || b.Has(seq) != slices.Contains(sequences, seq) {
				t.Fatalf("seed %d, step %d: sequences %v, want %v", seed, step, got, sequences)
			}
			if l := b.Lowest(); (l == nil) != (len(want) == 0) || l != nil && l.Sequence != sequences[0] {
				t.Fatalf("seed %d, step %d: the lowest is %+v", seed, step, l)
			}
		}
	}
}

// Who has no box may ask too.
func TestNil(t *testing.T) {
	var b *letters.Box
	b.Retain(func(uint64) bool { return true })
	check(t, b)
	if b.Len() != 0 || b.Has(1) || b.Remove(1) || b.Lowest() != nil || b.ID() != 0 || b.Last() != 0 || b.Clone() != nil ||
		list(b) != nil || b.Sequences() != nil || b.UpTo(9) != nil {
		t.Error("the nil box has something")
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("ä", letters.TextMax)
	for text, want := range map[string]string{
		"": "", " it broke\r\nX: y\x00 ": "it broke  X: y", "bad \xff byte": "bad   byte",
		long: long[:letters.TextMax], "x" + long: ("x" + long)[:letters.TextMax-1],
	} {
		if got := letters.Clip(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%.20q: got %q (%d bytes), want %q", text, got, len(got), want)
		}
	}
}

func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := letters.MaxDeliver; r <= letters.Filter; r++ {
		seen[r.String()] = true
	}
	if len(seen) != 5 || seen["unknown"] || letters.Reason(0).String() != "unknown" {
		t.Errorf("reasons are %v", seen)
	}
}

func TestRestoreRefuses(t *testing.T) {
	b := letters.New(7)
	for seq := range uint64(4) {
		b.Add(letters.Letter{Sequence: 10 - seq, Consumer: 1, Reason: letters.Terminated, Text: "t", Deliveries: 1, First: 1, Last: 2, Time: 3})
	}
	data := b.AppendSnapshot(nil)
	for n := range data {
		r := codec.NewReader(data[:n])
		if letters.New(0).Restore(&r) && r.End() == nil {
			t.Errorf("restored of %d of %d bytes", n, len(data))
		}
	}
	for name, data := range map[string][]byte{
		"number 0":             {1, 5, 1, 0, 3, 1, 1, 0, 1, 0, 0, 0},
		"number above last":    {1, 5, 1, 6, 3, 1, 1, 0, 1, 0, 0, 0},
		"sequence 0":           {1, 5, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0},
		"no reason":            {1, 5, 1, 1, 3, 1, 0, 0, 1, 0, 0, 0},
		"unknown reason":       {1, 5, 1, 1, 3, 1, 9, 0, 1, 0, 0, 0},
		"one message twice":    {1, 5, 2, 1, 3, 1, 1, 0, 1, 0, 0, 0, 1, 3, 1, 1, 0, 1, 0, 0, 0},
		"numbers of one value": {1, 5, 2, 1, 3, 1, 1, 0, 1, 0, 0, 0, 0, 4, 1, 1, 0, 1, 0, 0, 0},
	} {
		r := codec.NewReader(data)
		if letters.New(0).Restore(&r) {
			t.Errorf("%s: restored", name)
		}
	}
}

func TestKept(t *testing.T) {
	var k letters.Kept
	if k.Has(1) || k.Len() != 0 {
		t.Error("something is kept at first")
	}
	k.Add(5, letters.Reserve{Bytes: 100, Why: 2})
	k.Add(3, letters.Reserve{Bytes: 10, Why: 1})
	k.Add(5, letters.Reserve{Bytes: 999, Why: 3, Ended: true})
	bytes := func() uint64 {
		_, n := new(letters.Staged).Count(&k)
		return n
	}
	if r, kept := k.Get(5); !kept || r != (letters.Reserve{Bytes: 100, Why: 2, Ended: true}) || bytes() != 110 || k.Len() != 2 {
		t.Errorf("got %+v %v, %d bytes", r, kept, bytes())
	}
	var g letters.Staged
	g.Spare(9, 7)
	g.Go(10)
	if n, size := g.Count(&k); n != 2 || size != 107 || !g.Has(9) || g.Has(5) {
		t.Errorf("staged are %d with %d bytes", n, size)
	}
	data := k.AppendSnapshot(nil)
	var next letters.Kept
	r := codec.NewReader(data)
	if !next.Restore(&r) || r.End() != nil || !reflect.DeepEqual(next, k) {
		t.Errorf("restored %+v, want %+v", next, k)
	}
	for n := range data {
		var part letters.Kept
		r := codec.NewReader(data[:n])
		if part.Restore(&r) && r.End() == nil {
			t.Errorf("restored of %d of %d bytes", n, len(data))
		}
	}
	r = codec.NewReader([]byte{2, 3, 1, 1, 0, 0, 1, 1, 0})
	if new(letters.Kept).Restore(&r) {
		t.Error("one message is restored twice")
	}
	k.Remove(5)
	k.Remove(5)
	if k.Retain(func(seq uint64) bool { return seq == 3 }); bytes() != 10 || k.Len() != 1 {
		t.Errorf("left: %d with %d bytes", k.Len(), bytes())
	}
	if k.Retain(func(uint64) bool { return false }); k.Len() != 0 || bytes() != 0 {
		t.Errorf("left: %d with %d bytes", k.Len(), bytes())
	}
}

// BenchmarkBox is a letter that is added and handed over, among others that wait.
func BenchmarkBox(b *testing.B) {
	for _, n := range []uint64{1, letters.Waiting} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			box := letters.New(1)
			b.ReportAllocs()
			for seq := uint64(1); b.Loop(); seq++ {
				box.Add(letters.Letter{Sequence: seq, Consumer: seq, Reason: letters.MaxDeliver})
				if seq > n && seq%256 == 0 {
					box.Handed(seq - n)
				}
			}
		})
	}
}
