package content

import (
	"net/netip"

	"runnel/jetlog/document"
)

// operators is what an error names as possible.
const operators = "prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, exists, cidr"

// leaf compiles the array of alternatives that comes next. Text says that the field can only be a text.
func (c *compiler) leaf(r *document.Reader, path string, text bool) (*leaf, error) {
	l := &leaf{}
	n := 0
	for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
		if err := c.alternative(r, l, element(path, n), text); err != nil {
			return nil, err
		}
		n++
	}
	if n == 0 {
		return nil, problem(path, `an array without alternatives matches nothing; to ask that the field is there, write [{"exists": true}]`)
	}
	return l, nil
}

// alternative compiles one element of an array of alternatives.
func (c *compiler) alternative(r *document.Reader, l *leaf, path string, text bool) error {
	if r.Kind() != document.Object {
		value, err := c.exact(r, path, text)
		l.choices = append(l.choices, value)
		return err
	}
	if !r.Enter(document.Object) {
		return problem(path, "an operator is missing; there are %s", operators)
	}
	name := string(r.Key().Bytes(nil))
	at := join(path, name)
	if name == "exists" {
		if err := exists(r, l, at); err != nil {
			return err
		}
	} else {
		operator, err := c.operator(r, name, at, text)
		if err != nil {
			return err
		}
		l.choices = append(l.choices, operator)
	}
	if r.Next(document.Object) {
		return problem(path, "an object in an array of alternatives has one operator; write [{...}, {...}] for either of two, "+
			"and a range as one numeric")
	}
	return nil
}

// exact compiles a string, number, true, false or null, with which a field is compared as it is.
func (c *compiler) exact(r *document.Reader, path string, text bool) (choice, error) {
	if c.choices++; c.choices > choicesMax {
		return choice{}, problem(path, "more than %d alternatives in all", choicesMax)
	}
	switch kind := r.Kind(); kind {
	case document.String:
		return choice{operator: equal, text: r.Text().Append(nil)}, nil
	case document.Number:
		b := bound{set: true, value: parseDecimal(r.Scalar())}
		return choice{operator: number, low: b, high: b}, nil
	case document.True, document.False, document.Null:
		if word := r.Scalar(); text {
			return choice{}, problem(path, "headers and the subject are texts, which are never %s; write %q for the word", word, word)
		}
		return choice{operator: same, kind: kind}, nil
	case document.Object:
		return choice{}, problem(path, "a value is needed here; got an object")
	default:
		return choice{}, problem(path, "alternatives are not nested; got an array")
	}
}

// exists compiles the value of the operator exists.
func exists(r *document.Reader, l *leaf, path string) error {
	switch r.Kind() {
	case document.True:
		l.present = true
	case document.False:
		l.absent = true
	default:
		return problem(path, "needs true or false; got %s", describe(r.Kind()))
	}
	r.Skip()
	return nil
}

// operator compiles the value of any other operator.
func (c *compiler) operator(r *document.Reader, name, path string, text bool) (choice, error) {
	if c.choices++; c.choices > choicesMax {
		return choice{}, problem(path, "more than %d alternatives in all", choicesMax)
	}
	switch name {
	case "numeric":
		return numeric(r, path)
	case "anything-but":
		return c.anythingBut(r, path, text)
	}
	return comparing(r, name, path)
}

// comparing compiles the value of an operator that compares with one text.
func comparing(r *document.Reader, name, path string) (choice, error) {
	if (name == "prefix" || name == "suffix") && r.Kind() == document.Object {
		return ignoringCase(r, name, path)
	}
	switch name {
	case "prefix", "suffix", "equals-ignore-case", "wildcard", "cidr":
	default:
		return choice{}, problem(path, "there is no operator %q; there are %s", name, operators)
	}
	if r.Kind() != document.String {
		return choice{}, problem(path, "needs a string; got %s", describe(r.Kind()))
	}
	text := r.Text().Append(nil)
	switch name {
	case "prefix":
		return choice{operator: prefix, text: text}, nil
	case "suffix":
		return choice{operator: suffix, text: text}, nil
	case "equals-ignore-case":
		return choice{operator: equalFold, text: foldText(text)}, nil
	case "wildcard":
		pieces, err := splitWildcard(text)
		if err != nil {
			return choice{}, problem(path, "%q %v", text, err)
		}
		return choice{operator: wildcard, pieces: pieces}, nil
	}
	network, err := netip.ParsePrefix(string(text))
	if err != nil {
		return choice{}, problem(path, `needs a network such as "10.0.0.0/8" or "2001:db8::/32"; got %q`, text)
	}
	return choice{operator: within, network: network.Masked()}, nil
}

