package syntax

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lexer walks through the text of one file. It knows the words of the language
// (keys, strings, separators, comments) and nothing of their nesting.
type lexer struct {
	file string
	text []byte
	// at is the offset of the next byte; line counts from 1 and lineStart is
	// the offset of its first byte, so that a column costs nothing until asked.
	at        int
	line      int
	lineStart int
	// column is that of the byte at mark, the last place whose column was
	// asked for: the next one is counted from there.
	mark   int
	column int
}

// word is a key, or a value that is not a map or an array.
type word struct {
	text   string
	quoted bool // "...", '...' or ( ... ): never a number, boolean or variable
	pos    Position
}

// byteOrderMark may stand at the start of a file and means nothing.
const byteOrderMark = "\ufeff"

// newLexer checks that text is text: valid UTF-8 without NUL bytes.
func newLexer(file string, text []byte) (*lexer, error) {
	lx := &lexer{file: file, text: bytes.TrimPrefix(text, []byte(byteOrderMark)), line: 1}
	for i := 0; i < len(lx.text); {
		r, size := utf8.DecodeRune(lx.text[i:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			lx.at = i
			if r == 0 {
				return nil, lexError(lx.here(), "a NUL byte; is this a text file?")
			}
			return nil, lexError(lx.here(), "the byte 0x%02x is not UTF-8 text", lx.text[i])
		}
		if r == '\n' {
			lx.line, lx.lineStart = lx.line+1, i+1
		}
		i += size
	}
	lx.line, lx.lineStart = 1, 0
	return lx, nil
}

// lexError returns an [Error] at p.
func lexError(p Position, format string, args ...any) error {
	return note(nil, p, format, args...)[0]
}

// here returns the position of the next byte.
func (lx *lexer) here() Position {
	if lx.mark < lx.lineStart || lx.mark > lx.at || lx.column == 0 {
		lx.mark, lx.column = lx.lineStart, 1
	}
	lx.column += utf8.RuneCount(lx.text[lx.mark:lx.at])
	lx.mark = lx.at
	return Position{File: lx.file, Line: lx.line, Column: lx.column}
}

// peek returns the next byte, 0 at the end of the text (which holds no NUL).
func (lx *lexer) peek() byte {
	if lx.at < len(lx.text) {
		return lx.text[lx.at]
	}
	return 0
}

// next consumes one byte and keeps the line count.
func (lx *lexer) next() {
	if lx.text[lx.at] == '\n' {
		lx.line, lx.lineStart = lx.line+1, lx.at+1
	}
	lx.at++
}

// startsComment reports whether a comment begins here. It does only between
// words: `nats://host` and `a#b` are words.
func (lx *lexer) startsComment() bool {
	return lx.peek() == '#' || bytes.HasPrefix(lx.text[lx.at:], []byte("//"))
}

// skipBlanks skips spaces and comments, but stays on the line.
func (lx *lexer) skipBlanks() {
	for isBlank(lx.peek()) {
		lx.at++
	}
	if lx.startsComment() {
		for c := lx.peek(); c != 0 && c != '\n'; c = lx.peek() {
			lx.at++
		}
	}
}

// skipLines skips spaces, comments and line ends.
func (lx *lexer) skipLines() {
	for lx.skipBlanks(); lx.peek() == '\n'; lx.skipBlanks() {
		lx.next()
	}
}

// shown returns the next character as errors show it.
func (lx *lexer) shown() string {
	switch lx.peek() {
	case 0:
		return "the end of the file"
	case '\n':
		return "the end of the line"
	}
	r, _ := utf8.DecodeRune(lx.text[lx.at:])
	return strconv.Quote(string(r))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// endsKey and endsValue say where an unquoted word stops.
func endsKey(c byte) bool {
	return c == 0 || isBlank(c) || strings.IndexByte("\n:=,;{}[]", c) >= 0
}

func endsValue(c byte) bool {
	return c == 0 || isBlank(c) || strings.IndexByte("\n,;}]", c) >= 0
}

// key reads the key that begins here. An unquoted key may be empty, then
// nothing was consumed.
func (lx *lexer) key() (word, error) {
	if c := lx.peek(); c == '"' || c == '\'' {
		return lx.quotedWord(c)
	}
	w := word{pos: lx.here()}
	start := lx.at
	for !endsKey(lx.peek()) {
		lx.at++
	}
	w.text = string(lx.text[start:lx.at])
	return w, nil
}

// value reads the string or bare word that begins here.
func (lx *lexer) value() (word, error) {
	switch c := lx.peek(); c {
	case '"', '\'':
		return lx.quotedWord(c)
	case '(':
		return lx.block()
	}
	return lx.bare()
}

// quotedWord reads a string that begins with the quote q. It may span lines;
// only double quotes know escapes.
func (lx *lexer) quotedWord(q byte) (word, error) {
	w := word{quoted: true, pos: lx.here()}
	lx.at++
	var b strings.Builder
	for {
		switch c := lx.peek(); {
		case c == 0:
			return w, lexError(w.pos, "this quote (%c) is never closed", q)
		case c == q:
			lx.at++
			w.text = b.String()
			return w, nil
		case c == '\\' && q == '"':
			if err := lx.escape(&b); err != nil {
				return w, err
			}
		default:
			b.WriteByte(c)
			lx.next()
		}
	}
}

// bare reads an unquoted word. Double braces, as in `a.{{wildcard(1)}}`, belong
// to the word although a single one would end it.
func (lx *lexer) bare() (word, error) {
	w := word{pos: lx.here()}
	var b strings.Builder
	for {
		c := lx.peek()
		switch {
		case c == '{' && lx.function(&b):
		case endsValue(c):
			w.text = b.String()
			return w, nil
		case c == '\\':
			if err := lx.escape(&b); err != nil {
				return w, err
			}
		default:
			b.WriteByte(c)
			lx.at++
		}
	}
}

// function consumes a mapping function `{{...}}` that is closed on this line,
// and reports whether there was one.
func (lx *lexer) function(b *strings.Builder) bool {
	const longest = 256
	rest := lx.text[lx.at:min(lx.at+longest, len(lx.text))]
	if !bytes.HasPrefix(rest, []byte("{{")) {
		return false
	}
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	end := bytes.Index(rest, []byte("}}"))
	if end < 0 {
		return false
	}
	b.Write(rest[:end+2])
	lx.at += end + 2
	return true
}

// simpleEscapes are the escapes of one letter. The last four come with JSON.
var simpleEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\\': '\\',
	'/': '/', 'b': '\b', 'f': '\f',
}

// escape reads the escape sequence that begins here into b.
func (lx *lexer) escape(b *strings.Builder) error {
	pos := lx.here()
	lx.at++
	c := lx.peek()
	lx.at++ // at the end of the text this is corrected below
	switch c {
	case 'x':
		n, ok := lx.hex(2)
		if !ok {
			return lexError(pos, `\x needs two hex digits`)
		}
		b.WriteByte(byte(n))
	case 'u':
		n, ok := lx.hex(4)
		if !ok {
			return lexError(pos, `\u needs four hex digits`)
		}
		b.WriteRune(lx.surrogates(rune(n)))
	default:
		plain, ok := simpleEscapes[c]
		if !ok {
			lx.at--
			return lexError(pos, `unknown escape \ before %s; write \\ for a backslash, or use single quotes`, lx.shown())
		}
		b.WriteByte(plain)
	}
	return nil
}

// hex reads exactly n hex digits.
func (lx *lexer) hex(n int) (uint64, bool) {
	if lx.at+n > len(lx.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(lx.text[lx.at:lx.at+n]), 16, 32)
	if err != nil {
		return 0, false
	}
	lx.at += n
	return v, true
}

// surrogates joins r with the second half that JSON writes as another \u.
func (lx *lexer) surrogates(r rune) rune {
	const first, second = 0xd800, 0xdc00
	if r < first || r >= second || !bytes.HasPrefix(lx.text[lx.at:], []byte(`\u`)) {
		return r // a lone half is written as U+FFFD
	}
	lx.at += 2
	low, ok := lx.hex(4)
	if !ok || low < second || low > 0xdfff {
		lx.at -= 2
		if ok {
			lx.at -= 4
		}
		return utf8.RuneError
	}
	return 0x10000 + (r-first)<<10 + (rune(low) - second)
}

// block reads `( ... )`: raw text up to a line that begins with the closing
// parenthesis.
func (lx *lexer) block() (word, error) {
	w := word{quoted: true, pos: lx.here()}
	lx.at++
	start := lx.at
	for {
		rest := lx.text[lx.at:]
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return w, lexError(w.pos, `this block "(" is never closed by a ")" on a line of its own`)
		}
		lx.at += i
		lx.next()
		content := lx.at
		for isBlank(lx.peek()) {
			lx.at++
		}
		if lx.closesBlock() {
			w.text = string(lx.text[start:content])
			return w, nil
		}
	}
}

// closesBlock consumes a `)` that is alone on its line or is followed by
// what may follow a value.
func (lx *lexer) closesBlock() bool {
	if lx.peek() != ')' {
		return false
	}
	before := lx.at
	lx.at++
	after := *lx
	after.skipBlanks()
	if c := after.peek(); c == '\n' || endsValue(c) {
		return true
	}
	lx.at = before
	return false
}
