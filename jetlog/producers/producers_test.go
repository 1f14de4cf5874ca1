package producers_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/producers"
)

func TestJudge(t *testing.T) {
	var table producers.Table
	table.Note([]byte("p"), producers.Mark{Number: 7, Sequence: 70})
	for _, c := range []struct {
		about, name string
		number      uint64
		want        producers.Verdict
	}{
		{"the next", "p", 8, producers.Next},
		{"the last again", "p", 7, producers.Duplicate},
		{"an old one", "p", 1, producers.Duplicate},
		{"one too far", "p", 9, producers.Gap},
		{"a new producer begins anywhere", "q", 1000, producers.Next},
		{"names differ by case", "P", 7, producers.Next},
	} {
		t.Run(c.about, func(t *testing.T) {
			got, last := table.Judge([]byte(c.name), c.number)
			if got != c.want {
				t.Errorf("got verdict %d, want %d", got, c.want)
			}
			if c.name == "p" && last != (producers.Mark{Number: 7, Sequence: 70}) {
				t.Errorf("got mark %+v", last)
			}
		})
	}
}

// TestForget forgets a producer only as long as it is where it was seen.
func TestForget(t *testing.T) {
	var table producers.Table
	if _, known := table.Get("p"); known || table.Forget("p", 0) {
		t.Error("nobody is known")
	}
	table.Note([]byte("p"), producers.Mark{Number: 7, Sequence: 70})
	before := table.Clone()
	if table.Forget("p", 6) || table.Len() != 1 {
		t.Error("a producer that has gone on is forgotten")
	}
	if m, known := table.Get("p"); !known || m != (producers.Mark{Number: 7, Sequence: 70}) {
		t.Errorf("got %+v, %v", m, known)
	}
	if !table.Forget("p", 7) || table.Len() != 0 {
		t.Error("an idle producer is not forgotten")
	}
	if _, known := before.Get("p"); !known {
		t.Error("the copy has forgotten it too")
	}
	if got, _ := table.Judge([]byte("p"), 1); got != producers.Next {
		t.Errorf("a forgotten producer begins anywhere: got verdict %d", got)
	}
}

func TestTheLargestNumber(t *testing.T) {
	var table producers.Table
	most := ^uint64(0)
	table.Note([]byte("p"), producers.Mark{Number: most})
	for _, number := range []uint64{0, 1, most} {
		if got, _ := table.Judge([]byte("p"), number); got != producers.Duplicate {
			t.Errorf("number %d: got verdict %d, want a duplicate", number, got)
		}
	}
}

func TestFullTableKnowsThoseItHas(t *testing.T) {
	var table producers.Table
	for i := range producers.Most {
		table.Note(fmt.Append(nil, i), producers.Mark{Number: 1})
	}
	if got, _ := table.Judge([]byte("new"), 1); got != producers.Full {
		t.Errorf("a new producer: got verdict %d, want %d", got, producers.Full)
	}
	if got, _ := table.Judge([]byte("17"), 2); got != producers.Next {
		t.Errorf("a known producer: got verdict %d, want %d", got, producers.Next)
	}
}

func TestSnapshot(t *testing.T) {
	var table producers.Table
	for _, name := range []string{"c", "a", "b"} {
		table.Note([]byte(name), producers.Mark{Number: uint64(name[0]), Sequence: 5})
	}
	data := table.AppendSnapshot(nil)
	r := codec.NewReader(data)
	var again producers.Table
	if !again.Restore(&r) || r.End() != nil {
		t.Fatalf("a snapshot is not restored: %v", r.Err())
	}
	if !bytes.Equal(again.AppendSnapshot(nil), data) || again.Len() != 3 {
		t.Error("the restored table is another one")
	}
	var names []string
	for name := range again.All {
		names = append(names, name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("names are not in order: %q", names)
	}
	for name := range again.All {
		if name != "a" {
			t.Errorf("went on to %q", name)
		}
		break
	}
}

func TestUnsoundSnapshots(t *testing.T) {
	twice := codec.AppendUint(nil, uint64(2))
	for range 2 {
		twice = codec.AppendUint(codec.AppendUint(codec.AppendBytes(twice, "a"), uint64(1)), uint64(1))
	}
	r := codec.NewReader(twice)
	var table producers.Table
	if table.Restore(&r) {
		t.Error("a snapshot with a name twice is sound")
	}
	r = codec.NewReader(codec.AppendUint(nil, uint64(1)<<40))
	if table.Restore(&r); r.Err() == nil {
		t.Error("a count without entries is read")
	}
}

func FuzzRestore(f *testing.F) {
	var table producers.Table
	table.Note([]byte("p"), producers.Mark{Number: 1, Sequence: 2})
	f.Add(table.AppendSnapshot(nil))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := codec.NewReader(data)
		var table producers.Table
		if table.Restore(&r) && r.End() == nil {
			r := codec.NewReader(table.AppendSnapshot(nil))
			var again producers.Table
			if !again.Restore(&r) || again.Len() != table.Len() {
				t.Errorf("%q is restored to what cannot be", data)
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	var table producers.Table
	for i := range 10000 {
		table.Note(fmt.Append(nil, i), producers.Mark{Number: 1})
	}
	name := []byte("5000")
	b.ReportAllocs()
	for i := uint64(2); b.Loop(); i++ {
		if v, _ := table.Judge(name, i); v != producers.Next {
			b.Fatal(v)
		}
		table.Note(name, producers.Mark{Number: i, Sequence: i})
	}
}
