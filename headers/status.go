package headers

import (
	"bytes"
	"strconv"
)

// Status returns a block with a status line and fields: what a server says
// instead of a message. The code has three digits, the description may be empty.
func Status(code int, description string, fields ...Field) []byte {
	first := version + " " + strconv.Itoa(code)
	if description != "" {
		first += " " + oneLine(description)
	}
	return build(first, fields)
}

// StatusOf returns the status code and description of a block. The code is 0
// when there is none.
func StatusOf(block []byte) (code int, description string) {
	first, _, ok := bytes.Cut(block, []byte(newline))
	if !ok {
		return 0, "" // not a block
	}
	return parseFirst(first)
}

// parseFirst reads the first line. The code is 0 for a line without a status.
func parseFirst(line []byte) (code int, description string) {
	status, ok := bytes.CutPrefix(line, []byte(version+" "))
	if !ok {
		return 0, ""
	}
	status = trim(status)
	if len(status) < 3 || len(status) > 3 && status[3] != ' ' {
		return 0, ""
	}
	for _, digit := range status[:3] {
		if digit < '0' || digit > '9' {
			return 0, ""
		}
		code = code*10 + int(digit-'0')
	}
	if code == 0 {
		return 0, "" // stands for none
	}
	return code, string(trim(status[3:]))
}

// validFirst reports whether line is a first line, with or without a status.
func validFirst(line []byte) bool {
	code, _ := parseFirst(line)
	return code > 0 || string(bytes.TrimRight(line, " ")) == version
}
