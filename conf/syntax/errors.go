package syntax

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a config file. Line and Column count from 1, Column
// in characters; a Line of 0 means that the place is not known.
type Position struct {
	File   string
	Line   int
	Column int
}

// String returns `file:line:column`, or the file alone without a line.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is one thing that is wrong, or deserves a warning, in a config file.
type Error struct {
	File   string
	Line   int
	Column int
	Text   string
	// Deprecated marks a warning about what a later version may refuse; such
	// a config is not valid for `-t`.
	Deprecated bool
}

// Error returns `file:line:column: text`; what is not known is left out.
func (e Error) Error() string {
	if e.File == "" {
		return e.Text
	}
	return e.Position().String() + ": " + e.Text
}

// Position returns where the error is.
func (e Error) Position() Position {
	return Position{File: e.File, Line: e.Line, Column: e.Column}
}

// Errors is all that is wrong in a config, sorted by position. It is never
// empty where a function returns it as an error.
type Errors []Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.As find the single [Error] values.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i := range e {
		errs[i] = e[i]
	}
	return errs
}

// ErrorLimit bounds the errors and the warnings kept of one config, so that a
// hostile file of ten million typos costs neither memory nor hours.
const ErrorLimit = 200

// errTooMany stops the parsing once the limit is reached.
var errTooMany = errors.New("too many errors")

// Report collects errors and warnings while a config is read.
type Report struct {
	Errors   Errors
	Warnings Errors
}

// Fail notes an error at p.
func (r *Report) Fail(p Position, format string, args ...any) {
	r.Errors = note(r.Errors, p, format, args...)
}

// Warn notes a warning at p.
func (r *Report) Warn(p Position, format string, args ...any) {
	r.Warnings = note(r.Warnings, p, format, args...)
}

// Deprecate notes a warning at p that makes `-t` fail.
func (r *Report) Deprecate(p Position, format string, args ...any) {
	if r.Warn(p, format, args...); len(r.Warnings) < ErrorLimit {
		r.Warnings[len(r.Warnings)-1].Deprecated = true
	}
}

// Full reports whether further errors would not be shown.
func (r *Report) Full() bool { return len(r.Errors) >= ErrorLimit }

// note appends to list up to the limit; the last place says that there was more.
func note(list Errors, p Position, format string, args ...any) Errors {
	switch {
	case len(list) >= ErrorLimit:
		return list
	case len(list) == ErrorLimit-1:
		format, args = "%v; the others are not shown", []any{errTooMany}
	}
	return append(list, Error{File: p.File, Line: p.Line, Column: p.Column, Text: fmt.Sprintf(format, args...)})
}

// Sorted returns list by file, line and column, without repetitions. Errors
// with equal positions keep the order in which they were found.
func (e Errors) Sorted() Errors {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(e)
}

// AsError returns the list as an error, nil when it is empty.
func (e Errors) AsError() error {
	if len(e) == 0 {
		return nil
	}
	return e.Sorted()
}
