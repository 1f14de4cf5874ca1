package subjects_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"runnel/subjects"
)

func newEntry(subject string, value int) *subjects.Entry[int] {
	return &subjects.Entry[int]{Subject: subject, Value: value}
}

// treeOf returns a tree with an entry for each subject, numbered from 0.
func treeOf(patterns ...string) (*subjects.Tree[int], list) {
	tree := subjects.NewTree[int]()
	var entries list
	for i, p := range patterns {
		e := newEntry(p, i)
		tree.Insert(e)
		entries = append(entries, e)
	}
	return tree, entries
}

func TestTreeMatch(t *testing.T) {
	tree, _ := treeOf("a", "a.b", "a.b", "a.*", "a.>", "*", "*.b", ">", "*.*.c", "a.*.>", "foo.*x")
	tests := []struct {
		subject string
		want    []string
	}{
		{"a", []string{"*", ">", "a"}},
		{"a.b", []string{"*.b", ">", "a.*", "a.>", "a.b", "a.b"}},
		{"a.b.c", []string{"*.*.c", ">", "a.*.>", "a.>"}},
		{"x.y", []string{">"}},
		{"a.*", []string{">", "a.*", "a.>"}},
		{"foo.ax", []string{">"}},
		{"foo.*x", []string{">", "foo.*x"}},
		{"", nil},
		{"a.", nil},
		{".a", nil},
		{"a..b", nil},
	}
	for _, tt := range tests {
		got := subjectsOf(tree.Match([]byte(tt.subject), nil))
		if !slices.Equal(got, tt.want) {
			t.Errorf("Match(%q) = %q, want %q", tt.subject, got, tt.want)
		}
	}
}

func TestTreeMatchAppends(t *testing.T) {
	tree, entries := treeOf("a", "a")
	before := newEntry("x", 9)
	got := tree.Match([]byte("a"), []*subjects.Entry[int]{before})
	if want := (list{before, entries[0], entries[1]}); !slices.Equal(got, want) {
		t.Errorf("Match = %v, want what was there and then both entries in their order", subjectsOf(got))
	}
}

func TestTreeInsertRemove(t *testing.T) {
	tree, entries := treeOf("a.b", "a.*", "x.>")
	tree.Insert(entries[0])
	tree.Insert(newEntry("a..b", 7))
	tree.Insert(newEntry("a.>.b", 8))
	if got := tree.Len(); got != 3 {
		t.Errorf("Len = %d after inserting twice and invalid patterns, want 3", got)
	}
	if tree.Remove(newEntry("a.b", 0)) {
		t.Error("Remove of an entry that is not in the tree = true")
	}
	for _, e := range entries {
		if !tree.Remove(e) {
			t.Errorf("Remove(%q) = false", e.Subject)
		}
		if tree.Remove(e) {
			t.Errorf("second Remove(%q) = true", e.Subject)
		}
	}
	tree.Match([]byte("a.b"), nil)
	tree.MatchPrefix([]byte("a."), nil)
	inserts, removes, matches := tree.Counters()
	if inserts != 3 || removes != 3 || matches != 2 {
		t.Errorf("Counters = %d, %d, %d, want 3, 3, 2", inserts, removes, matches)
	}
	tree.Insert(entries[1])
	if got := tree.Match([]byte("a.b"), nil); len(got) != 1 || got[0] != entries[1] {
		t.Errorf("an entry inserted again is not found: %v", subjectsOf(got))
	}
}

// TestTreeRemoveFromManyOfOneSubject removes from the middle, the head and the
// tail of long rings.
func TestTreeRemoveFromManyOfOneSubject(t *testing.T) {
	for _, pattern := range []string{"a.b", "a.*", "a.>"} {
		t.Run(strings.ReplaceAll(pattern, "*", "+"), func(t *testing.T) {
			tree, entries := treeOf(slices.Repeat([]string{pattern}, 1000)...)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(entries), func(i, j int) {
				entries[i], entries[j] = entries[j], entries[i]
			})
			for len(entries) > 0 {
				if len(entries)%97 == 0 {
					if got := tree.Match([]byte("a.b"), nil); !sameEntries(got, entries) {
						t.Fatalf("%d entries found, want the %d that are left", len(got), len(entries))
					}
				}
				tree.Remove(entries[0])
				entries = entries[1:]
			}
			if tree.Len() != 0 || tree.Nodes() != 0 {
				t.Errorf("Len %d, %d nodes after all was removed, want 0, 0", tree.Len(), tree.Nodes())
			}
		})
	}
}

