package keyed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"runnel/headers"
	"runnel/jetlog/document"
)

// ErrExpression is wrapped by every error of Parse.
var ErrExpression = errors.New("not a key expression")

// Limits of an expression.
const (
	expressionMaxBytes = 256
	tokenMax           = 128
	stepsMax           = 16
)

// source is where an expression looks.
type source byte

const (
	inSubject source = iota + 1
	inHeader
	inBody
)

// Expression says where the key of a message is. The zero value is none: use Parse. It does not change and may
// be used by many goroutines.
type Expression struct {
	source   source
	text     string
	from, to int      // of inSubject: the first and the last token, counted from 1
	name     string   // of inHeader
	path     []string // of inBody
}

// Parse returns what an expression means. An error wraps ErrExpression and says what is wrong and what may be
// there.
func Parse(text string) (Expression, error) {
	e := Expression{text: text}
	kind, rest, _ := strings.Cut(text, ":")
	var err error
	switch {
	case len(text) > expressionMaxBytes:
		err = fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), expressionMaxBytes)
	case kind == "token":
		e.source = inSubject
		e.from, err = token(rest)
		e.to = e.from
	case kind == "tokens":
		e.source = inSubject
		e.from, e.to, err = tokens(rest)
	case kind == "header":
		e.source, e.name = inHeader, rest
		err = headerName(rest)
	case kind == "json":
		e.source = inBody
		e.path, err = path(rest)
	default:
		err = fmt.Errorf("%q; write token:2, tokens:1-3, header:Order-Id or json:order.id", text)
	}
	if err != nil {
		return Expression{}, fmt.Errorf("%w: %w", ErrExpression, err)
	}
	return e, nil
}

func token(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > tokenMax || text[0] == '+' || text[0] == '0' {
		return 0, fmt.Errorf("tokens of a subject are counted from 1 to %d; got %q", tokenMax, text)
	}
	return n, nil
}

func tokens(text string) (from, to int, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return 0, 0, fmt.Errorf("tokens needs the first and the last one, as in tokens:1-3; got %q", text)
	}
	if from, err = token(first); err != nil {
		return 0, 0, err
	}
	if to, err = token(last); err == nil && from > to {
		err = fmt.Errorf("the first token is behind the last one in %q", text)
	}
	return from, to, err
}

func headerName(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f }
	if name == "" || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("the name of a header has no blanks and no colon, and is not empty; got %q", name)
	}
	return nil
}

// path splits names at their dots.
func path(text string) ([]string, error) {
	var steps []string
	var step strings.Builder
	end := func() bool {
		steps = append(steps, step.String())
		step.Reset()
		return steps[len(steps)-1] != ""
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			if !end() {
				return nil, fmt.Errorf("a name is empty in %q; names are separated by one dot, as in json:order.id", text)
			}
		case c != '\\':
			step.WriteByte(c)
		default:
			if i++; i == len(text) || text[i] != '.' && text[i] != '\\' {
				return nil, fmt.Errorf(`a backslash in %q stands before something else than a dot or a backslash`, text)
			}
			step.WriteByte(text[i])
		}
	}
	if !end() {
		return nil, fmt.Errorf("a name is empty in %q; names are separated by one dot, as in json:order.id", text)
	}
	if len(steps) > stepsMax {
		return nil, fmt.Errorf("it goes %d names deep, at most %d are allowed", len(steps), stepsMax)
	}
	return steps, nil
}

// String returns the expression as it was written.
func (e Expression) String() string { return e.text }

// NeedsBody reports whether the key is in the body, so that who asks for it must have that at hand.
func (e Expression) NeedsBody() bool { return e.source == inBody }

// Tokens returns how many tokens a subject needs for its message to have a key, 0 if the key is not in the subject.
func (e Expression) Tokens() int { return e.to }

// Key appends the key of a message to dst. It is false, and dst as it was, if the message has none.
func (e Expression) Key(dst []byte, subject string, header, body []byte) ([]byte, bool) {
	switch e.source {
	case inSubject:
		part, ok := e.tokens(subject)
		return append(dst, part...), ok
	case inHeader:
		value, ok := headers.Get(header, e.name)
		return append(dst, value...), ok
	case inBody:
		return e.field(dst, body)
	}
	return dst, false
}

// tokens returns the part of a subject from token e.from to token e.to.
func (e Expression) tokens(subject string) (string, bool) {
	start := 0
	for n, at := 1, 0; ; n++ {
		if n == e.from {
			start = at
		}
		dot := strings.IndexByte(subject[at:], '.')
		switch {
		case n == e.to && dot < 0:
			return subject[start:], true
		case n == e.to:
			return subject[start : at+dot], true
		case dot < 0:
			return "", false
		}
		at += dot + 1
	}
}

// field appends the value of a field of a body.
func (e Expression) field(dst, body []byte) ([]byte, bool) {
	r := document.Read(body)
	for _, step := range e.path {
		if !enter(&r, step) {
			return dst, false
		}
	}
	switch r.Kind() {
	case document.String:
		if text := r.Text(); !r.Failed() {
			return text.Append(dst), true
		}
	case document.Number, document.True, document.False:
		if text := r.Scalar(); !r.Failed() {
			return append(dst, text...), true
		}
	}
	return dst, false
}

// enter goes into the object or array that comes next, and to the value of that name or at that place.
func enter(r *document.Reader, step string) bool {
	switch r.Kind() {
	case document.Object:
		for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
			if r.Key().Is(step) {
				return !r.Failed()
			}
			r.Skip()
		}
	case document.Array:
		place, err := strconv.ParseUint(step, 10, 31)
		if err != nil {
			return false
		}
		for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
			if place == 0 {
				return true
			}
			place--
			r.Skip()
		}
	}
	return false
}
