package body

import "runnel/subjects"

// Filter is a list of patterns, one of which a message has to match. An empty filter matches every
// message. Two of the patterns may match the same subject.
type Filter []string

// Matches reports whether a message on the subject passes.
func (f Filter) Matches(subject string) bool {
	if len(f) == 0 {
		return true
	}
	for _, pattern := range f {
		if pattern == ">" || subjects.Match(pattern, subject) {
			return true
		}
	}
	return false
}

// All reports whether every message passes.
func (f Filter) All() bool {
	return len(f) == 0 || len(f) == 1 && f[0] == ">"
}

// Literal returns the only subject that passes, and false when there can be several.
func (f Filter) Literal() (string, bool) {
	if len(f) == 1 && subjects.IsLiteral(f[0]) {
		return f[0], true
	}
	return "", false
}
