package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"runnel/subjects"
)

const (
	// DefaultResponses is how many replies a message allows when nothing else is said.
	DefaultResponses = 1
	// DefaultResponseTime is how long it allows them when nothing else is said.
	DefaultResponseTime = 2 * time.Minute

	// reservedQueue is the name of a queue group that clients must not use.
	reservedQueue = "_sys_"
)

// Permissions is what a user may do, as it is configured.
type Permissions struct {
	// Publish has patterns.
	Publish Rules
	// Subscribe has patterns, each of which may be followed by a space and the name
	// or pattern of a queue group: the rule is then for its members only.
	Subscribe Rules
	// Responses allows answers to messages received, nil for none.
	Responses *ResponsePermission
}

// Rules name subjects. An empty Allow allows all; Deny goes before Allow.
type Rules struct {
	Allow, Deny []string
}

// ResponsePermission lets a user publish to the reply subject of a message that
// was delivered to it, whatever the publish rules say.
type ResponsePermission struct {
	// Max is the number of replies to one message: 0 for DefaultResponses, negative
	// for no limit.
	Max int
	// Expires is for how long: 0 for DefaultResponseTime, negative for ever.
	Expires time.Duration
}

// rule is one entry of Rules.
type rule struct {
	pattern string
	// queue is empty in a rule for everybody.
	queue string
}

// parseRule splits an entry of Rules into its pattern and its queue name. Only what separates the arguments of a
// protocol line separates them: the spaces of Unicode may be part of a subject.
func parseRule(entry string) (rule, error) {
	words := strings.FieldsFunc(entry, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 || len(words) > 2 || !subjects.ValidPattern(words[0]) {
		return rule{}, fmt.Errorf("%q is not a valid subject", entry)
	}
	r := rule{pattern: words[0]}
	if len(words) == 2 {
		r.queue = words[1]
		if !subjects.ValidPattern(r.queue) {
			return rule{}, fmt.Errorf("%q does not name a valid queue group", entry)
		}
	}
	return r, nil
}

// validate returns all that is wrong with p, which may be nil.
func (p *Permissions) validate() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, entry := range slices.Concat(p.Publish.Allow, p.Publish.Deny) {
		if !subjects.ValidPattern(entry) {
			errs = append(errs, fmt.Errorf("publish permission: %q is not a valid subject", entry))
		}
	}
	for _, entry := range slices.Concat(p.Subscribe.Allow, p.Subscribe.Deny) {
		if _, err := parseRule(entry); err != nil {
			errs = append(errs, fmt.Errorf("subscribe permission: %w", err))
		}
	}
	return errors.Join(errs...)
}

// normal returns a copy of p with the defaults in place.
func (p *Permissions) normal() *Permissions {
	n := &Permissions{Publish: p.Publish.clone(), Subscribe: p.Subscribe.clone()}
	if p.Responses != nil {
		n.Responses = new(p.Responses.normal())
	}
	return n
}

// normal returns p with the defaults in place.
func (p ResponsePermission) normal() ResponsePermission {
	p.Max = cmp.Or(p.Max, DefaultResponses)
	p.Expires = cmp.Or(p.Expires, DefaultResponseTime)
	return p
}

func (r Rules) clone() Rules {
	return Rules{Allow: slices.Clone(r.Allow), Deny: slices.Clone(r.Deny)}
}

// key returns a text that is the same for permissions with the same content, in
// whatever order. No subject has a line feed, so that the parts stay apart.
func (p *Permissions) key() string {
	var b strings.Builder
	for _, list := range [][]string{p.Publish.Allow, p.Publish.Deny, p.Subscribe.Allow, p.Subscribe.Deny} {
		list = slices.Clone(list)
		slices.Sort(list)
		for _, entry := range slices.Compact(list) {
			b.WriteString(entry)
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	if p.Responses != nil {
		fmt.Fprintf(&b, "%d %d", p.Responses.Max, p.Responses.Expires)
	}
	return b.String()
}
