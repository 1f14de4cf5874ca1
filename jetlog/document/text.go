package document

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a string of a document, as it is written there.
type Text struct {
	raw     []byte // between the quotes
	escaped bool   // there are escape sequences in it
}

// Is reports whether the text is s.
func (t Text) Is(s string) bool {
	if !t.escaped {
		return string(t.raw) == s
	}
	if len(t.raw) > 6*len(s) {
		return false // an escape sequence has at most six bytes for each one that it stands for
	}
	var room [64]byte
	return string(t.Append(room[:0])) == s
}

// Bytes returns the text. It is a part of the document if nothing in it is escaped, otherwise it is written
// over what buffer has, which is made larger if need be.
func (t Text) Bytes(buffer []byte) []byte {
	if !t.escaped {
		return t.raw
	}
	return t.Append(buffer[:0])
}

// Append appends the text to dst.
func (t Text) Append(dst []byte) []byte {
	if !t.escaped {
		return append(dst, t.raw...)
	}
	for rest := t.raw; len(rest) > 0; {
		if c := rest[0]; c != '\\' {
			dst = append(dst, c)
			rest = rest[1:]
			continue
		}
		var n int
		dst, n = unescape(dst, rest)
		rest = rest[n:]
	}
	return dst
}

// unescape appends what an escape sequence stands for, and returns how long it, or a pair of them, is.
func unescape(dst, data []byte) ([]byte, int) {
	switch c := data[1]; c {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		first, _ := hex(data[2:])
		if utf16.IsSurrogate(first) && len(data) >= 12 && data[6] == '\\' && data[7] == 'u' {
			second, _ := hex(data[8:])
			if both := utf16.DecodeRune(first, second); both != utf8.RuneError {
				return utf8.AppendRune(dst, both), 12
			}
		}
		return utf8.AppendRune(dst, first), 6 // a surrogate becomes U+FFFD
	default:
		return append(dst, c), 2 // a quote, backslash or slash
	}
}

// hex returns the number of four hexadecimal digits that data begins with.
func hex(data []byte) (r rune, ok bool) {
	if len(data) < 4 {
		return 0, false
	}
	for _, c := range data[:4] {
		switch {
		case digit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
