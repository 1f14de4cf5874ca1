package accounts

import (
	"slices"
	"strings"

	"runnel/subjects"
)

// ruleIndex finds the rules that cover a subject without looking at all of them.
// A rule is kept under its head: the tokens before its first wildcard, the whole
// subject when it has none. So the rules that can cover a subject are those
// under the beginnings of the subject, one look-up for each of its tokens. It is
// immutable, and a nil index has no rules.
type ruleIndex struct {
	byHead map[string][]rule
	// parents has, for each rule without a wildcard, all before its last token.
	parents map[string]struct{}
}

// newRuleIndex compiles entries that were validated. It returns nil for none.
func newRuleIndex(entries []string) *ruleIndex {
	if len(entries) == 0 {
		return nil
	}
	x := &ruleIndex{byHead: make(map[string][]rule), parents: make(map[string]struct{})}
	for _, entry := range entries {
		r, err := parseRule(entry)
		if err != nil {
			continue // not a subject: it covers nothing
		}
		head := headOf(r.pattern)
		x.byHead[head] = append(x.byHead[head], r)
		if head == r.pattern {
			x.parents[parentOf(head)] = struct{}{}
		}
	}
	return x
}

// headOf returns the tokens of pattern before its first wildcard.
func headOf(pattern string) string {
	end := 0
	for token := range subjects.Tokens(pattern) {
		if !subjects.IsLiteral(token) {
			return pattern[:max(end-1, 0)]
		}
		end += len(token) + 1
	}
	return pattern
}

// parentOf returns all but the last token of subject, with the dot.
func parentOf(subject string) string {
	return subject[:strings.LastIndexByte(subject, '.')+1]
}

// cover is what the rules that cover a subject say together.
type cover struct {
	// plain: a rule for everybody. queued: a rule for members of queue groups,
	// named: one whose queue name fits.
	plain, queued, named bool
}

// allows reports whether such rules in an allow list admit a subscription: once a
// rule for members of queue groups covers the subject, members need one that
// fits their group.
func (c cover) allows(queue string) bool {
	if queue != "" && c.queued {
		return c.named
	}
	return c.plain
}

// denies reports whether such rules in a deny list refuse a subscription.
func (c cover) denies() bool { return c.plain || c.named }

// relation says whether a pattern of a rule covers a subject.
type relation func(pattern, subject string) bool

// includes is the relation for patterns that are subscribed to.
func includes(pattern, subscribed string) bool { return subjects.Subset(subscribed, pattern) }

// find tells what the rules that cover subject say to members of queue, empty for
// none.
func (x *ruleIndex) find(subject, queue string, covers relation) (c cover) {
	if x == nil {
		return c
	}
	x.visit(subject, func(r rule) bool {
		if covers(r.pattern, subject) {
			c.add(r, queue)
		}
		return c.plain && queue == ""
	})
	return c
}

func (c *cover) add(r rule, queue string) {
	switch {
	case r.queue == "":
		c.plain = true
	case queue != "" && subjects.Match(r.queue, queue):
		c.queued, c.named = true, true
	default:
		c.queued = true
	}
}

// visit calls f for each rule under a beginning of subject, until f returns true.
func (x *ruleIndex) visit(subject string, f func(rule) (stop bool)) {
	heads := func(head string) bool {
		return slices.ContainsFunc(x.byHead[head], f)
	}
	if heads("") {
		return
	}
	for i := range len(subject) {
		if subject[i] == '.' && heads(subject[:i]) {
			return
		}
	}
	heads(subject)
}

// anyToken stands for a token that no rule names: subjects have no spaces.
const anyToken = " "

// findChildren tells what the rules say about the subjects that consist of prefix,
// which ends in a dot, and one token more. all is about a token that no rule
// names; some is true when another token may be told something else.
func (x *ruleIndex) findChildren(prefix, queue string) (all cover, some bool) {
	if x == nil {
		return all, false
	}
	child := prefix + anyToken
	_, some = x.parents[prefix]
	x.visit(child, func(r rule) bool {
		if subjects.Match(r.pattern, child) {
			all.add(r, queue)
			return false
		}
		last := r.pattern[len(parentOf(r.pattern)):]
		if last != ">" && subjects.Match(parentOf(r.pattern)+"*", child) {
			some = true
		}
		return false
	})
	return all, some
}

// findBelow is findChildren for the subjects that consist of prefix and one token
// or more. It looks at all rules.
func (x *ruleIndex) findBelow(prefix, queue string) (all cover, some bool) {
	if x == nil {
		return all, false
	}
	below := prefix + ">"
	for _, rules := range x.byHead {
		for _, r := range rules {
			switch {
			case subjects.Subset(below, r.pattern):
				all.add(r, queue)
			case subjects.Overlap(below, r.pattern):
				some = true
			}
		}
	}
	return all, some
}
