package content

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"runnel/jetlog/document"
)

// ErrPattern is wrapped by every error of Compile.
var ErrPattern = errors.New("not a content filter")

// Limits of a pattern.
const (
	PatternMaxBytes = 16 << 10 // the text
	depthMax        = 16       // objects in one another, those in $or too
	fieldsMax       = 64       // fields that are asked for in one object, those in its $or too
	choicesMax      = 1000     // alternatives in all, and what anything-but names
)

// The parts of a message.
const (
	partBody    = "body"
	partHeaders = "headers"
	partSubject = "subject"
)

// scope is what an object of a pattern is about.
type scope byte

const (
	ofMessage scope = iota
	ofHeaders
	ofBody
)

// compiler is one run of Compile.
type compiler struct {
	choices int
}

// Compile returns the filter that a pattern describes. An error wraps ErrPattern and says where in the pattern
// something is wrong, and what may be there.
func Compile(text string) (*Filter, error) {
	if len(text) > PatternMaxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrPattern, len(text), PatternMaxBytes)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrPattern)
	}
	r := document.Read([]byte(text))
	check := r
	if check.Skip(); !check.Done() {
		return nil, notJSON(text, check.Offset())
	}
	var c compiler
	message, err := c.message(&r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPattern, err)
	}
	f := &Filter{message: message}
	for i, t := range message.tests {
		if t.name == partBody {
			f.body |= 1 << i
		}
	}
	return f, nil
}

// notJSON says where a pattern stops being JSON.
func notJSON(text string, offset int) error {
	before := text[:offset]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf(`%w: it is empty; a pattern is a JSON object, such as {"status": ["paid"]}`, ErrPattern)
	}
	if offset == len(text) {
		return fmt.Errorf("%w: it is not JSON: it ends too early, at line %d, column %d", ErrPattern, line, column)
	}
	r, _ := utf8.DecodeRuneInString(text[offset:])
	return fmt.Errorf("%w: it is not JSON: %q was not expected at line %d, column %d", ErrPattern, r, line, column)
}

// message compiles the whole pattern: over the parts of a message, or over the body alone.
func (c *compiler) message(r *document.Reader) (*node, error) {
	if r.Kind() != document.Object {
		return nil, errors.New(`it must be a JSON object, such as {"status": ["paid"]}`)
	}
	if named := *r; namesPart(&named, 0) != "" {
		return c.object(r, "", ofMessage, 0)
	}
	body, err := c.object(r, "", ofBody, 0)
	if err != nil {
		return nil, err
	}
	return &node{tests: []test{{name: partBody, object: body}}, rule: rule{all: 1}}, nil
}

// namesPart passes an object of the pattern and returns the first name of a part of a message in it or in its
// $or, empty if it has none.
func namesPart(r *document.Reader, depth int) string {
	found := ""
	note := func(name string) {
		if found == "" {
			found = name
		}
	}
	for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
		key := string(r.Key().Bytes(nil))
		switch {
		case key == partBody || key == partHeaders || key == partSubject:
			note(key)
		case key == "$or" && r.Kind() == document.Array && depth < depthMax:
			alternatives := *r
			for more := alternatives.Enter(document.Array); more; more = alternatives.Next(document.Array) {
				if alternatives.Kind() == document.Object {
					note(namesPart(&alternatives, depth+1))
				} else {
					alternatives.Skip()
				}
			}
		}
		r.Skip()
	}
	return found
}

// object compiles the object that comes next.
func (c *compiler) object(r *document.Reader, path string, of scope, depth int) (*node, error) {
	n := &node{}
	var err error
	if n.rule, err = c.rule(r, n, path, of, depth); err != nil {
		return nil, err
	}
	n.finish()
	return n, nil
}

// rule compiles an object, which is n itself or an alternative in its $or. The tests become tests of n.
func (c *compiler) rule(r *document.Reader, n *node, path string, of scope, depth int) (rule, error) {
	var all rule
	if depth == depthMax {
		return rule{}, problem(path, "objects are nested more than %d deep", depthMax)
	}
	names := map[string]bool{}
	for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
		name := string(r.Key().Bytes(nil))
		at := join(path, name)
		if names[name] {
			return rule{}, problem(at, "is there twice; put all alternatives into one array")
		}
		names[name] = true
		if name == "$or" {
			alternatives, err := c.or(r, n, at, of, depth)
			if err != nil {
				return rule{}, err
			}
			all.any = append(all.any, alternatives)
			continue
		}
		t, err := c.field(r, name, at, of, depth)
		if err != nil {
			return rule{}, err
		}
		if len(n.tests) == fieldsMax {
			return rule{}, problem(path, "more than %d fields are asked for in one object", fieldsMax)
		}
		all.all |= 1 << len(n.tests)
		n.tests = append(n.tests, t)
	}
	if len(names) == 0 {
		return rule{}, problem(path, "an object without fields says nothing; leave it out, or name a field in it")
	}
	return all, nil
}

