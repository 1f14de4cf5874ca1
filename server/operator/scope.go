package operator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"runnel/subjects"
)

// filledMost bounds the subjects that one entry of a template may become: tags multiply.
const filledMost = 1000

// everything is denied where a template allows something, and nothing of it is left for a user.
const everything = ">"

// fill works out the permissions of a scoped signing key for one user. What cannot be worked out fails closed: an
// allow entry is left out, which may leave nothing allowed, and with a deny entry the user is refused.
func (a *Account) fill(p *jwt.Permissions, u *User) (jwt.Permissions, error) {
	out := jwt.Permissions{Resp: p.Resp}
	var err error
	if out.Pub, err = a.fillRules(&p.Pub, u); err != nil {
		return out, fmt.Errorf("publish: %w", err)
	}
	if out.Sub, err = a.fillRules(&p.Sub, u); err != nil {
		return out, fmt.Errorf("subscribe: %w", err)
	}
	return out, nil
}

func (a *Account) fillRules(p *jwt.Permission, u *User) (out jwt.Permission, err error) {
	for _, entry := range p.Allow {
		filled, _, err := a.fillEntry(entry, u)
		if err != nil {
			return out, err
		}
		out.Allow = append(out.Allow, filled...)
	}
	for _, entry := range p.Deny {
		filled, whole, err := a.fillEntry(entry, u)
		if err == nil && !whole {
			err = fmt.Errorf("%w: deny %q", ErrTemplate, short(entry))
		}
		if err != nil {
			return out, err
		}
		out.Deny = append(out.Deny, filled...)
	}
	if len(p.Allow) > 0 && len(out.Allow) == 0 {
		out.Deny = append(out.Deny, everything)
	}
	return out, nil
}

// fillEntry returns what one entry becomes, for each combination of the values of its functions. whole is false if
// something is missing: a function without a value, or one whose value makes no subject.
func (a *Account) fillEntry(entry string, u *User) (filled []string, whole bool, err error) {
	filled = []string{entry}
	if !strings.Contains(entry, "{{") {
		return filled, true, nil
	}
	for {
		_, rest, found := strings.Cut(filled[0], "{{")
		if !found {
			break
		}
		call, _, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, false, fmt.Errorf("%w: %q has {{ without }}", ErrTemplate, short(entry))
		}
		values, err := a.values(call, u)
		if err != nil {
			return nil, false, err
		}
		// A value with braces would be taken for a function.
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" || strings.ContainsAny(v, "{}") })
		if len(values) == 0 {
			return nil, false, nil
		}
		if len(values)*len(filled) > filledMost {
			return nil, false, fmt.Errorf("%w: %q becomes more than %d subjects", ErrTemplate, short(entry), filledMost)
		}
		var next []string
		for _, f := range filled {
			for _, v := range values {
				next = append(next, strings.ReplaceAll(f, "{{"+call+"}}", v))
			}
		}
		filled = next
	}
	valid := slices.DeleteFunc(slices.Clone(filled), func(f string) bool { return !validEntry(f, entry) })
	slices.Sort(valid)
	valid = slices.Compact(valid)
	return valid, len(valid) > 0 && !slices.ContainsFunc(filled, func(f string) bool { return !validEntry(f, entry) }), nil
}

// validEntry reports whether filled is still one subject, with a queue group only if the template has one.
func validEntry(filled, template string) bool {
	words := strings.Fields(filled)
	if len(words) != len(strings.Fields(template)) {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !subjects.ValidPattern(w) })
}

// values are what a function of a template stands for.
func (a *Account) values(call string, u *User) ([]string, error) {
	switch call {
	case "name()":
		return []string{u.Name()}, nil
	case "subject()":
		return []string{u.NKey()}, nil
	case "account-name()":
		return []string{a.Label()}, nil
	case "account-subject()":
		return []string{a.Name()}, nil
	}
	if name, ok := argument(call, "tag"); ok {
		return tagged(u.claims.Tags, name), nil
	}
	if name, ok := argument(call, "account-tag"); ok {
		return tagged(a.claims.Tags, name), nil
	}
	return nil, fmt.Errorf("%w: unknown function {{%s}}", ErrTemplate, short(call))
}

// argument returns what stands between the brackets of a call of that function.
func argument(call, function string) (string, bool) {
	rest, ok := strings.CutPrefix(call, function+"(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, ")")
}