func TestTreeMatchPrefix(t *testing.T) {
	tests := []struct {
		patterns []string
		prefix   string
		want     []string
		uniform  bool
	}{
		{nil, "a.", nil, true},
		{[]string{"a.*", "a.>", ">", "*.*", "*"}, "a.", []string{"*.*", ">", "a.*", "a.>"}, true},
		{[]string{"_INBOX.x.*", "_INBOX.y.*"}, "_INBOX.x.", []string{"_INBOX.x.*"}, true},
		{[]string{"a.*", "*.b"}, "a.", []string{"a.*"}, false},
		{[]string{"*.b.c", "*.b.>", "*.b.*"}, "a.", nil, true},
		{[]string{"*.b.c"}, "a.b.", nil, false},
		{[]string{"*.b.*"}, "a.b.", []string{"*.b.*"}, true},
		{[]string{"a.*.*"}, "a.", nil, true},
		{[]string{"a.b", "a.c"}, "a.", nil, true}, // literals are not considered
		{[]string{">"}, "a", nil, false},
		{[]string{">"}, "", nil, false},
		{[]string{">"}, ".", nil, false},
		{[]string{">"}, "a..", nil, false},
	}
	for _, tt := range tests {
		tree, _ := treeOf(tt.patterns...)
		got, uniform := tree.MatchPrefix([]byte(tt.prefix), nil)
		if uniform != tt.uniform || !slices.Equal(subjectsOf(got), tt.want) {
			t.Errorf("MatchPrefix(%q) in %q = %q, %v, want %q, %v",
				tt.prefix, tt.patterns, subjectsOf(got), uniform, tt.want, tt.uniform)
		}
	}
}

func TestTreeMatchBelow(t *testing.T) {
	tests := []struct {
		patterns []string
		prefix   string
		want     []string
		uniform  bool
	}{
		{nil, "a.b.", nil, true},
		{[]string{"a.b.>", "a.>", ">", "*.*.>", "a.*", "b.>"}, "a.b.", []string{"*.*.>", ">", "a.>", "a.b.>"}, true},
		{[]string{"a.b.*"}, "a.b.", nil, false},
		{[]string{"a.>", "*.b.c.>"}, "a.b.", []string{"a.>"}, false},
		{[]string{"a.*.*.*.>"}, "a.b.", nil, false},
		{[]string{"a.*.>", "a.c.*"}, "a.b.", []string{"a.*.>"}, true},
		{[]string{"a.b.c"}, "a.b.", nil, true}, // literals are not considered
		{[]string{">"}, "a.b", nil, false},
		{[]string{">"}, "a..", nil, false},
	}
	for _, tt := range tests {
		tree, _ := treeOf(tt.patterns...)
		got, uniform := tree.MatchBelow([]byte(tt.prefix), nil)
		if uniform != tt.uniform || !slices.Equal(subjectsOf(got), tt.want) {
			t.Errorf("MatchBelow(%q) in %q = %q, %v, want %q, %v",
				tt.prefix, tt.patterns, subjectsOf(got), uniform, tt.want, tt.uniform)
		}
	}
}

func TestTreeMatchPrefixAfterRemove(t *testing.T) {
	tree, entries := treeOf("*.b", "*.b", "*.b.c", "a.*")
	for i, want := range []bool{false, true, true, true} {
		tree.Remove(entries[i])
		if _, uniform := tree.MatchPrefix([]byte("a."), nil); uniform != want {
			t.Errorf("uniform = %v after %d removals, want %v", uniform, i+1, want)
		}
	}
}

func TestTreeHasLiteral(t *testing.T) {
	tree, entries := treeOf("a.b", "a.*", ">")
	for subject, want := range map[string]bool{"a.b": true, "a.*": false, ">": false, "a": false, "": false} {
		if got := tree.HasLiteral([]byte(subject)); got != want {
			t.Errorf("HasLiteral(%q) = %v, want %v", subject, got, want)
		}
	}
	tree.Remove(entries[0])
	if tree.HasLiteral([]byte("a.b")) {
		t.Error("HasLiteral of a removed subject = true")
	}
}

func TestTreeAll(t *testing.T) {
	var patterns []string
	for i := range 700 {
		patterns = append(patterns, fmt.Sprint("a.", i), fmt.Sprintf("a.%d.*", i), fmt.Sprintf("*.%d.>", i), "*.*.x", ">")
	}
	tree, entries := treeOf(patterns...)
	if got := slices.Collect(tree.All()); !sameEntries(got, entries) {
		t.Errorf("All has %d entries, want all %d", len(got), len(entries))
	}
	count := 0
	for range tree.All() {
		if count++; count == 600 {
			break
		}
	}
	if count != 600 {
		t.Errorf("the loop ended after %d entries, want 600", count)
	}
}

// TestTreeAllWhileItChanges removes and inserts from within the loop: what stays
// must come exactly once.
func TestTreeAllWhileItChanges(t *testing.T) {
	var patterns []string
	for i := range 1000 {
		patterns = append(patterns, fmt.Sprint("a.", i), fmt.Sprintf("b.%d.*", i), fmt.Sprintf("%d.*", i%10))
	}
	tree, entries := treeOf(patterns...)
	seen := make(map[*subjects.Entry[int]]int)
	value := len(entries)
	for e := range tree.All() {
		seen[e]++
		if i := len(seen); i%2 == 1 && i < len(entries) {
			tree.Remove(entries[i])
			tree.Insert(newEntry(fmt.Sprint("new.", value), value))
			value++
		}
	}
	for i, e := range entries {
		stayed := i%2 == 0
		if stayed && seen[e] != 1 || seen[e] > 1 {
			t.Fatalf("entry %d, %q, came %d times", i, e.Subject, seen[e])
		}
	}
}