// or compiles the alternatives of a $or.
func (c *compiler) or(r *document.Reader, n *node, path string, of scope, depth int) ([]rule, error) {
	const want = `$or needs an array of two or more objects, such as [{"a": [1]}, {"b": [2]}]`
	if r.Kind() != document.Array {
		return nil, problem(path, "%s; got %s", want, describe(r.Kind()))
	}
	var alternatives []rule
	for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
		at := element(path, len(alternatives))
		if r.Kind() != document.Object {
			return nil, problem(at, "%s; this is %s", want, describe(r.Kind()))
		}
		alternative, err := c.rule(r, n, at, of, depth+1)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, alternative)
	}
	if len(alternatives) < 2 {
		return nil, problem(path, "%s; got %d", want, len(alternatives))
	}
	return alternatives, nil
}

// field compiles what a pattern asks of a field.
func (c *compiler) field(r *document.Reader, name, path string, of scope, depth int) (test, error) {
	if err := misplaced(r, name, path, of); err != nil {
		return test{}, err
	}
	object := of == ofBody || name == partBody || name == partHeaders
	array := of != ofMessage || name == partSubject
	switch kind := r.Kind(); {
	case kind == document.Object && object:
		inside := ofBody
		if of == ofMessage && name == partHeaders {
			inside = ofHeaders
		}
		n, err := c.object(r, path, inside, depth+1)
		return test{name: name, object: n}, err
	case kind == document.Array && array:
		l, err := c.leaf(r, path, of != ofBody)
		return test{name: name, leaf: l}, err
	case !array:
		return test{}, problem(path, `needs an object of fields, such as {"status": ["paid"]}; got %s`, describe(kind))
	case kind == document.Object:
		return test{}, problem(path, `is a text and needs an array of alternatives, such as ["a", {"prefix": "b"}]; got an object`)
	default:
		return test{}, problem(path, "needs an array of alternatives; got %s: write [%s]", describe(kind), written(r))
	}
}

// misplaced finds the mistakes with names that would otherwise be taken for names of fields.
func misplaced(r *document.Reader, name, path string, of scope) error {
	if of == ofMessage && name != partBody && name != partHeaders && name != partSubject {
		return problem(path, "is not a part of a message: this pattern names body, headers or subject, so all else belongs into one of them, "+
			`fields of the body into "body": {...}`)
	}
	operator := name == "anything-but" || name == "equals-ignore-case"
	if of == ofBody && (operator || name == "numeric" && comparison(*r)) {
		return problem(path, `%q is an operator, which stands in the array of alternatives of a field: {"field": [{%q: ...}]}`, name, name)
	}
	return nil
}

// comparison reports whether an array comes next that begins like that of numeric.
func comparison(r document.Reader) bool {
	if r.Kind() != document.Array || !r.Enter(document.Array) || r.Kind() != document.String {
		return false
	}
	switch string(r.Text().Bytes(nil)) {
	case "=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// join returns the path of a field.
func join(path, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return strings.ContainsRune(`."[] `, r) || r < ' ' }) {
		return fmt.Sprintf("%s[%q]", path, name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// element returns the path of an element of an array.
func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// problem is what is wrong at a place of the pattern.
func problem(path, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if path == "" {
		return errors.New(what)
	}
	return fmt.Errorf("%s: %s", shorten(path), what)
}

// describe names a kind of value with its article.
func describe(kind document.Kind) string {
	switch kind {
	case document.Object:
		return "an object"
	case document.Array:
		return "an array"
	case document.String:
		return "a string"
	case document.Number:
		return "a number"
	case document.Null:
		return "null"
	}
	return "true or false"
}

// written returns how the next value is written.
func written(r *document.Reader) string {
	end := *r
	end.Skip()
	return shorten(string(r.Raw(&end)))
}

// shorten leaves the beginning of what is long.
func shorten(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
