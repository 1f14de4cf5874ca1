package causes_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/causes"
	"runnel/jetlog/codec"
)

func source(n int) causes.Source {
	return causes.Source{ID: 7, Stream: "S", Consumer: fmt.Sprint("c", n%2), Incarnation: uint64(n / 2)}
}

func cause(n int, seq uint64) *causes.Cause { return &causes.Cause{Source: source(n), Sequence: seq} }

// check fails if the table is not sound, or is another one after a snapshot.
func check(t *testing.T, table *causes.Table, last uint64) {
	t.Helper()
	if err := table.Check(last); err != nil {
		t.Fatal(err)
	}
	data := table.AppendSnapshot(nil)
	var again causes.Table
	r := codec.NewReader(data)
	if !again.Restore(&r) || r.End() != nil {
		t.Fatalf("a snapshot is not restored: %v", r.Err())
	}
	if err := again.Check(last); err != nil {
		t.Fatalf("restored: %v", err)
	}
	if !bytes.Equal(again.AppendSnapshot(nil), data) || again.Owed() != table.Owed() || again.Paid() != table.Paid() {
		t.Fatal("the restored table is another one")
	}
}

func TestTable(t *testing.T) {
	var table causes.Table
	check(t, &table, 0)
	table.Owe(cause(0, 5), 10)
	table.Owe(cause(1, 5), 11)
	table.Note(cause(0, 6), 12)
	table.Owe(cause(0, 3), 20)
	check(t, &table, 20)
	for _, c := range []struct {
		about string
		cause *causes.Cause
		want  uint64
	}{
		{"owed", cause(0, 5), 10},
		{"owed to another consumer", cause(1, 5), 11},
		{"paid at once", cause(0, 6), 12},
		{"out of order", cause(0, 3), 20},
		{"another sequence", cause(0, 4), 0},
		{"another incarnation", cause(2, 5), 0},
	} {
		if here, known := table.Find(c.cause); here != c.want || known != (c.want != 0) {
			t.Errorf("%s: got %d, %v, want %d", c.about, here, known, c.want)
		}
	}
	if n := table.Pay(source(0), []uint64{3, 5, 5, 6, 99}); n != 2 {
		t.Errorf("%d were owed, want 2", n)
	}
	if n := table.Pay(source(9), []uint64{3}); n != 0 {
		t.Errorf("%d were owed to nobody", n)
	}
	check(t, &table, 20)
	var owed []uint64
	for d := range table.Debts {
		owed = append(owed, d.Here)
	}
	if !slices.Equal(owed, []uint64{11}) || table.Owed() != 1 || table.Paid() != 3 || table.Len() != 4 {
		t.Errorf("owed are %v, paid %d", owed, table.Paid())
	}
	if here, known := table.Find(cause(0, 5)); !known || here != 10 {
		t.Errorf("what is paid is not known any more: %d", here)
	}
	for range table.Debts {
		break
	}
}

// TestForgetting pays more than is remembered: the first messages are forgotten, and their sources with them.
func TestForgetting(t *testing.T) {
	var table causes.Table
	for i := range uint64(causes.PaidMost + 10) {
		table.Note(cause(int(min(i/5, 8)), i+1), i+1)
	}
	check(t, &table, causes.PaidMost+10)
	late, early := cause(0, 1), cause(0, 1)
	early.Paid = 11
	if _, known := table.Find(late); known || !table.Late(late) || table.Late(early) {
		t.Errorf("known %v, late %v and %v", known, table.Late(late), table.Late(early))
	}
	if _, known := table.Find(cause(8, causes.PaidMost)); !known || table.Len() != causes.PaidMost {
		t.Errorf("the last is forgotten, or too much is known: %d", table.Len())
	}
}

