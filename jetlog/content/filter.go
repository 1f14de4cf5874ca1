package content

import (
	"runnel/headers"
	"runnel/jetlog/document"
)

// Result is what a filter says about a message.
type Result byte

// The results. NotJSON is said only if subject and headers leave it to the body, and that is not JSON.
const (
	NoMatch Result = iota
	Match
	NotJSON
)

// String returns "no match", "match" or "not JSON".
func (r Result) String() string {
	switch r {
	case Match:
		return "match"
	case NotJSON:
		return "not JSON"
	}
	return "no match"
}

// Filter is a pattern that was understood. It does not change and may be used by many goroutines.
type Filter struct {
	message *node // over the parts of a message; its tests are about them
	body    uint64
}

// Match says whether a message passes the filter. Header is the block of header fields, nil for none. It
// allocates nothing, unless the message has texts of more than roomBytes bytes with escape sequences in them
// that are compared.
func (f *Filter) Match(subject string, header, body []byte) Result {
	var passed uint64
	for i := range f.message.tests {
		if t := &f.message.tests[i]; t.name != partBody && t.part(subject, header) {
			passed |= 1 << i
		}
	}
	// No rule has a not in it, so more tests that pass never make it false.
	if !f.message.rule.holds(passed | f.body) {
		return NoMatch
	}
	if f.message.rule.holds(passed) {
		return Match
	}
	for i := range f.message.tests {
		t := &f.message.tests[i]
		if t.name != partBody {
			continue
		}
		r := document.Read(body)
		matches := t.value(&r)
		if !r.Done() {
			return NotJSON
		}
		if matches {
			passed |= 1 << i
		}
	}
	if f.message.rule.holds(passed) {
		return Match
	}
	return NoMatch
}

// part reports whether the subject or the headers pass a test about them.
func (t *test) part(subject string, header []byte) bool {
	if t.name == partSubject {
		var room [roomBytes]byte
		return t.leaf.matches(value{kind: document.String, text: append(room[:0], subject...), field: true})
	}
	var passed uint64
	for i := range t.object.tests {
		if f := &t.object.tests[i]; f.leaf.header(header, f.name) {
			passed |= 1 << i
		}
	}
	return t.object.rule.holds(passed)
}

// header reports whether one of the header fields with a name passes.
func (l *leaf) header(block []byte, name string) bool {
	there := false
	for n, text := range headers.All(block) {
		if string(n) != name {
			continue
		}
		if l.matches(value{kind: document.String, text: text, field: true}) {
			return true
		}
		there = true
	}
	return !there && l.absent
}
