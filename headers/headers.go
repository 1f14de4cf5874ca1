package headers

import (
	"bytes"
	"iter"
	"strings"
)

const (
	version = "NATS/1.0"
	newline = "\r\n"
)

// Field is one header field.
type Field struct {
	Name, Value string
}

// Get returns the value of the first field with this name, without leading
// blanks, and whether there is one. The value is part of block.
func Get(block []byte, name string) ([]byte, bool) {
	for rest := fields(block); len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		if named(line, name) {
			return trim(line[len(name)+1:]), true
		}
	}
	return nil, false
}

// Values iterates over the values of all fields with this name in their order.
// The values are parts of block.
func Values(block []byte, name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for n, value := range All(block) {
			if string(n) == name && !yield(value) {
				return
			}
		}
	}
}

// All iterates over the fields, name and value, in their order. Lines that are
// not a field are passed over. Names and values are parts of block.
func All(block []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := fields(block); len(rest) > 0; {
			var line []byte
			line, rest = cutLine(rest)
			name, value, ok := bytes.Cut(line, []byte(":"))
			if ok && len(name) > 0 && !yield(name, trim(value)) {
				return
			}
		}
	}
}

// Valid reports whether block is a header block to its last byte: first line,
// fields with a name each, and the empty line at the end.
func Valid(block []byte) bool {
	first, rest, ok := bytes.Cut(block, []byte(newline))
	if !ok || !validFirst(first) {
		return false
	}
	for {
		line, after, ok := bytes.Cut(rest, []byte(newline))
		switch {
		case !ok:
			return false
		case len(line) == 0:
			return len(after) == 0
		case bytes.IndexByte(line, ':') < 1:
			return false
		}
		rest = after
	}
}

// fields returns the lines after the first one, nothing when block is none.
func fields(block []byte) []byte {
	first, rest, _ := bytes.Cut(block, []byte(newline))
	if !bytes.HasPrefix(first, []byte(version)) {
		return nil
	}
	return rest
}

// cutLine splits off the next line. After the empty line, and after an
// unfinished one, nothing is left.
func cutLine(lines []byte) (line, rest []byte) {
	line, rest, ok := bytes.Cut(lines, []byte(newline))
	if !ok || len(line) == 0 {
		return nil, nil
	}
	return line, rest
}

// named reports whether line is a field of this name.
func named(line []byte, name string) bool {
	n := len(name)
	return n > 0 && len(line) > n && line[n] == ':' && string(line[:n]) == name
}

func trim(value []byte) []byte {
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	return value
}

// oneLine makes text fit for a line of a block: whatever would end the line
// becomes a space.
func oneLine(text string) string {
	if strings.IndexByte(text, '\r') < 0 && strings.IndexByte(text, '\n') < 0 {
		return text
	}
	return strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ").Replace(text)
}
