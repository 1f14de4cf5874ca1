package syntax

import (
	"os"
	"slices"
	"strings"
)

// bcryptPrefixes begin password hashes, which are no variables although they
// start with a dollar sign.
var bcryptPrefixes = []string{"$2a$", "$2b$", "$2y$"}

// IsPasswordHash reports whether a password is a bcrypt hash.
func IsPasswordHash(password string) bool {
	return slices.ContainsFunc(bcryptPrefixes, func(s string) bool { return strings.HasPrefix(password, s) })
}

// isVariable reports whether a word refers to a variable.
func isVariable(w word) bool {
	return !w.quoted && strings.HasPrefix(w.text, "$") && !IsPasswordHash(w.text)
}

// variable returns what the word w refers to: the value of that key in the
// nearest map around it, as far as it was read, or else the environment's.
func (p *parser) variable(w word) (*Value, error) {
	name := w.text[1:]
	for _, scope := range slices.Backward(p.scopes) {
		if f := scope.lookup(name); f != nil {
			f.Used = true
			return f.Value.referred(name, w.pos), nil
		}
	}
	if ring := slices.Index(p.environment, name); ring >= 0 {
		names := append(p.environment[ring:], name)
		return nil, lexError(w.pos, "variable cycle: $%s", strings.Join(names, " refers to $"))
	}
	text, ok := os.LookupEnv(name)
	if !ok {
		return nil, lexError(w.pos, "the variable $%s is set neither above nor in the environment; quote the value if it is meant as text", Shorten(name))
	}
	return p.environmentValue(w, name, text)
}

// environmentValue parses the text of an environment variable as a value. Its
// errors are reported where the variable is used.
func (p *parser) environmentValue(w word, name, text string) (*Value, error) {
	lx, err := newLexer(p.lx.file, []byte(text))
	if err == nil {
		outer := p.lx
		p.lx = lx
		p.environment = append(p.environment, name)
		defer func() {
			p.lx = outer
			p.environment = p.environment[:len(p.environment)-1]
		}()
		var v *Value
		if v, err = p.soleValue(); err == nil {
			return v.referred(name, w.pos), nil
		}
	}
	e, _ := err.(Error)
	return nil, lexError(w.pos, "in the environment variable $%s: %s", name, e.Text)
}

// soleValue parses a text that is one value and nothing else. No text at all
// is the empty string.
func (p *parser) soleValue() (*Value, error) {
	lx := p.lx
	lx.skipLines()
	if lx.peek() == 0 {
		return &Value{Kind: String, weight: 1}, nil
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if lx.skipLines(); lx.peek() != 0 {
		return nil, lexError(lx.here(), "expected one value, got %s after it; quote text with blanks", lx.shown())
	}
	return v, nil
}

// referred returns v as the value of a variable that is used at p. What is
// below v is shared.
func (v *Value) referred(name string, p Position) *Value {
	copied := *v
	copied.Variable, copied.Pos = name, p
	return &copied
}
