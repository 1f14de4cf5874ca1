package syntax

import (
	"errors"
	"strings"
)

// Bounds on what a config may be; each exceeds any sensible file by far.
const (
	depthLimit   = 100      // nested maps and arrays
	includeLimit = 16       // nested include directives
	sizeLimit    = 64 << 20 // bytes of all files together
	fileCost     = 16 << 10 // bytes that an include counts besides its text
	weightLimit  = 2 << 20  // values, those of a variable counted at each use
)

const tooManyValues = "the config has more than 2 million values"

// parser turns text into values. It follows include directives and variables
// at once, so what comes later in a file is not seen by what comes earlier.
type parser struct {
	*Report
	lx *lexer
	// scopes are the maps around the current place, the outermost first.
	scopes []*Value
	depth  int
	// files are the include directives that lead here, the main file first.
	files []string
	// environment holds the variables whose text is being parsed.
	environment []string
	sizeBytes   int
	// values counts what was parsed, against weightLimit like the weights.
	values int
}

// Parse parses text as the main file. Whatever is wrong is in r; the
// returned map is usable as far as it goes.
func Parse(r *Report, file string, text []byte) *Value {
	root := &Value{Kind: Map, Pos: Position{File: file, Line: 1, Column: 1}, weight: 1}
	p := &parser{Report: r, scopes: []*Value{root}}
	if err := p.file(file, text, root); err != nil {
		p.note(err)
	}
	return root
}

// note adds the error that ended the parsing of a file to the report.
func (p *parser) note(err error) {
	var e Error
	if errors.As(err, &e) { // else errTooMany, which the report shows by itself
		p.Fail(e.Position(), "%s", e.Text)
	}
}

// file parses the text of a whole file into the map m.
func (p *parser) file(name string, text []byte, m *Value) error {
	p.sizeBytes += len(text) + fileCost
	if p.sizeBytes > sizeLimit {
		return Error{File: name, Text: "the config is larger than 64 MiB with all that it includes"}
	}
	lx, err := newLexer(name, text)
	if err != nil {
		return err
	}
	outer := p.lx
	p.lx = lx
	p.files = append(p.files, name)
	defer func() {
		p.lx = outer
		p.files = p.files[:len(p.files)-1]
	}()
	return p.topLevel(m)
}

// topLevel parses a file: keys, or one JSON object around them.
func (p *parser) topLevel(m *Value) error {
	lx := p.lx
	lx.skipLines()
	if lx.peek() != '{' {
		return p.fields(m, 0)
	}
	open := lx.here()
	lx.at++
	if err := p.fields(m, '}'); err != nil {
		return err
	}
	if lx.peek() == 0 {
		return lexError(open, `this "{" is never closed`)
	}
	lx.at++
	if lx.skipLines(); lx.peek() != 0 {
		return lexError(lx.here(), `expected the end of the file after the closing "}", got %s`, lx.shown())
	}
	return nil
}

// fields parses keys with their values into m, up to the closing byte (not
// consumed) or the end of the text.
func (p *parser) fields(m *Value, closing byte) error {
	lx := p.lx
	for {
		lx.skipLines()
		switch c := lx.peek(); {
		case c == 0 || c == closing:
			return nil
		case strings.IndexByte("}])", c) >= 0:
			return lexError(lx.here(), "%s closes nothing", lx.shown())
		}
		if err := p.field(m); err != nil {
			return err
		}
		if err := p.endOfField(closing); err != nil {
			return err
		}
	}
}

// field parses one key with its value, or an include directive.
func (p *parser) field(m *Value) error {
	lx := p.lx
	key, err := lx.key()
	if err != nil {
		return err
	}
	if key.text == "" && !key.quoted {
		return lexError(key.pos, "expected a key, got %s", lx.shown())
	}
	lx.skipBlanks()
	if key.text == "include" && !key.quoted && !strings.ContainsRune(":={", rune(lx.peek())) {
		return p.include(m)
	}
	if err := p.separator(key); err != nil {
		return err
	}
	v, err := p.value()
	if err != nil {
		return err
	}
	m.add(&Field{Key: key.text, Pos: key.pos, Value: v})
	return p.weigh(m, v)
}

