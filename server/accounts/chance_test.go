package accounts_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Patterns and subjects made by chance, of a few tokens so that they often meet.

// randomPattern returns a valid pattern.
func randomPattern(random *rand.Rand) string {
	var tokens []string
	for range 1 + random.IntN(3) {
		tokens = append(tokens, []string{"a", "b", "c", "*", "*"}[random.IntN(5)])
	}
	if random.IntN(4) == 0 {
		tokens[len(tokens)-1] = ">"
	}
	return strings.Join(tokens, ".")
}

// randomSubject returns a subject that may be published.
func randomSubject(random *rand.Rand) string {
	var tokens []string
	for range 1 + random.IntN(4) {
		tokens = append(tokens, []string{"a", "b", "c", "d"}[random.IntN(4)])
	}
	return strings.Join(tokens, ".")
}

// naiveMatch is subjects.Match as its definition says it, without care for speed.
func naiveMatch(pattern, subject string) bool {
	want, tokens := strings.Split(pattern, "."), strings.Split(subject, ".")
	if slices.Contains(tokens, "") {
		return false
	}
	for i, w := range want {
		switch {
		case w == ">":
			return len(tokens) > i
		case i == len(tokens) || w != "*" && w != tokens[i]:
			return false
		}
	}
	return len(want) == len(tokens)
}