func TestFull(t *testing.T) {
	var table causes.Table
	for i := range uint64(causes.OwedMost) {
		if table.Full() {
			t.Fatalf("full with %d", i)
		}
		table.Owe(cause(0, i+1), i+1)
	}
	if !table.Full() {
		t.Error("there is room for more")
	}
	if n := table.Pay(source(0), []uint64{1}); n != 1 || table.Full() {
		t.Errorf("%d paid, full is %v", n, table.Full())
	}
}

// TestRandom compares the table with lists of everything.
func TestRandom(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var table causes.Table
		owed := map[causes.Cause]uint64{}
		all := map[causes.Cause]uint64{}
		here := uint64(0)
		for range 400 {
			c := *cause(rng.IntN(6), uint64(1+rng.IntN(60)))
			at, known := table.Find(&c)
			if want, is := all[c]; is != known || at != want {
				t.Fatalf("seed %d: %+v: got %d, want %d", seed, c, at, want)
			}
			switch {
			case known:
				_, was := owed[c]
				if n := table.Pay(c.Source, []uint64{c.Sequence}); (n == 1) != was {
					t.Fatalf("seed %d: %d were paid, owed was %v", seed, n, was)
				}
				delete(owed, c)
			case rng.IntN(4) == 0:
				here += uint64(1 + rng.IntN(3))
				table.Note(&c, here)
				all[c] = here
			default:
				here += uint64(1 + rng.IntN(3))
				table.Owe(&c, here)
				all[c], owed[c] = here, here
			}
			if table.Owed() != len(owed) || table.Len() != len(all) {
				t.Fatalf("seed %d: %d of %d are owed, want %d of %d", seed, table.Owed(), table.Len(), len(owed), len(all))
			}
		}
		check(t, &table, here)
	}
}

func TestUnsoundSnapshots(t *testing.T) {
	one := (&causes.Source{Stream: "S", Consumer: "c"}).Append([]byte{1})
	for name, data := range map[string][]byte{
		"no such source":          {0, 1, 0, 5, 5, 0, 0},
		"a source without use":    append(slices.Clone(one), 0, 0, 0),
		"a sequence 0":            append(slices.Clone(one), 1, 0, 5, 0, 0, 0),
		"twice":                   append(slices.Clone(one), 2, 0, 5, 1, 0, 5, 1, 0, 0),
		"paid and owed":           append(slices.Clone(one), 1, 0, 5, 1, 1, 0, 5, 1, 1),
		"more paid than in all":   append(slices.Clone(one), 0, 1, 0, 5, 1, 0),
		"cut off":                 append(slices.Clone(one), 1, 0, 5),
		"a list that is too long": {0, 0xff, 0xff, 0xff, 0x7f},
	} {
		var table causes.Table
		r := codec.NewReader(data)
		if table.Restore(&r) && r.End() == nil {
			t.Errorf("%s: restored", name)
		}
	}
}

func FuzzRestore(f *testing.F) {
	var table causes.Table
	table.Owe(cause(0, 5), 10)
	table.Note(cause(1, 5), 11)
	f.Add(table.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var table causes.Table
		r := codec.NewReader(data)
		if table.Restore(&r) && r.End() == nil {
			if err := table.Check(^uint64(0)); err != nil {
				t.Error(err)
			}
			r := codec.NewReader(table.AppendSnapshot(nil))
			var again causes.Table
			if !again.Restore(&r) || again.Len() != table.Len() {
				t.Errorf("%q is restored to what cannot be", data)
			}
		}
	})
}

func BenchmarkOweAndPay(b *testing.B) {
	var table causes.Table
	s := source(0)
	const batch = 256
	seqs := make([]uint64, batch)
	b.ReportAllocs()
	for i := uint64(1); b.Loop(); i++ {
		c := causes.Cause{Source: s, Sequence: i, Paid: table.Paid()}
		if _, known := table.Find(&c); known || table.Late(&c) {
			b.Fatal(i)
		}
		table.Owe(&c, i)
		seqs[i%batch] = i
		if i%batch == 0 {
			table.Pay(s, seqs)
		}
	}
}
