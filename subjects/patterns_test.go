package subjects_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/subjects"
)

// listed is a value under a pattern, for a list to compare Patterns with.
type listed struct {
	pattern string
	value   int
}

// TestPatterns adds and removes patterns by chance, and compares all answers with those of a list.
func TestPatterns(t *testing.T) {
	all, some := patterns(), universe()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		var p subjects.Patterns[int]
		var list []listed
		for range 300 {
			if len(list) > 0 && random.IntN(5) < 2 {
				i := random.IntN(len(list))
				if !p.Remove(list[i].pattern, list[i].value) {
					t.Fatalf("seed %d: %v was not there", seed, list[i])
				}
				list = slices.Delete(list, i, i+1)
			} else {
				next := listed{all[random.IntN(len(all))], random.IntN(1000)}
				if !p.Add(next.pattern, next.value) {
					t.Fatalf("seed %d: %v was not added", seed, next)
				}
				list = append(list, next)
			}
			subject, pattern := some[random.IntN(len(some))], all[random.IntN(len(all))]
			compare(t, fmt.Sprintf("seed %d: match %q", seed, subject), p.Match(subject), list,
				func(l listed) bool { return naiveMatch(l.pattern, subject) })
			compare(t, fmt.Sprintf("seed %d: overlapping %q", seed, pattern), p.Overlapping(pattern), list,
				func(l listed) bool { return subjects.Overlap(l.pattern, pattern) })
		}
		for _, l := range list {
			p.Remove(l.pattern, l.value)
		}
		if p.Len() != 0 || p.Places() != 0 {
			t.Errorf("seed %d: %d values and %d places are left", seed, p.Len(), p.Places())
		}
	}
}

// compare checks that got has the values of the list that fit, in any order.
func compare(t *testing.T, what string, got iter.Seq[int], list []listed, fits func(listed) bool) {
	t.Helper()
	var want []int
	for _, l := range list {
		if fits(l) {
			want = append(want, l.value)
		}
	}
	have := slices.Sorted(got)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("%s: got %v, want %v", what, have, want)
	}
}

// TestPatternsRefuse gives what is no pattern, and removes what is not there.
func TestPatternsRefuse(t *testing.T) {
	var p subjects.Patterns[string]
	for _, bad := range []string{"", ".", "a.", "a..b", ">.a", "a b"} {
		if p.Add(bad, "v") || p.Remove(bad, "v") {
			t.Errorf("%q was taken for a pattern", bad)
		}
		for v := range p.Overlapping(bad) {
			t.Errorf("%q overlaps %q", bad, v)
		}
	}
	p.Add("a.*.c", "v")
	for _, other := range []string{"a.b.c", "a.*", "a.*.c.d", "a.>", "x", "*.*.c"} {
		if p.Remove(other, "v") {
			t.Errorf("%q was removed without having been there", other)
		}
	}
	if p.Remove("a.*.c", "w") || p.Len() != 1 {
		t.Error("a value was removed that is not there")
	}
}

// TestPatternsStop leaves loops early: nothing more may come.
func TestPatternsStop(t *testing.T) {
	var p subjects.Patterns[int]
	for i, pattern := range []string{">", "a.>", "a.b", "a.*", "*.b", "*.>", "a.b.c", "b.a"} {
		p.Add(pattern, i)
	}
	for name, seq := range map[string]iter.Seq[int]{
		"match": p.Match("a.b"), "literal": p.Overlapping("a.b"), "star": p.Overlapping("*.b"), "tail": p.Overlapping("*.>"),
	} {
		all := len(slices.Collect(seq))
		for stop := 1; stop <= all; stop++ {
			n := 0
			for range seq {
				if n++; n == stop {
					break
				}
			}
			if n != stop {
				t.Errorf("%s: %d values after a stop at %d", name, n, stop)
			}
		}
	}
}

// TestIntersection compares with the subjects that match both patterns, for all pairs of small ones.
func TestIntersection(t *testing.T) {
	all, some := patterns(), universe()
	for _, a := range all {
		for _, b := range all {
			both, ok := subjects.Intersection(a, b)
			if ok != subjects.Overlap(a, b) || ok && !subjects.ValidPattern(both) {
				t.Fatalf("intersection of %q and %q = %q, %v", a, b, both, ok)
			}
			for _, s := range some {
				if want := naiveMatch(a, s) && naiveMatch(b, s); want != (ok && naiveMatch(both, s)) {
					t.Fatalf("intersection of %q and %q = %q, wrong for %q", a, b, both, s)
				}
			}
		}
	}
}

func TestIntersectionRefuses(t *testing.T) {
	for _, pair := range [][2]string{{"", "a"}, {"a..b", ">"}, {">", ">.a"}, {"a", "b"}} {
		if got, ok := subjects.Intersection(pair[0], pair[1]); ok || got != "" {
			t.Errorf("intersection of %q = %q", pair, got)
		}
	}
}

func BenchmarkPatternsMatch(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("patterns=%d", n), func(b *testing.B) {
			var p subjects.Patterns[int]
			for i := range n {
				p.Add(fmt.Sprintf("orders.%d.*", i), i)
			}
			subject := "orders." + strings.Repeat("7", len(fmt.Sprint(n))-1) + ".created"
			b.ReportAllocs()
			for b.Loop() {
				found := 0
				for range p.Match(subject) {
					found++
				}
				if found != 1 {
					b.Fatal(found)
				}
			}
		})
	}
}
