package headers

import "bytes"

// Build returns a block with these fields. A line break within a name or value
// becomes a space. Names must not be empty or contain a colon.
func Build(fields ...Field) []byte {
	return build(version, fields)
}

// Set returns a block in which name has this one value: in the place of its
// first field, or at the end. Something that is not a block is replaced by one.
func Set(block []byte, name, value string) []byte {
	return change(block, name, value, true)
}

// Add returns a block with another field at the end. Something that is not a
// block is replaced by one.
func Add(block []byte, name, value string) []byte {
	first, lines := split(block)
	size := len(first) + len(newline) + len(lines) + fieldSize(name, value) + len(newline)
	out := make([]byte, 0, size)
	out = append(out, first...)
	out = append(out, newline...)
	out = append(out, lines...)
	out = appendField(out, name, value)
	return append(out, newline...)
}

// Delete returns a block without the fields of this name, nil when then neither
// a field nor a status is left.
func Delete(block []byte, name string) []byte {
	out := change(block, name, "", false)
	if code, _ := StatusOf(out); code == 0 && len(fields(out)) == len(newline) {
		return nil
	}
	return out
}

// change copies the block, drops the fields called name and, with keep, puts one
// with the value where the first of them was.
func change(block []byte, name, value string, keep bool) []byte {
	first, lines := split(block)
	out := make([]byte, 0, len(first)+len(lines)+fieldSize(name, value)+2*len(newline))
	out = append(out, first...)
	out = append(out, newline...)
	for len(lines) > 0 {
		var line []byte
		line, lines = cutLine(lines)
		if !named(line, name) {
			out = append(out, line...)
			out = append(out, newline...)
		} else if keep {
			out = appendField(out, name, value)
			keep = false
		}
	}
	if keep {
		out = appendField(out, name, value)
	}
	return append(out, newline...)
}

// split returns the first line and the complete lines of fields of a block, those
// of an empty block when it is none.
func split(block []byte) (first, lines []byte) {
	first, rest, ok := bytes.Cut(block, []byte(newline))
	if !ok || !bytes.HasPrefix(first, []byte(version)) {
		return []byte(version), nil
	}
	if bytes.HasPrefix(rest, []byte(newline)) {
		return first, nil
	}
	end := bytes.Index(rest, []byte(newline+newline))
	if end < 0 {
		end = bytes.LastIndex(rest, []byte(newline))
	}
	if end < 0 {
		return first, nil
	}
	return first, rest[:end+len(newline)]
}

func build(first string, fields []Field) []byte {
	size := len(first) + 2*len(newline)
	for _, f := range fields {
		size += fieldSize(f.Name, f.Value)
	}
	out := make([]byte, 0, size)
	out = append(out, first...)
	out = append(out, newline...)
	for _, f := range fields {
		out = appendField(out, f.Name, f.Value)
	}
	return append(out, newline...)
}

func fieldSize(name, value string) int {
	return len(name) + len(": ") + len(value) + len(newline)
}

func appendField(out []byte, name, value string) []byte {
	out = append(out, oneLine(name)...)
	out = append(out, ": "...)
	out = append(out, oneLine(value)...)
	return append(out, newline...)
}
