package subjects_test

import (
	"errors"
	"strings"
	"testing"

	"runnel/subjects"
)

// zero is a source of chance without any.
func zero(int) int { return 0 }

func TestTransform(t *testing.T) {
	tests := []struct {
		name, source, destination, subject, want string
	}{
		{"literal", "foo", "bar.baz", "foo", "bar.baz"},
		{"dollar", "t.*.*", "o.$2.$1", "t.a.b", "o.b.a"},
		{"dollar is a letter", "t.*", "o.$.$x.x$1.$1x", "t.a", "o.$.$x.x$1.$1x"},
		{"wildcard twice", "t.*", "$1.{{wildcard(1)}}", "t.a", "a.a"},
		{"wildcard with blanks", "t.*.*", "{{ Wildcard( 2 ) }}", "t.a.b", "b"},
		{"unused wildcard", "t.*.*", "o.$1", "t.a.b", "o.a"},
		{"wildcard sign is a letter", "t.*", "o.$1.{{left(1,3)}}", "t.*", "o.*.*"},
		{"tail", "t.>", "o.>", "t.a.b", "o.a.b"},
		{"tail only", ">", "o.>", "a.b", "o.a.b"},
		{"tail removes a prefix", "o.>", ">", "o.a.b", "a.b"},
		{"tail and wildcard", "*.>", "o.$1.>", "x.y.z", "o.x.y.z"},
		{"empty source", "", "o.>", "a.b", "o.a.b"},
		{"empty destination", "a.*", "", "a.b", "a.b"},

		{"partition of the subject", "t.*", "o.{{partition(10)}}", "t.foo", "o.7"},
		{"partition of a literal subject", "foo", "o.{{partition(10)}}", "foo", "o.3"},
		{"partition of the subject with tail", ">", "o.{{partition(10)}}.>", "a.b", "o.2.a.b"},
		{"partition of one wildcard", "t.*", "o.{{partition(10,1)}}", "t.x", "o.5"},
		{"partition of two wildcards", "t.*.*", "o.{{Partition(1000,2,1)}}", "t.foo.bar", "o.762"},
		{"partition, most buckets", "t.*", "o.{{partition(2147483647,1)}}", "t.foo", "o.703823576"},
		{"partition, one bucket", "t.*", "o.{{partition(1)}}", "t.foo", "o.0"},

		{"split", "t.*", "o.{{split(1,-)}}.x", "t.-a--b-", "o.a.b.x"},
		{"split without separator in it", "t.*", "o.{{split(1,-)}}.x", "t.ab", "o.ab.x"},
		{"split with nothing left", "t.*", "o.{{split(1,-)}}.x", "t.---", "o.---.x"},
		{"split by several letters", "t.*", "o.{{split(1,ab)}}", "t.1ab2", "o.1.2"},
		{"split by a wildcard sign", "t.*", "o.{{split(1,>)}}", "t.a>b", "o.a.b"},
		{"split into letters", "t.*", "o.{{split(1,)}}", "t.1-2", "o.1.-.2"},
		{"split with blanks", "t.*", "o.{{  Split ( 1 ,-)  }}", "t.a-b", "o.a.b"},

		{"split from left", "t.*", "o.{{splitFromLeft(1,3)}}", "t.abcdef", "o.abc.def"},
		{"split from left, same length", "t.*", "o.{{SPLITFROMLEFT(1,3)}}", "t.abc", "o.abc"},
		{"split from left, short", "t.*", "o.{{splitfromleft(1,3)}}", "t.ab", "o.ab"},
		{"split from right", "t.*", "o.{{SplitFromRight(1,3)}}", "t.abcde", "o.ab.cde"},
		{"split from right, same length", "t.*", "o.{{splitfromright(1,3)}}", "t.abc", "o.abc"},
		{"slice from left", "t.*", "o.{{SliceFromLeft(1,3)}}", "t.abcdefgh", "o.abc.def.gh"},
		{"slice from left, even", "t.*", "o.{{slicefromleft(1,3)}}", "t.abcdef", "o.abc.def"},
		{"slice from left, short", "t.*", "o.{{slicefromleft(1,3)}}", "t.ab", "o.ab"},
		{"slice from right", "t.*", "o.{{SliceFromRight(1,3)}}", "t.abcdefgh", "o.ab.cde.fgh"},
		{"slice from right, even", "t.*", "o.{{slicefromright(1,3)}}", "t.abcdef", "o.abc.def"},
		{"slice from right, short", "t.*", "o.{{slicefromright(1,3)}}", "t.abc", "o.abc"},
		{"left and right", "t.*", "{{left(1,3)}}.{{Right(1,3)}}", "t.abcdef", "abc.def"},
		{"left and right, short", "t.*", "{{left(1,3)}}.{{right(1,3)}}", "t.ab", "ab.ab"},
		{"lengths count bytes", "t.*", "o.{{left(1,1)}}", "t.éa", "o.\xc3"},
		{"random", "t.*", "o.{{random(1)}}", "t.a", "o.0"},
		{"more wildcards than usual", "*.*.*.*.*.*.*.*.*.*", "$10.$9.$1", "a.b.c.d.e.f.g.h.i.j", "j.i.a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := subjects.NewTransform(tt.source, tt.destination)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := tr.ApplyWith(tt.subject, zero)
			if got != tt.want || !ok {
				t.Errorf("%q to %q: %q becomes %q, %v, want %q", tt.source, tt.destination, tt.subject, got, ok, tt.want)
			}
		})
	}
}

