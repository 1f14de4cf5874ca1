package subjects

import "slices"

// Match reports whether a message with the given subject goes to those who
// asked for pattern. The subject is taken literally, wildcard signs included. A
// subject with an empty token matches nothing, and an invalid pattern is matched
// by nothing.
func Match(pattern, subject string) bool {
	if !wellFormed(subject) {
		return false
	}
	for moreP, moreS := true, true; moreP && moreS; {
		var want, token string
		want, pattern, moreP = cut(pattern)
		token, subject, moreS = cut(subject)
		switch {
		case want == tail:
			return !moreP
		case want != star && want != token:
			return false
		case !moreP && !moreS:
			return true
		}
	}
	return false
}

// Subset reports whether every subject that matches pattern a matches pattern b
// as well: whether permission for b includes a. It is false when one of them is
// not a valid pattern.
func Subset(a, b string) bool {
	if !ValidPattern(a) || !ValidPattern(b) {
		return false
	}
	for moreA, moreB := true, true; moreA && moreB; {
		var tokenA, tokenB string
		tokenA, a, moreA = cut(a)
		tokenB, b, moreB = cut(b)
		switch {
		case tokenB == tail:
			return true
		case tokenA == tail:
			return false
		case tokenB != star && tokenA != tokenB:
			return false
		case !moreA && !moreB:
			return true
		}
	}
	return false
}

// OverlapAny reports whether some literal subject matches one pattern of each list.
func OverlapAny(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return Overlap(x, y) })
	})
}

// Overlap reports whether some subject matches both patterns. It is false when
// one of them is not a valid pattern.
func Overlap(a, b string) bool {
	if !ValidPattern(a) || !ValidPattern(b) {
		return false
	}
	for moreA, moreB := true, true; moreA && moreB; {
		var tokenA, tokenB string
		tokenA, a, moreA = cut(a)
		tokenB, b, moreB = cut(b)
		switch {
		case tokenA == tail || tokenB == tail:
			return true
		case tokenA != star && tokenB != star && tokenA != tokenB:
			return false
		case !moreA && !moreB:
			return true
		}
	}
	return false
}

// Intersection returns the pattern of the subjects that match both patterns, and false when
// there are none.
func Intersection(a, b string) (string, bool) {
	if !Overlap(a, b) {
		return "", false
	}
	out := make([]byte, 0, max(len(a), len(b)))
	for moreA, moreB := true, true; moreA && moreB; {
		if a == tail || b == tail {
			if a == tail {
				a = b
			}
			return string(append(out, a...)), true
		}
		var token, tokenB string
		token, a, moreA = cut(a)
		tokenB, b, moreB = cut(b)
		if token == star {
			token = tokenB
		}
		out = append(out, token...)
		if moreA {
			out = append(out, separator)
		}
	}
	return string(out), true
}
