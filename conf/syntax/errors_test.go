package syntax_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"runnel/conf/syntax"
)

func TestErrorText(t *testing.T) {
	for _, test := range []struct {
		err  syntax.Error
		want string
	}{
		{syntax.Error{File: "c.conf", Line: 2, Column: 3, Text: "x"}, "c.conf:2:3: x"},
		{syntax.Error{File: "c.conf", Text: "x"}, "c.conf: x"},
		{syntax.Error{Text: "x"}, "x"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestErrorsAreSorted(t *testing.T) {
	var r syntax.Report
	for _, p := range []syntax.Position{{"b", 1, 1}, {"a", 2, 1}, {"a", 1, 5}, {"a", 1, 2}, {"a", 1, 2}} {
		r.Fail(p, "at %v", p)
	}
	err := r.Errors.AsError()
	want := "a:1:2: at a:1:2\na:1:5: at a:1:5\na:2:1: at a:2:1\nb:1:1: at b:1:1"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var first syntax.Error
	if !errors.As(fmt.Errorf("wrapped: %w", err), &first) || first.Line != 1 || first.Column != 2 {
		t.Errorf("errors.As finds %v, want the first error", first)
	}
	if errors.Is(err, io.EOF) {
		t.Error("the errors are io.EOF, want them not to be")
	}
	if none := syntax.Errors(nil).AsError(); none != nil {
		t.Errorf("no errors are %v, want nil", none)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var r syntax.Report
	for i := range 10 * syntax.ErrorLimit {
		r.Fail(syntax.Position{File: "f", Line: i + 1, Column: 1}, "bad")
		r.Deprecate(syntax.Position{File: "f", Line: i + 1, Column: 1}, "old")
	}
	last := r.Errors[len(r.Errors)-1].Text
	if len(r.Errors) != syntax.ErrorLimit || !r.Full() || last != "too many errors; the others are not shown" {
		t.Errorf("got %d errors ending in %q, want %d", len(r.Errors), last, syntax.ErrorLimit)
	}
	if len(r.Warnings) != syntax.ErrorLimit {
		t.Errorf("got %d warnings, want %d", len(r.Warnings), syntax.ErrorLimit)
	}
	if !r.Warnings[0].Deprecated || r.Errors[0].Deprecated {
		t.Error("want the warnings, not the errors, to be deprecations")
	}
}