func TestTransformOfOtherSubjects(t *testing.T) {
	tests := []struct{ source, destination, subject string }{
		{"t.*", "o.$1", "x.a"},
		{"t.*", "o.$1", "t"},
		{"t.*", "o.$1", "t."},
		{"t.*", "o.$1", "t.a.b"},
		{"t.>", "o.>", "t"},
		{"t.*", "", "x.a"},
		{"", "", "a..b"},
	}
	for _, tt := range tests {
		tr, err := subjects.NewTransform(tt.source, tt.destination)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := tr.Apply(tt.subject); ok || got != "" {
			t.Errorf("%q to %q: Apply(%q) = %q, %v, want nothing", tt.source, tt.destination, tt.subject, got, ok)
		}
	}
}

func TestTransformErrors(t *testing.T) {
	tests := []struct {
		source, destination string
		kind                error
		says                string
	}{
		{"a..b", "x", subjects.ErrSource, "a..b"},
		{"a b", "x", subjects.ErrSource, "not a valid subject"},
		{"a.>.b", "x", subjects.ErrSource, "not a valid subject"},
		{"t.>", "o.x", subjects.ErrDestination, "must both end with `>`"},
		{"t.*", "o.>", subjects.ErrDestination, "must both end with `>`"},
		{"t.*.>", "o.>.$1", subjects.ErrDestination, "must both end with `>`"},
		{"t.>", ".>", subjects.ErrDestination, "must both"},
		{"t.>", "a.>.>", subjects.ErrDestination, `token 2, ">"`},
		{"t.*", "o.*", subjects.ErrDestination, `token 2, "*"`},
		{"t.*", "o..x", subjects.ErrDestination, "token 2, \"\": empty token"},
		{"t.*", "o.a b", subjects.ErrDestination, "white space"},
		{"t.*", "o.$2", subjects.ErrDestination, "wildcard 2 does not exist, the source has 1"},
		{"t.x", "o.$1", subjects.ErrDestination, "the source has 0"},
		{"t.>", "o.$1.>", subjects.ErrDestination, "the source has 0"},
		{"t.*", "o.$0", subjects.ErrDestination, "wildcard 0 does not exist"},
		{"t.*", "o.{{wildcard(2)}}", subjects.ErrDestination, "function wildcard: wildcard 2 does not exist"},
		{"t.*", "a.b.{{foo(1)}}", subjects.ErrDestination, `token 3, "{{foo(1)}}": unknown function "foo": have wildcard(n), partition(`},
		{"t.*", "o.{{partition}}", subjects.ErrDestination, "unknown function: want name(arguments)"},
		{"t.*", "o.{{}}", subjects.ErrDestination, "unknown function"},
		{"t.*", "o.{{wildcard(1)", subjects.ErrDestination, "must be a whole token"},
		{"t.*", "o.x{{wildcard(1)}}", subjects.ErrDestination, "must be a whole token"},
		{"t.*", "o.{{split(1,.)}}", subjects.ErrDestination, "without dots"},
		{"t.*", "o.{{wildcard()}}", subjects.ErrDestination, "is not a number"},
		{"t.*", "o.{{wildcard(1,2)}}", subjects.ErrDestination, "2 arguments, want {{wildcard(n)}}"},
		{"t.*", "o.{{split(1)}}", subjects.ErrDestination, "1 arguments, want {{split(n,separator)}}"},
		{"t.*", "o.{{split(1, )}}", subjects.ErrDestination, "white space"},
		{"t.*", "o.{{split(2,-)}}", subjects.ErrDestination, "wildcard 2"},
		{"t.*", "o.{{left(2,1)}}", subjects.ErrDestination, "wildcard 2"},
		{"t.*", "o.{{left(1,0)}}", subjects.ErrDestination, "length 0"},
		{"t.*", "o.{{slicefromright(1,-1)}}", subjects.ErrDestination, "length -1"},
		{"t.*", "o.{{partition(0)}}", subjects.ErrDestination, "0 buckets"},
		{"t.*", "o.{{partition(2147483648)}}", subjects.ErrDestination, "is not a number up to"},
		{"t.*", "o.{{partition(10,2)}}", subjects.ErrDestination, "wildcard 2"},
		{"t.*", "o.{{random(0)}}", subjects.ErrDestination, "limit 0"},
		{"t.*", "o.{{random(5,1)}}", subjects.ErrDestination, "2 arguments"},
	}
	for _, tt := range tests {
		_, err := subjects.NewTransform(tt.source, tt.destination)
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("NewTransform(%q, %q): %v, want %v with %q", tt.source, tt.destination, err, tt.kind, tt.says)
		}
	}
}

