package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// valueOf is the n-th value of a process.
func valueOf(process, n int) string { return strconv.Itoa(process) + "-" + strconv.Itoa(n) }

// body is a value as the body of a message of this size: the value and a space, again and again, and never less than once.
func body(value string, size int) []byte {
	size = max(size, len(value)+1)
	return []byte(strings.Repeat(value+" ", size/(len(value)+1)+1)[:size])
}

// shownBytes is how much of a damaged body stands in its place.
const shownBytes = 40

// parseBody is the value of a body. A body that no process has made, or not like this, yields a text that is nobody's value, so that the
// checks find it as unexpected.
func parseBody(data []byte) string {
	value, _, found := strings.Cut(string(data[:min(len(data), shownBytes)]), " ")
	if found && isValue(value) && string(body(value, len(data))) == string(data) {
		return value
	}
	return fmt.Sprintf("damaged %q of %d bytes", data[:min(len(data), shownBytes)], len(data))
}

// isValue tells whether a text is the value of some process.
func isValue(text string) bool {
	process, n, found := strings.Cut(text, "-")
	return found && number(process) && number(n)
}

// number tells whether a text is a number as strconv.Itoa would write it.
func number(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && strconv.Itoa(n) == text
}
