package subjects

import "iter"

const (
	separator = '.'
	// star and tail are the two wildcards: one token, and all that follow.
	star = "*"
	tail = ">"
)

// ValidPattern reports whether s may be subscribed to: it has no empty token,
// `>` only as its last token, and neither white space nor NUL.
func ValidPattern(s string) bool {
	for i := range len(s) {
		if forbidden(s[i]) {
			return false
		}
	}
	for more := true; more; {
		var token string
		token, s, more = cut(s)
		if token == "" || token == tail && more {
			return false
		}
	}
	return true
}

// ValidLiteral reports whether s is a valid pattern without a wildcard: the
// subject of exactly one kind of message.
func ValidLiteral(s string) bool {
	return IsLiteral(s) && ValidPattern(s)
}

// IsLiteral reports whether no token of s is a wildcard. It does not validate
// s otherwise.
func IsLiteral(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != star[0] && c != tail[0] {
			continue
		}
		begins := i == 0 || s[i-1] == separator
		ends := i+1 == len(s) || s[i+1] == separator
		if begins && ends {
			return false
		}
	}
	return true
}

// TokenCount returns the number of tokens of s, empty ones included. The empty
// string has none.
func TokenCount(s string) int {
	if s == "" {
		return 0
	}
	n := 1
	for i := range len(s) {
		if s[i] == separator {
			n++
		}
	}
	return n
}

// Tokens iterates over the tokens of s, empty ones included. The empty string
// has none.
func Tokens(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, more := s, s != ""
		for more {
			var token string
			token, rest, more = cut(rest)
			if !yield(token) {
				return
			}
		}
	}
}

// cut splits s after its first token. more tells "a" (false) from "a." (true),
// where another token, an empty one, follows.
func cut[S ~string | ~[]byte](s S) (token, rest S, more bool) {
	for i := range len(s) {
		if s[i] == separator {
			return s[:i], s[i+1:], true
		}
	}
	return s, s[len(s):], false
}

// wellFormed reports whether no token of s is empty. Only such subjects are
// matched by anything.
func wellFormed[S ~string | ~[]byte](s S) bool {
	empty := true
	for i := range len(s) {
		if s[i] != separator {
			empty = false
			continue
		}
		if empty {
			return false
		}
		empty = true
	}
	return !empty
}

// forbidden reports whether c cannot occur in a subject, since it separates
// words on the wire or ends strings elsewhere.
func forbidden(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0:
		return true
	}
	return false
}
