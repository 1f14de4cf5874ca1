package subjects

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// What the errors of NewTransform and NewImportTransform wrap, by the pattern
// that is wrong.
var (
	ErrSource      = errors.New("invalid transform source")
	ErrDestination = errors.New("invalid transform destination")
)

// Transform rewrites the subjects that match a source pattern to a destination.
// It is immutable and safe for concurrent use.
//
// A destination is a subject whose tokens may be, as a whole token each,
// `$n` or one of the functions of functions.go in double braces. Letters
// of their names may be upper or lower case. Positions of wildcards count the
// `*` of the source from 1, and lengths count bytes.
type Transform struct {
	source string
	// parts make up the destination; nil for a transform that only filters.
	parts []part
	// tail says that the destination ends with the `>` of the source.
	tail   bool
	random bool
}

// part appends the tokens that one token of the destination stands for.
type part func(out []byte, m *matched) []byte

// matched is a subject together with what the wildcards of the source stand for
// in it.
type matched struct {
	subject   string
	wildcards []string
	// tail is what `>` stands for.
	tail   string
	random func(n int) int
	// few has room for the wildcards of most sources.
	few [8]string
}

// NewTransform returns a transform of subjects that match source. A source of ""
// is the same as `>`. A destination of "" stands for the subject itself: such a
// transform is only a filter. A source that ends with `>` needs a destination
// that does, which is given all that `>` stands for, and the other way round.
//
// The error wraps ErrSource or ErrDestination and says which token is wrong.
func NewTransform(source, destination string) (*Transform, error) {
	if source == "" {
		source = tail
	}
	c := compiler{functions: functions}
	return c.compile(source, destination)
}

// NewImportTransform returns a transform for subjects that are imported from
// another account. Unlike others it must lead back: only wildcards may be used,
// each of the source at least once. The destination may write `*` for them
// too: the nth is the nth of the source.
func NewImportTransform(source, destination string) (*Transform, error) {
	c := compiler{functions: functions[:1], stars: true}
	t, err := c.compile(source, destination)
	if err != nil {
		return nil, err
	}
	for i, used := range c.used {
		if !used {
			return nil, fmt.Errorf("%w %q: wildcard %d of %q is not used, an import needs all of them",
				ErrDestination, destination, i+1, source)
		}
	}
	return t, nil
}

// Random reports whether the result depends on chance, so that it cannot be
// remembered.
func (t *Transform) Random() bool { return t.random }

// Apply returns what subject becomes, and false when it does not match the
// source. The subject is taken literally.
func (t *Transform) Apply(subject string) (string, bool) {
	return t.ApplyWith(subject, rand.IntN)
}

// ApplyWith is Apply with the caller's source of chance: random returns a
// number of at least 0 and less than n, which is at least 1.
func (t *Transform) ApplyWith(subject string, random func(n int) int) (string, bool) {
	m := matched{subject: subject, random: random}
	m.wildcards = m.few[:0]
	if !m.match(t.source) {
		return "", false
	}
	if t.parts == nil && !t.tail {
		return subject, true
	}
	out := make([]byte, 0, 2*len(subject)+16)
	for i, p := range t.parts {
		if i > 0 {
			out = append(out, separator)
		}
		out = p(out, &m)
	}
	if t.tail {
		if len(t.parts) > 0 {
			out = append(out, separator)
		}
		out = append(out, m.tail...)
	}
	return string(out), true
}

// match finds what the wildcards of the pattern stand for in the subject, and
// reports whether the subject matches.
func (m *matched) match(pattern string) bool {
	if !Match(pattern, m.subject) {
		return false
	}
	rest := m.subject
	for more := true; more; {
		var want, token string
		want, pattern, more = cut(pattern)
		if want == tail {
			m.tail = rest
			return true
		}
		token, rest, _ = cut(rest)
		if want == star {
			m.wildcards = append(m.wildcards, token)
		}
	}
	return true
}

// compiler turns the text of a transform into parts.
type compiler struct {
	functions []function
	// stars allows `*` in the destination.
	stars bool
	// used says which wildcards of the source the destination has used, starsSeen
	// how many `*` it has had.
	used      []bool
	starsSeen int
	random    bool
}

func (c *compiler) compile(source, destination string) (*Transform, error) {
	if !ValidPattern(source) {
		return nil, fmt.Errorf("%w %q: not a valid subject", ErrSource, source)
	}
	t := &Transform{source: source}
	if destination == "" {
		return t, nil
	}
	body, sourceTail := cutTail(source)
	for token := range Tokens(body) {
		if token == star {
			c.used = append(c.used, false)
		}
	}
	if body, t.tail = cutTail(destination); t.tail != sourceTail {
		return nil, fmt.Errorf("%w %q: it and the source %q must both end with `>`, or neither",
			ErrDestination, destination, source)
	}
	for token := range Tokens(body) {
		p, err := c.token(token)
		if err != nil {
			return nil, fmt.Errorf("%w %q: token %d, %q: %w", ErrDestination, destination, len(t.parts)+1, token, err)
		}
		t.parts = append(t.parts, p)
	}
	t.random = c.random
	return t, nil
}

// cutTail returns the pattern without a `>` at its end.
func cutTail(pattern string) (body string, found bool) {
	if pattern == tail {
		return "", true
	}
	body, found = strings.CutSuffix(pattern, "."+tail)
	if body == "" {
		return pattern, false
	}
	return body, found
}

// token compiles one token of the destination.
func (c *compiler) token(token string) (part, error) {
	switch {
	case token == star && c.stars:
		c.starsSeen++
		return c.wildcard(c.starsSeen)
	case strings.Contains(token, "{{") || strings.Contains(token, "}}"):
		return c.call(token)
	case strings.HasPrefix(token, "$"):
		if n, err := strconv.Atoi(token[1:]); err == nil {
			return c.wildcard(n)
		}
	case token == "":
		return nil, errors.New("empty token")
	case !ValidLiteral(token):
		return nil, errors.New("wildcards and white space are not allowed here, write `$1` for the first wildcard of the source")
	}
	return func(out []byte, _ *matched) []byte { return append(out, token...) }, nil
}

func (c *compiler) wildcard(n int) (part, error) {
	i, err := c.index(n)
	if err != nil {
		return nil, err
	}
	return func(out []byte, m *matched) []byte { return append(out, m.wildcards[i]...) }, nil
}

// index turns the number of a wildcard into its index and marks it as used.
func (c *compiler) index(n int) (int, error) {
	if n < 1 || n > len(c.used) {
		return 0, fmt.Errorf("wildcard %d does not exist, the source has %d", n, len(c.used))
	}
	c.used[n-1] = true
	return n - 1, nil
}