func TestTransformRandom(t *testing.T) {
	tr, err := subjects.NewTransform("t", "o.{{random(6)}}.{{random(9)}}")
	if err != nil {
		t.Fatal(err)
	}
	var limits []int
	got, _ := tr.ApplyWith("t", func(n int) int { limits = append(limits, n); return n - 1 })
	if got != "o.5.8" || len(limits) != 2 {
		t.Errorf("ApplyWith = %q after asking for chance below %v, want o.5.8 and [6 9]", got, limits)
	}
	if !tr.Random() {
		t.Error("Random = false")
	}
	for range 50 {
		if got, ok := tr.Apply("t"); !ok || !subjects.Match("o.*.*", got) {
			t.Fatalf("Apply = %q, %v", got, ok)
		}
	}
	tr, _ = subjects.NewTransform("t.*", "o.{{partition(6,1)}}")
	if tr.Random() {
		t.Error("Random of a partition = true")
	}
}

func TestImportTransform(t *testing.T) {
	tests := []struct{ source, destination, subject, want string }{
		{"q.*", "x.$1", "q.a", "x.a"},
		{"q.*", "x.{{wildcard(1)}}", "q.a", "x.a"},
		{"q.*.*", "x.$2.$1.$1", "q.a.b", "x.b.a.a"},
		{"q.*.*", "x.*.y.*", "q.a.b", "x.a.y.b"},
		{"q.*.>", "x.*.>", "q.a.b.c", "x.a.b.c"},
		{"q", "x", "q", "x"},
		{"q.*", "", "q.a", "q.a"},
	}
	for _, tt := range tests {
		tr, err := subjects.NewImportTransform(tt.source, tt.destination)
		if err != nil {
			t.Errorf("NewImportTransform(%q, %q): %v", tt.source, tt.destination, err)
			continue
		}
		if got, ok := tr.Apply(tt.subject); got != tt.want || !ok {
			t.Errorf("%q to %q: %q becomes %q, %v, want %q", tt.source, tt.destination, tt.subject, got, ok, tt.want)
		}
	}
}

func TestImportTransformErrors(t *testing.T) {
	tests := []struct{ source, destination, says string }{
		{"q.*.*", "x.$1", "wildcard 2 of"},
		{"q.*", "x", "wildcard 1 of"},
		{"q.*", "x.*.*", "wildcard 2 does not exist"},
		{"q.*", "x.{{partition(3,1)}}", `unknown function "partition": have wildcard(n)`},
		{"q.>", "x", "must both end"},
		{"", "x", "not a valid subject"},
	}
	for _, tt := range tests {
		_, err := subjects.NewImportTransform(tt.source, tt.destination)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("NewImportTransform(%q, %q): %v, want an error with %q", tt.source, tt.destination, err, tt.says)
		}
	}
}

// FuzzTransform checks that no text makes a transform panic and that results of
// valid subjects are subjects that somebody can receive.
func FuzzTransform(f *testing.F) {
	f.Add("t.*.*", "o.$2.{{partition(3,1)}}", "t.a.b")
	f.Add("t.*.>", "o.{{split(1,-)}}.>", "t.--.b")
	f.Add("*", "{{slicefromright(1,2)}}.{{SliceFromLeft(1,2)}}", "abcde")
	f.Add("*", "{{left(1,1)}}.{{right(1,1)}}.{{random(7)}}", "ab")
	f.Add("", "", "a")
	f.Fuzz(func(t *testing.T, source, destination, subject string) {
		tr, err := subjects.NewTransform(source, destination)
		if err != nil {
			if !errors.Is(err, subjects.ErrSource) && !errors.Is(err, subjects.ErrDestination) {
				t.Errorf("error %v is of no kind", err)
			}
			return
		}
		if source == "" {
			source = ">"
		}
		got, ok := tr.ApplyWith(subject, func(n int) int { return n - 1 })
		if want := naiveMatch(source, subject); ok != want {
			t.Errorf("%q matches %q: %v, want %v", subject, source, ok, want)
		}
		if ok && !subjects.Match(">", got) {
			t.Errorf("%q to %q: %q becomes %q, which nobody can receive", source, destination, subject, got)
		}
		if again, _ := tr.ApplyWith(subject, func(n int) int { return n - 1 }); again != got {
			t.Errorf("%q becomes %q and then %q", subject, got, again)
		}
	})
}

func BenchmarkTransform(b *testing.B) {
	tr, err := subjects.NewTransform("orders.*.*.>", "o.{{partition(16,2)}}.$1.>")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := tr.Apply("orders.eu.4711.created.now"); !ok {
			b.Fatal("no match")
		}
	}
}
