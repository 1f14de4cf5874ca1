package subjects_test

import (
	"slices"
	"strings"

	"runnel/subjects"
)

// naiveMatch is Match as its definition says it, without care for speed.
func naiveMatch(pattern, subject string) bool {
	tokens := strings.Split(subject, ".")
	if slices.Contains(tokens, "") {
		return false
	}
	want := strings.Split(pattern, ".")
	for i, w := range want {
		switch {
		case w == ">":
			return i == len(want)-1 && len(tokens) > i
		case i == len(tokens):
			return false
		case w != "*" && w != tokens[i]:
			return false
		}
	}
	return len(want) == len(tokens)
}

// universe has all subjects of up to four tokens over a small alphabet, which
// tells any two patterns over it (without z) of up to three tokens apart.
func universe() []string {
	alphabet := []string{"a", "b", "*", "z"}
	all := []string{}
	level := []string{""}
	for range 4 {
		var next []string
		for _, prefix := range level {
			for _, token := range alphabet {
				next = append(next, strings.TrimPrefix(prefix+"."+token, "."))
			}
		}
		all = append(all, next...)
		level = next
	}
	return all
}

// patterns has all valid patterns of up to three tokens over a small alphabet.
func patterns() []string {
	alphabet := []string{"a", "b", "*"}
	all := []string{">"}
	level := []string{""}
	for range 3 {
		var next []string
		for _, prefix := range level {
			for _, token := range alphabet {
				next = append(next, strings.TrimPrefix(prefix+"."+token, "."))
			}
		}
		all = append(all, next...)
		level = next
		for _, p := range next {
			if strings.Count(p, ".") < 2 {
				all = append(all, p+".>")
			}
		}
	}
	return all
}

// list is the model of a tree: its entries in a slice.
type list []*subjects.Entry[int]

func (l list) match(subject string) list {
	var out list
	for _, e := range l {
		if naiveMatch(e.Subject, subject) {
			out = append(out, e)
		}
	}
	return out
}

// sameEntries compares two sets of entries in any order.
func sameEntries(a, b []*subjects.Entry[int]) bool {
	byValue := func(x, y *subjects.Entry[int]) int { return x.Value - y.Value }
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, byValue)
	slices.SortFunc(b, byValue)
	return slices.Equal(a, b)
}

func subjectsOf(entries []*subjects.Entry[int]) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Subject)
	}
	slices.Sort(out)
	return out
}
