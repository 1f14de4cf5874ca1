package document

import (
	"encoding/binary"
	"math/bits"
)

// DepthMax is how deep objects and arrays may be nested. It keeps a hostile document from using up the stack.
const DepthMax = 1000

// Kind is what a value is.
type Kind byte

// The kinds of values. None is what there is after the end, after an error, and where no value begins.
const (
	None Kind = iota
	Object
	Array
	String
	Number
	True
	False
	Null
)

// Reader stands somewhere in a document. A copy of it stands at the same place and moves by itself, so a value
// can be read more than once. It is for one goroutine.
type Reader struct {
	data   []byte
	at     int // 0 <= at <= len(data)
	depth  int // of the objects and arrays that were entered and not left
	failed bool
}

// Read returns a Reader that stands before the only value of a document. The document is not copied and must
// not change while it is read.
func Read(data []byte) Reader { return Reader{data: data} }

// Done reports whether the Reader has come to the end of a document without an error.
func (r *Reader) Done() bool {
	r.blank()
	return !r.failed && r.depth == 0 && r.at == len(r.data)
}

// Failed reports whether there was an error so far.
func (r *Reader) Failed() bool { return r.failed }

// Offset returns how many bytes the Reader has passed, which is where the error is if there was one.
func (r *Reader) Offset() int { return r.at }

// Raw returns what is between the Reader and a copy of it that has gone on, such as a value as it is written.
func (r *Reader) Raw(end *Reader) []byte { return r.data[r.at:end.at] }

// Kind returns what the value is that comes next. Only its first byte has been looked at.
func (r *Reader) Kind() Kind {
	r.blank()
	if r.failed || r.at == len(r.data) {
		return None
	}
	switch c := r.data[r.at]; c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	default:
		if c == '-' || digit(c) {
			return Number
		}
		return None
	}
}

// Skip passes the next value, whatever it is.
func (r *Reader) Skip() {
	switch kind := r.Kind(); kind {
	case Object:
		for more := r.Enter(Object); more; more = r.Next(Object) {
			r.Key()
			r.Skip()
		}
	case Array:
		for more := r.Enter(Array); more; more = r.Next(Array) {
			r.Skip()
		}
	case String:
		r.text()
	default:
		r.scalar(kind)
	}
}

// Enter goes into the next value, which must be an object or array as told. It reports whether there is
// something inside; if not, the value has been passed.
func (r *Reader) Enter(kind Kind) bool {
	if r.Kind() != kind || r.depth == DepthMax {
		return r.fail()
	}
	r.depth++
	r.at++
	r.blank()
	if r.at < len(r.data) && r.data[r.at] == closing(kind) {
		return r.leave()
	}
	return true
}

// Next goes from a member of an object, or from an element of an array, to the next one. If there is none,
// the object or array has been passed.
func (r *Reader) Next(kind Kind) bool {
	r.blank()
	if r.failed || r.at == len(r.data) {
		return r.fail()
	}
	switch r.data[r.at] {
	case ',':
		r.at++
		return true
	case closing(kind):
		return r.leave()
	}
	return r.fail()
}

// Key passes the name of a member of an object, and the colon behind it.
func (r *Reader) Key() Text {
	name := r.Text()
	r.blank()
	if r.failed || r.at == len(r.data) || r.data[r.at] != ':' {
		r.fail()
		return Text{}
	}
	r.at++
	return name
}

// Text passes the next value, which must be a string.
func (r *Reader) Text() Text {
	if r.Kind() != String {
		r.fail()
		return Text{}
	}
	return r.text()
}

// text passes the string whose first quote is next.
func (r *Reader) text() Text {
	start := r.at + 1
	escaped := false
	for i := start; ; {
		i = stop(r.data, i)
		if i == len(r.data) {
			break
		}
		switch c := r.data[i]; {
		case c == '"':
			r.at = i + 1
			return Text{raw: r.data[start:i], escaped: escaped}
		case c == '\\' && escape(r.data[i:]) > 0:
			escaped = true
			i += escape(r.data[i:])
			continue
		}
		break
	}
	r.fail()
	return Text{}
}

// Scalar passes the next value, which must be a number, true, false or null, and returns how it is written.
func (r *Reader) Scalar() []byte { return r.scalar(r.Kind()) }

// scalar passes the next value, whose kind is known.
func (r *Reader) scalar(kind Kind) []byte {
	rest, n := r.data[r.at:], 0
	switch kind {
	case Number:
		n = number(rest)
	case True:
		n = literal(rest, "true")
	case False:
		n = literal(rest, "false")
	case Null:
		n = literal(rest, "null")
	}
	if n == 0 {
		r.fail()
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

// leave passes the end of an object or array.
func (r *Reader) leave() bool {
	r.depth--
	r.at++
	return false
}

// fail keeps that there is an error here.
func (r *Reader) fail() bool {
	r.failed = true
	return false
}

// blank passes white space.
func (r *Reader) blank() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

func closing(kind Kind) byte {
	if kind == Object {
		return '}'
	}
	return ']'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// stop returns where, from a place in a string on, the first byte is that is not simply part of it: a quote,
// a backslash, or a control character, which a string must not have. It looks at eight bytes at once: each
// of the three terms has the highest bit set in the bytes that it looks for, and perhaps in some above the
// lowest of them.
func stop(data []byte, i int) int {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		quote, slash := x^('"'*ones), x^('\\'*ones)
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x) & highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// escape returns the length of the escape sequence that data begins with, 0 if that is none.
func escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex(data[2:]); ok {
			return 6
		}
	}
	return 0
}

// number returns the length of the number that data begins with, 0 if that is none.
func number(data []byte) int {
	i := 0
	if i < len(data) && data[i] == '-' {
		i++
	}
	whole := digits(data[i:])
	if whole == 0 || whole > 1 && data[i] == '0' {
		return 0
	}
	i += whole
	if i < len(data) && data[i] == '.' {
		n := digits(data[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		n := digits(data[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// digits counts the digits that data begins with.
func digits(data []byte) int {
	i := 0
	for i < len(data) && digit(data[i]) {
		i++
	}
	return i
}

// literal returns the length of a word if data begins with it.
func literal(data []byte, word string) int {
	if len(data) < len(word) || string(data[:len(word)]) != word {
		return 0
	}
	return len(word)
}