// separator consumes what stands between a key and its Value: `:`, `=` or
// nothing. A value may begin on a later line only where it cannot be taken
// for the next key.
func (p *parser) separator(key word) error {
	lx := p.lx
	later := "{["
	line := lx.line
	lx.skipLines()
	if c := lx.peek(); c == ':' || c == '=' {
		later = `{["` // as JSON may be laid out
		lx.at++
		line = lx.line
		lx.skipLines()
	}
	c := lx.peek()
	if endsValue(c) || lx.line != line && strings.IndexByte(later, c) < 0 {
		return lexError(key.pos, "the key %q has no value", Shorten(key.text))
	}
	return nil
}

// endOfField consumes what ends a Value: a line end, a comma, a semicolon, or
// nothing before the closing byte and the end of the text.
func (p *parser) endOfField(closing byte) error {
	lx := p.lx
	lx.skipBlanks()
	switch c := lx.peek(); {
	case c == ',' || c == ';':
		lx.at++
		return nil
	case c == '\n' || c == 0 || c == closing:
		return nil
	}
	return lexError(lx.here(), "expected a new line, a comma or a semicolon after the value, got %s", lx.shown())
}

// value parses the value that begins here.
func (p *parser) value() (*Value, error) {
	if p.values++; p.values > weightLimit {
		return nil, lexError(p.lx.here(), tooManyValues)
	}
	switch p.lx.peek() {
	case '{':
		return p.nested(Map, '}')
	case '[':
		return p.nested(Array, ']')
	}
	w, err := p.lx.value()
	if err != nil {
		return nil, err
	}
	if isVariable(w) {
		return p.variable(w)
	}
	return scalar(w), nil
}

// nested parses a map or an array, which begins here.
func (p *parser) nested(k Kind, closing byte) (*Value, error) {
	lx := p.lx
	v := &Value{Kind: k, Pos: lx.here(), weight: 1}
	if p.depth++; p.depth > depthLimit {
		return nil, lexError(v.Pos, "nested deeper than %d levels", depthLimit)
	}
	defer func() { p.depth-- }()
	opening := lx.peek()
	lx.at++
	var err error
	if k == Map {
		p.scopes = append(p.scopes, v)
		err = p.fields(v, closing)
		p.scopes = p.scopes[:len(p.scopes)-1]
	} else {
		err = p.items(v)
	}
	if err != nil {
		return nil, err
	}
	if lx.peek() == 0 {
		return nil, lexError(v.Pos, `this "%c" is never closed`, opening)
	}
	lx.at++
	return v, nil
}

// items parses the items of an array up to `]` (not consumed) or the end of
// the text.
func (p *parser) items(a *Value) error {
	lx := p.lx
	for {
		lx.skipLines()
		switch c := lx.peek(); {
		case c == ']' || c == 0:
			return nil
		case endsValue(c):
			return lexError(lx.here(), "expected a value or \"]\", got %s", lx.shown())
		}
		v, err := p.value()
		if err != nil {
			return err
		}
		a.Items = append(a.Items, v)
		if err := p.weigh(a, v); err != nil {
			return err
		}
		if err := p.endOfItem(a); err != nil {
			return err
		}
	}
}

// endOfItem consumes the comma or the line end after an item. A comma on the
// line after the item counts too, as JSON allows it.
func (p *parser) endOfItem(a *Value) error {
	lx := p.lx
	line := lx.line
	lx.skipLines()
	switch c := lx.peek(); {
	case c == ',' || c == ';':
		lx.at++
	case c == ']' || c == 0 || lx.line != line:
	default:
		return lexError(lx.here(), `expected a comma or "]" in the list of line %d, got %s`, a.Pos.Line, lx.shown())
	}
	return nil
}

// weigh adds the weight of child to parent. Only variables can make the sum
// exceed what the size of the files allows.
func (p *parser) weigh(parent, child *Value) error {
	parent.weight += child.weight
	if parent.weight > weightLimit {
		return lexError(child.Pos, tooManyValues)
	}
	return nil
}