// ignoringCase compiles {"equals-ignore-case": text} as the value of prefix or suffix.
func ignoringCase(r *document.Reader, name, path string) (choice, error) {
	const want = `needs a string, or {"equals-ignore-case": "..."}`
	if !r.Enter(document.Object) || !r.Key().Is("equals-ignore-case") || r.Kind() != document.String {
		return choice{}, problem(path, want)
	}
	folded := foldText(r.Text().Append(nil))
	if r.Next(document.Object) {
		return choice{}, problem(path, want)
	}
	if name == "prefix" {
		return choice{operator: prefixFold, text: folded}, nil
	}
	return choice{operator: suffixFold, text: folded}, nil
}

// anythingBut compiles the value of anything-but: what a field must not be.
func (c *compiler) anythingBut(r *document.Reader, path string, text bool) (choice, error) {
	but := choice{operator: anythingBut}
	var err error
	if r.Kind() != document.Object {
		but.but, err = each(r, path, func(r *document.Reader, at string) (choice, error) { return c.exact(r, at, text) })
		return but, err
	}
	if !r.Enter(document.Object) {
		return choice{}, problem(path, "needs values, or one of prefix, suffix, equals-ignore-case, wildcard and cidr")
	}
	name := string(r.Key().Bytes(nil))
	at := join(path, name)
	if name == "numeric" || name == "exists" || name == "anything-but" {
		return choice{}, problem(at, "is not possible in anything-but; there are prefix, suffix, equals-ignore-case, wildcard and cidr")
	}
	but.but, err = each(r, at, func(r *document.Reader, at string) (choice, error) {
		if c.choices++; c.choices > choicesMax {
			return choice{}, problem(at, "more than %d alternatives in all", choicesMax)
		}
		return comparing(r, name, at)
	})
	if err == nil && r.Next(document.Object) {
		err = problem(path, "has one operator inside")
	}
	return but, err
}

// each compiles one value, or the elements of an array.
func each(r *document.Reader, path string, compile func(*document.Reader, string) (choice, error)) ([]choice, error) {
	if r.Kind() != document.Array {
		one, err := compile(r, path)
		return []choice{one}, err
	}
	var list []choice
	for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
		one, err := compile(r, element(path, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil, problem(path, `names nothing; to ask that the field is there, write {"exists": true}`)
	}
	return list, nil
}

// numeric compiles the value of numeric: an operator and a number, or two pairs of them that are a range.
func numeric(r *document.Reader, path string) (choice, error) {
	const want = `needs an operator and a number, or two such pairs for a range, as in [">", 0, "<=", 5]`
	if r.Kind() != document.Array {
		return choice{}, problem(path, "%s; got %s", want, describe(r.Kind()))
	}
	in := choice{operator: between}
	pairs := 0
	for more := r.Enter(document.Array); more; more = r.Next(document.Array) {
		if r.Kind() != document.String {
			return choice{}, problem(path, "%s; got %s where an operator belongs", want, describe(r.Kind()))
		}
		operator := string(r.Text().Bytes(nil))
		if !r.Next(document.Array) || r.Kind() != document.Number {
			return choice{}, problem(path, "%s; after %q there is no number", want, operator)
		}
		if !in.limit(operator, parseDecimal(r.Scalar())) {
			return choice{}, problem(path, "%s; %q is not possible here: there are =, >, >=, <, <=, and a range has a lower and an upper end", want, operator)
		}
		pairs++
	}
	if pairs == 0 {
		return choice{}, problem(path, "%s; the array is empty", want)
	}
	if in.low.set && in.high.set {
		if order := in.low.value.compare(in.high.value); order > 0 || order == 0 && (in.low.open || in.high.open) {
			return choice{}, problem(path, "no number is in this range")
		}
	}
	return in, nil
}

// limit adds an end of a range, which must not have it yet.
func (c *choice) limit(operator string, d decimal) bool {
	b := bound{set: true, value: d, open: operator == "<" || operator == ">"}
	switch operator {
	case "=":
		if c.low.set || c.high.set {
			return false
		}
		c.low, c.high = b, b
		return true
	case "<", "<=":
		if c.high.set {
			return false
		}
		c.high = b
		return true
	case ">", ">=":
		if c.low.set {
			return false
		}
		c.low = b
		return true
	}
	return false
}
