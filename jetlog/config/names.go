package config

import (
	"iter"
	"strings"
)

// The longest values of free text, in bytes.
const (
	nameBytes        = 255
	descriptionBytes = 4096
	metadataBytes    = 128 << 10
)

// validName reports whether s may name a stream or a consumer, apart from path separators.
func validName(s string) bool {
	return s != "" && len(s) <= nameBytes && !strings.ContainsAny(s, " \t\r\n\f.*>")
}

func hasPathSeparator(s string) bool { return strings.ContainsAny(s, `/\`) }

func metadataSize(m map[string]string) int {
	n := 0
	for k, v := range m {
		n += len(k) + len(v)
	}
	return n
}

// fields iterates over the words of s, which are separated by single blanks.
func fields(s string) iter.Seq[string] { return strings.SplitSeq(s, " ") }
