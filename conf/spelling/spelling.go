// Package spelling finds the name that somebody meant who has mistyped it.
package spelling

import "strings"

// Nearest returns the name that a mistyped key most likely means, empty when
// none is near enough. Of equally near names the first wins.
func Nearest(key string, names []string) string {
	const longest = 64 // no key is longer, and the cost grows with the length
	if len(key) > longest {
		return ""
	}
	key = strings.ToLower(key)
	limit := max(1, min(3, len(key)/3))
	best := ""
	for _, name := range names {
		if d := distance(key, name); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	// Three rows of the usual matrix: before is two rows up, for the swaps.
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := above[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
