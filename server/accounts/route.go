package accounts

import (
	"fmt"
	"strconv"
	"strings"

	"runnel/subjects"
)

// route leads subjects from the account that exports them to the one that imports them and back.
// It is immutable.
type route struct {
	// remote is the pattern in the exporting account, local that in the importing one.
	remote, local string
	// back is the destination that leads from local to remote: with these it tells routes apart.
	back              string
	toLocal, toRemote *subjects.Transform
}

// newRoute returns the route of an import, whose To is empty when the subjects stay the same.
func newRoute(subject, to string) (route, error) {
	r := route{remote: subject, local: subject}
	if !subjects.ValidPattern(subject) {
		return r, fmt.Errorf("%q is not a valid subject", subject)
	}
	var err error
	if to == "" || to == subject {
		to = subject
		r.toLocal, err = subjects.NewTransform(subject, "")
	} else {
		r.toLocal, err = subjects.NewImportTransform(subject, to)
	}
	if err != nil {
		return r, err
	}
	var places map[int]int
	if r.local, places, err = localPattern(to); err != nil {
		return r, err
	}
	r.back = backwards(subject, places)
	if to == subject {
		r.toRemote = r.toLocal
		return r, nil
	}
	r.toRemote, err = subjects.NewImportTransform(r.local, r.back)
	return r, err
}

// localPattern returns the pattern that a destination of a valid import stands for, and for each
// wildcard of the source which wildcard of the pattern it became.
func localPattern(to string) (pattern string, places map[int]int, err error) {
	places = make(map[int]int)
	var tokens []string
	stars := 0
	for token := range subjects.Tokens(to) {
		n, ok := wildcardNumber(token)
		if token == "*" {
			stars++
			n, ok = stars, true
		}
		if !ok {
			tokens = append(tokens, token)
			continue
		}
		if places[n] != 0 {
			return "", nil, fmt.Errorf("%w %q: wildcard %d is used twice", subjects.ErrDestination, to, n)
		}
		places[n] = len(places) + 1
		tokens = append(tokens, "*")
	}
	return strings.Join(tokens, "."), places, nil
}

// wildcardNumber returns the number of the wildcard that a token of a valid destination stands
// for: `$n` or `{{wildcard(n)}}`.
func wildcardNumber(token string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(token, "$")
	if strings.HasPrefix(token, "{{") {
		_, digits, ok = strings.Cut(token, "(")
		digits, _, _ = strings.Cut(digits, ")")
	}
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	return n, err == nil
}

// backwards returns the destination that leads from the local pattern back to subject.
func backwards(subject string, places map[int]int) string {
	var tokens []string
	stars := 0
	for token := range subjects.Tokens(subject) {
		if token == "*" {
			stars++
			token = "$" + strconv.Itoa(places[stars])
		}
		tokens = append(tokens, token)
	}
	return strings.Join(tokens, ".")
}
