package subjects_test

import (
	"strings"
	"testing"

	"runnel/subjects"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, subject string
		want             bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "A", false},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*", "a.b.c", false},
		{"*.b.*", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c.d", true},
		{">", "a", true},
		{">", "a.b", true},
		{"*.>", "a", false},
		// Wildcard signs in a subject are letters.
		{"foo.*", "foo.*", true},
		{"foo.bar", "foo.*", false},
		{"foo.>", "foo.>", true},
		{">", "foo.>.bar", true},
		{"foo.*x", "foo.ax", false},
		{"foo.*x", "foo.*x", true},
		// Empty tokens are matched by nothing, invalid patterns match nothing.
		{">", "", false},
		{">", "foo..bar", false},
		{">", ".foo", false},
		{">", "foo.", false},
		{"a.>", "a.", false},
		{"a.*", "a.", false},
		{"", "", false},
		{"a..b", "a..b", false},
		{"a.>.b", "a.>.b", false},
		{"a.>.b", "a.x.b", false},
	}
	for _, tt := range tests {
		if got := subjects.Match(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.pattern, tt.subject, got, tt.want)
		}
	}
}

func TestSubsetAndOverlap(t *testing.T) {
	tests := []struct {
		a, b            string
		subset, overlap bool
	}{
		{"a", "a", true, true},
		{"a", "*", true, true},
		{"*", "a", false, true},
		{"*", "*", true, true},
		{"*", ">", true, true},
		{">", "*", false, true},
		{">", ">", true, true},
		{"a.b", "a.>", true, true},
		{"a.>", "a.*", false, true},
		{"a.*", "a.>", true, true},
		{"a.>", "*.>", true, true},
		{"*.b", "a.*", false, true},
		{"a.*.c", "a.b.*", false, true},
		{"a", "a.>", false, false},
		{"a.>", "a", false, false},
		{"a.b", "a.c", false, false},
		{"a.*", "b.*", false, false},
		{"a.*", "a.*.*", false, false},
		{"foo*", "foo.*", false, false},
		{"a..b", "a.>", false, false},
		{"a.b", "a.>.b", false, false},
	}
	for _, tt := range tests {
		if got := subjects.Subset(tt.a, tt.b); got != tt.subset {
			t.Errorf("Subset(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.subset)
		}
		if got := subjects.Overlap(tt.a, tt.b); got != tt.overlap {
			t.Errorf("Overlap(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.overlap)
		}
	}
}

// TestRelationsAgainstDefinition checks every pair of small patterns against
// what the relations mean: over all subjects of a universe.
func TestRelationsAgainstDefinition(t *testing.T) {
	all, subs := patterns(), universe()
	matches := make(map[string][]bool)
	for _, p := range all {
		for _, s := range subs {
			got := subjects.Match(p, s)
			if want := naiveMatch(p, s); got != want {
				t.Fatalf("Match(%q, %q) = %v, want %v", p, s, got, want)
			}
			matches[p] = append(matches[p], got)
		}
	}
	for _, a := range all {
		for _, b := range all {
			subset, overlap := true, false
			for i := range subs {
				subset = subset && (!matches[a][i] || matches[b][i])
				overlap = overlap || matches[a][i] && matches[b][i]
			}
			if got := subjects.Subset(a, b); got != subset {
				t.Errorf("Subset(%q, %q) = %v, want %v", a, b, got, subset)
			}
			if got := subjects.Overlap(a, b); got != overlap {
				t.Errorf("Overlap(%q, %q) = %v, want %v", a, b, got, overlap)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a.*.>", "a.b.c", "*.b.>")
	f.Add("foo.*", "foo.*", "foo.bar")
	f.Add("a..b", "a..b", ">")
	f.Add(">.a", ">.a", "a.>.>")
	f.Fuzz(func(t *testing.T, pattern, subject, other string) {
		got := subjects.Match(pattern, subject)
		if want := naiveMatch(pattern, subject); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, subject, got, want)
		}
		overlap, subset := subjects.Overlap(pattern, other), subjects.Subset(pattern, other)
		if overlap != subjects.Overlap(other, pattern) {
			t.Errorf("Overlap(%q, %q) depends on the order", pattern, other)
		}
		if subset && !overlap {
			t.Errorf("%q is a subset of %q without overlap", pattern, other)
		}
		if !subjects.ValidPattern(pattern) || !subjects.ValidPattern(other) {
			return
		}
		inOther := subjects.Match(other, subject)
		if got && inOther && !overlap {
			t.Errorf("%q matches both %q and %q, Overlap is false", subject, pattern, other)
		}
		if got && !inOther && subset {
			t.Errorf("%q matches %q and not %q, Subset is true", subject, pattern, other)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, pattern := range []string{"orders.eu.4711.created", "orders.*.4711.*", "orders.>"} {
		b.Run(strings.ReplaceAll(pattern, "*", "+"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !subjects.Match(pattern, "orders.eu.4711.created") {
					b.Fatal("no match")
				}
			}
		})
	}
}