// TestTreeAgainstList plays random changes and questions on a tree and a list.
func TestTreeAgainstList(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		program := make([]byte, 3000)
		for i := range program {
			program[i] = byte(rng.Uint32())
		}
		play(t, program)
	}
}

func FuzzTree(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte("insert, remove and match, then insert again"))
	f.Fuzz(play)
}

// play reads a program of two bytes a step: insert, remove, or ask.
func play(t *testing.T, program []byte) {
	tree := subjects.NewTree[int]()
	all, questions := patterns(), universe()
	var model list
	for step := 0; len(program) >= 2; step++ {
		op, arg := program[0], int(program[1])+256*int(program[0]>>3)
		program = program[2:]
		switch op % 8 {
		case 0, 1, 2, 3:
			e := newEntry(all[arg%len(all)], step)
			tree.Insert(e)
			model = append(model, e)
		case 4, 5:
			if len(model) == 0 {
				continue
			}
			i := arg % len(model)
			if !tree.Remove(model[i]) {
				t.Fatalf("Remove(%q) = false", model[i].Subject)
			}
			model = slices.Delete(model, i, i+1)
		case 6:
			subject := questions[arg%len(questions)]
			if got, want := tree.Match([]byte(subject), nil), model.match(subject); !sameEntries(got, want) {
				t.Fatalf("Match(%q) = %q, want %q", subject, subjectsOf(got), subjectsOf(want))
			}
		case 7:
			checkPrefix(t, tree, model, questions[arg%len(questions)]+".")
		}
	}
	if got := tree.Len(); got != len(model) {
		t.Fatalf("Len = %d, want %d", got, len(model))
	}
	for _, e := range model {
		tree.Remove(e)
	}
	if got := tree.Nodes(); got != 0 {
		t.Fatalf("%d nodes are left in an empty tree", got)
	}
}

// checkPrefix compares MatchPrefix with the wildcard entries that the model
// finds for several last tokens.
func checkPrefix(t *testing.T, tree *subjects.Tree[int], model list, prefix string) {
	t.Helper()
	model = slices.DeleteFunc(slices.Clone(model), func(e *subjects.Entry[int]) bool {
		return subjects.IsLiteral(e.Subject)
	})
	common, uniform := model.match(prefix+"z"), true
	for _, token := range []string{"a", "b", "*"} {
		if !sameEntries(model.match(prefix+token), common) {
			uniform = false
		}
	}
	got, gotUniform := tree.MatchPrefix([]byte(prefix), nil)
	if gotUniform != uniform || !sameEntries(got, common) {
		t.Fatalf("MatchPrefix(%q) = %q, %v, want %q, %v",
			prefix, subjectsOf(got), gotUniform, subjectsOf(common), uniform)
	}
	got, gotUniform = tree.MatchBelow([]byte(prefix), nil)
	for _, rest := range []string{"a", "b", "*", "z", "a.b", "z.a", "z.z", "b.z.z"} {
		if gotUniform && !sameEntries(got, model.match(prefix+rest)) {
			t.Fatalf("MatchBelow(%q) = %q, but %q has %q", prefix, subjectsOf(got), prefix+rest, subjectsOf(model.match(prefix+rest)))
		}
	}
}

func TestTreeDoesNotAllocateOnMatch(t *testing.T) {
	tree, _ := treeOf("a.b.c", "a.*.c", "a.>", ">", "*.*.*", "x.y.*")
	out := make([]*subjects.Entry[int], 0, 16)
	subject, prefix := []byte("a.b.c"), []byte("a.b.")
	allocs := testing.AllocsPerRun(100, func() {
		out = tree.Match(subject, out[:0])
		out, _ = tree.MatchPrefix(prefix, out[:0])
		stamp := tree.Stamp(subject)
		if !stamp.Valid() || !tree.HasLiteral(subject) {
			t.Error("stamp or literal is gone")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// TestTreeConcurrently lets many goroutines change and ask one tree; it is for
// the race detector.
func TestTreeConcurrently(t *testing.T) {
	tree, fixed := treeOf("a.b", "a.*", ">")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			all := patterns()
			for i := range 500 {
				e := newEntry(all[rng.IntN(len(all))], 1000+g*1000+i)
				tree.Insert(e)
				got := tree.Match([]byte("a.b"), nil)
				for _, f := range fixed {
					if !slices.Contains(got, f) {
						t.Errorf("%q is missing", f.Subject)
					}
				}
				if got, want := slices.Contains(got, e), naiveMatch(e.Subject, "a.b"); got != want {
					t.Errorf("own entry %q found: %v, want %v", e.Subject, got, want)
				}
				if i%100 == 0 {
					for e := range tree.All() {
						_ = e.Value
					}
				}
				tree.Remove(e)
			}
		})
	}
	wg.Wait()
	if got := tree.Len(); got != len(fixed) {
		t.Errorf("Len = %d, want %d", got, len(fixed))
	}
}
