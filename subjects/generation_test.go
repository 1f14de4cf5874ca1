package subjects_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"runnel/subjects"
)

func TestStampZeroValueIsInvalid(t *testing.T) {
	var s subjects.Stamp
	if s.Valid() {
		t.Error("the zero stamp is valid")
	}
}

// TestStampSeesEveryChange checks for all pairs of pattern and subject that a
// change which matters ends the stamp, of the subject and of its prefix.
func TestStampSeesEveryChange(t *testing.T) {
	tree := subjects.NewTree[int]()
	for _, pattern := range patterns() {
		for _, subject := range universe() {
			e := newEntry(pattern, 0)
			before := tree.Stamp([]byte(subject))
			if !before.Valid() {
				t.Fatalf("a new stamp for %q is not valid", subject)
			}
			tree.Insert(e)
			between := tree.Stamp([]byte(subject))
			matters := naiveMatch(pattern, subject)
			if matters && before.Valid() {
				t.Fatalf("the stamp for %q is valid after Insert(%q)", subject, pattern)
			}
			tree.Remove(e)
			if matters && between.Valid() {
				t.Fatalf("the stamp for %q is valid after Remove(%q)", subject, pattern)
			}
		}
	}
}

func TestStampOfPrefixSeesEveryChange(t *testing.T) {
	tree := subjects.NewTree[int]()
	for _, pattern := range patterns() {
		for _, prefix := range universe() {
			prefix := []byte(prefix + ".")
			stamp := tree.Stamp(prefix)
			before, uniformBefore := tree.MatchPrefix(prefix, nil)
			e := newEntry(pattern, 0)
			tree.Insert(e)
			after, uniformAfter := tree.MatchPrefix(prefix, nil)
			changed := uniformBefore != uniformAfter || !slices.Equal(before, after)
			if changed && stamp.Valid() {
				t.Fatalf("the stamp for %q is valid after Insert(%q)", prefix, pattern)
			}
			tree.Remove(e)
		}
	}
}

// TestStampSurvivesOtherChanges is about what sharding is for: it must hold for
// nearly all pairs of subjects.
func TestStampSurvivesOtherChanges(t *testing.T) {
	tree := subjects.NewTree[int]()
	for i := range 2 * subjects.ManyEntries {
		tree.Insert(newEntry(fmt.Sprint("fill.", i), i))
	}
	tests := []struct{ subject, pattern string }{
		{"orders.eu.1", "orders.%d.*"},
		{"orders.eu.1", "orders.%d"},
		{"orders.eu.1", "x%d.*"},
		{"orders.eu.1", "x%d"},
		{"orders", "orders.%d"},
		{"_INBOX.a.1", "_INBOX.%d.*"},
	}
	for _, tt := range tests {
		lost := 0
		for i := range 1000 {
			stamp := tree.Stamp([]byte(tt.subject))
			tree.Insert(newEntry(fmt.Sprintf(tt.pattern, i), i))
			if !stamp.Valid() {
				lost++
			}
		}
		if lost > 10 {
			t.Errorf("%d of 1000 inserts of %q ended the stamp for %q", lost, tt.pattern, tt.subject)
		}
	}
}

// almostMany returns a tree that moves to many counters with its next entry.
func almostMany() *subjects.Tree[int] {
	tree := subjects.NewTree[int]()
	for i := range subjects.ManyEntries - 1 {
		tree.Insert(newEntry("fill", i))
	}
	return tree
}

func TestStampEndsWhenTheTreeGrows(t *testing.T) {
	tree := almostMany()
	stamps := make([]subjects.Stamp, 1000)
	for i := range stamps {
		stamps[i] = tree.Stamp(fmt.Appendf(nil, "a.%d", i))
	}
	tree.Insert(newEntry("fill", 0))
	for i := range stamps {
		if stamps[i].Valid() {
			t.Fatal("a stamp on the few counters is valid after the tree has moved to many")
		}
	}
}

