package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What a request may be made of. Nothing sensible comes near; beyond it a short text would take long or much memory.
const (
	maxDepth   = 32
	maxObjects = 20000
	maxNames   = 200000 // of members in all
)

// errTooMuch is a request that is not even decoded.
var errTooMuch = errors.New("json: too deeply nested or too many members")

// scanner looks at the members and texts of JSON. It does not check the grammar: on what is no JSON its findings mean
// nothing, but it ends.
type scanner struct {
	data    []byte
	at      int
	open    []object
	objects int // so far, arrays included
	names   int // so far
}

// object is an object or array whose end has not come.
type object struct {
	array bool
	exact bool            // names that differ in upper and lower case are different
	value bool            // what comes next is a value
	names map[string]bool // seen, folded unless exact; made with the first
	key   string          // the last one
}

// scan returns what is wrong with JSON that the decoder would let pass: a member that is there twice, which has no
// meaning that both sides agree on, and text that is not UTF-8. It is errTooMuch, wrapped, for what must not even be
// decoded.
func scan(data []byte) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("json: invalid UTF-8 at offset %d", validPrefix(data)+1)
	}
	s := scanner{data: data}
	var odd error
	for s.at < len(data) {
		err := s.step()
		if errors.Is(err, errTooMuch) {
			return err
		}
		if odd == nil {
			odd = err
		}
	}
	return odd
}

// step passes over one byte that is not in a text, or over a text.
func (s *scanner) step() error {
	c := s.data[s.at]
	s.at++
	switch c {
	case '{', '[':
		return s.push(c == '[')
	case '}', ']':
		if len(s.open) > 0 {
			s.open = s.open[:len(s.open)-1]
		}
	case ':', ',':
		if len(s.open) > 0 {
			s.open[len(s.open)-1].value = c == ':'
		}
	case '"':
		return s.text()
	}
	return nil
}

// push opens an object or array.
func (s *scanner) push(array bool) error {
	s.objects++
	if len(s.open) >= maxDepth || s.objects > maxObjects {
		return fmt.Errorf("%w at offset %d", errTooMuch, s.at)
	}
	o := object{array: array}
	if n := len(s.open); n > 0 {
		// The members of these are names that clients have chosen, not ours.
		o.exact = s.open[n-1].key == "metadata" || s.open[n-1].key == "subjects"
	}
	s.open = append(s.open, o)
	return nil
}

// text passes over a text, whose first quote is behind us, and notes it if it names a member.
func (s *scanner) text() error {
	start := s.at
	var odd error
	for s.at < len(s.data) && s.data[s.at] != '"' {
		n, ok := escape(s.data[s.at:])
		if !ok && odd == nil {
			odd = fmt.Errorf("json: half a surrogate pair at offset %d", s.at+1)
		}
		s.at += n
	}
	end := min(s.at, len(s.data))
	s.at++
	if odd != nil || len(s.open) == 0 {
		return odd
	}
	o := &s.open[len(s.open)-1]
	if o.array || o.value {
		return nil
	}
	if s.names++; s.names > maxNames {
		return fmt.Errorf("%w at offset %d", errTooMuch, start)
	}
	name := unescape(s.data[start:end])
	o.key = name
	folded := name
	if !o.exact {
		folded = strings.ToLower(strings.ToUpper(name)) // as encoding/json folds: there are two small s, for one
	}
	if o.names[folded] {
		return fmt.Errorf("json: duplicate field %q at offset %d", name, start)
	}
	if o.names == nil {
		o.names = map[string]bool{}
	}
	o.names[folded] = true
	return nil
}

// escape returns the length of what a text begins with: a byte or an escape. It is not ok for half of a surrogate pair,
// which is no character.
func escape(text []byte) (n int, ok bool) {
	if text[0] != '\\' {
		return 1, true
	}
	first, isUnicode := unicodeEscape(text)
	if !isUnicode {
		return 2, true
	}
	if !utf16.IsSurrogate(first) {
		return 6, true
	}
	second, _ := unicodeEscape(text[6:])
	if utf16.DecodeRune(first, second) == utf8.RuneError {
		return 6, false
	}
	return 12, true
}

// unicodeEscape returns the value of an escape with four hexadecimal digits, if the text begins with one.
func unicodeEscape(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// unescape returns a text without its escapes; as it is, if it is none.
func unescape(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var name string
	if json.Unmarshal(slices.Concat([]byte(`"`), text, []byte(`"`)), &name) != nil {
		return string(text)
	}
	return name
}

// validPrefix returns how many bytes from the beginning on are UTF-8.
func validPrefix(data []byte) int {
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			return n
		}
		n += size
	}
	return n
}
