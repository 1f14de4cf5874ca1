package subjects_test

import (
	"fmt"
	"runtime"
	"testing"

	"runnel/subjects"
)

// bigTree has 10,000 literal subjects and as many wildcard patterns.
func bigTree() *subjects.Tree[int] {
	tree := subjects.NewTree[int]()
	for i := range 10000 {
		tree.Insert(newEntry(fmt.Sprintf("orders.%d.created", i), i))
		tree.Insert(newEntry(fmt.Sprintf("_INBOX.%d.*", i), i))
	}
	tree.Insert(newEntry("orders.*.created", -1))
	tree.Insert(newEntry("orders.>", -2))
	return tree
}

func BenchmarkTreeMatch(b *testing.B) {
	tree := bigTree()
	for name, subject := range map[string]string{
		"literal":  "orders.4711.created",
		"wildcard": "_INBOX.4711.x",
		"none":     "prices.4711.x",
	} {
		b.Run(name, func(b *testing.B) {
			out := make([]*subjects.Entry[int], 0, 8)
			s := []byte(subject)
			b.ReportAllocs()
			for b.Loop() {
				out = tree.Match(s, out[:0])
			}
		})
	}
}

func BenchmarkTreeMatchPrefix(b *testing.B) {
	tree := bigTree()
	out := make([]*subjects.Entry[int], 0, 8)
	prefix := []byte("_INBOX.4711.")
	b.ReportAllocs()
	for b.Loop() {
		out, _ = tree.MatchPrefix(prefix, out[:0])
	}
}

func BenchmarkTreeInsertRemove(b *testing.B) {
	tree := bigTree()
	for _, pattern := range []string{"orders.new.created", "orders.4711.created", "_INBOX.new.*"} {
		b.Run(pattern, func(b *testing.B) {
			e := newEntry(pattern, 0)
			b.ReportAllocs()
			for b.Loop() {
				tree.Insert(e)
				tree.Remove(e)
			}
		})
	}
}

func BenchmarkStamp(b *testing.B) {
	tree := bigTree()
	subject := []byte("orders.4711.created")
	b.ReportAllocs()
	for b.Loop() {
		if s := tree.Stamp(subject); !s.Valid() {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkStampValid(b *testing.B) {
	stamp := bigTree().Stamp([]byte("orders.4711.created"))
	b.ReportAllocs()
	for b.Loop() {
		if !stamp.Valid() {
			b.Fatal("not valid")
		}
	}
}

func BenchmarkHash(b *testing.B) {
	subject := []byte("orders.4711.created")
	b.ReportAllocs()
	for b.Loop() {
		subjects.Hash(subject)
	}
}

// TestTreeMemory keeps the cost of a literal subscription, on top of its entry,
// within its budget.
func TestTreeMemory(t *testing.T) {
	const n, budget = 100000, 100
	entries := make([]subjects.Entry[int], n)
	for i := range entries {
		entries[i].Subject = fmt.Sprintf("orders.%d.created", i)
	}
	before := heapBytes()
	tree := subjects.NewTree[int]()
	for i := range entries {
		tree.Insert(&entries[i])
	}
	each := (heapBytes() - before) / n
	t.Logf("%d bytes for each literal subject", each)
	if each > budget {
		t.Errorf("%d bytes for each literal subject, want at most %d", each, budget)
	}
	runtime.KeepAlive(tree)
	runtime.KeepAlive(entries)
}

func heapBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