// TestStampDuringGrowth takes stamps while the counters are exchanged. None may
// be blind to a later change.
func TestStampDuringGrowth(t *testing.T) {
	for range 300 {
		tree := almostMany()
		started, grown := make(chan struct{}), make(chan struct{})
		var stamps [256]subjects.Stamp // the last ones
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				stamps[i%len(stamps)] = tree.Stamp([]byte("a.b"))
				if i == len(stamps) {
					close(started)
				}
				if i%64 != 0 || i < len(stamps) {
					continue
				}
				select {
				case <-grown:
					return
				default:
				}
			}
		})
		<-started
		tree.Insert(newEntry("fill", 0))
		close(grown)
		wg.Wait()
		tree.Insert(newEntry("a.*", 0))
		for i := range stamps {
			if stamps[i].Valid() {
				t.Fatal("a stamp taken during the growth is valid after an insert")
			}
		}
	}
}

// TestStampBeforeMatch is the promise that caches rely on. Readers keep the
// last result as long as its stamp is valid; once an insert or a remove has
// returned, nobody may use a result from before it.
func TestStampBeforeMatch(t *testing.T) {
	tree := subjects.NewTree[int]()
	subject := []byte("a.b.c")
	var inserted, removed atomic.Int64 // values below were changed by now
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var stamp subjects.Stamp
			var cached []*subjects.Entry[int]
			for !done.Load() {
				in, out := inserted.Load(), removed.Load()
				if !stamp.Valid() {
					stamp = tree.Stamp(subject)
					cached = tree.Match(subject, cached[:0])
				}
				highest := int64(-1)
				for _, e := range cached {
					highest = max(highest, int64(e.Value))
					if int64(e.Value) < out {
						t.Errorf("entry %d is used after %d were removed", e.Value, out)
						return
					}
				}
				if highest < in-1 {
					t.Errorf("entry %d is missing, the highest is %d", in-1, highest)
					return
				}
			}
		})
	}
	all := []string{"a.b.c", "a.b.*", "a.*.c", "*.b.c", ">"}
	var last *subjects.Entry[int]
	for i := range 400 {
		e := newEntry(all[i%len(all)], i)
		tree.Insert(e)
		inserted.Store(int64(i) + 1)
		if last != nil {
			tree.Remove(last)
			removed.Store(int64(i))
		}
		last = e
		for range 2 { // so that the tree grows meanwhile
			tree.Insert(newEntry(fmt.Sprint("other.", i), -1))
		}
	}
	done.Store(true)
	wg.Wait()
}

func TestHash(t *testing.T) {
	a, b := subjects.Hash([]byte("a.b")), subjects.Hash([]byte("a.c"))
	if a == b {
		t.Error("two subjects have the same hash")
	}
	if again := subjects.Hash([]byte("a.b")); again != a {
		t.Errorf("Hash = %d and then %d for the same bytes", a, again)
	}
}

func TestInvalidateEndsEveryStamp(t *testing.T) {
	tree := subjects.NewTree[int]()
	stamps := []subjects.Stamp{tree.Stamp([]byte("a")), tree.Stamp([]byte("a.b.c"))}
	tree.Invalidate()
	for i := range stamps {
		if stamps[i].Valid() {
			t.Errorf("stamp %d is valid after Invalidate", i)
		}
	}
	if s := tree.Stamp([]byte("a")); !s.Valid() {
		t.Error("a new stamp is not valid")
	}
}

// TestFirstStampOfAFullTree sees that changes count from the first stamp on, however large the tree is by then, and that a
// tree costs next to nothing before.
func TestFirstStampOfAFullTree(t *testing.T) {
	for _, size := range []int{0, 1, subjects.ManyEntries - 1, subjects.ManyEntries, subjects.ManyEntries + 1} {
		tree := subjects.NewTree[int]()
		for i := range size {
			tree.Insert(&subjects.Entry[int]{Subject: fmt.Sprintf("a.b%d", i)})
		}
		tree.Invalidate()
		s := tree.Stamp([]byte("a.b0"))
		if !s.Valid() {
			t.Errorf("with %d entries: the first stamp is not valid", size)
		}
		tree.Insert(&subjects.Entry[int]{Subject: "a.b0"})
		if s.Valid() {
			t.Errorf("with %d entries: the first stamp is valid after a change", size)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { subjects.NewTree[int]() }); allocs > 1 {
		t.Errorf("an empty tree takes %v allocations", allocs)
	}
}
