package content

import (
	"bytes"
	"net/netip"

	"runnel/jetlog/document"
)

// leaf is the array of alternatives that a pattern has for a field: one of them is enough.
type leaf struct {
	choices []choice
	present bool // whatever the field is, it is enough that it is there
	absent  bool // it is enough that the field is not there
}

// value is what a message has for a field.
type value struct {
	kind  document.Kind // String, Number, True, False or Null
	text  []byte        // of a string what it says, otherwise how it is written
	field bool          // a header or the subject: a text, which can also be read as a number if it is one
}

// operator is how a choice compares.
type operator byte

const (
	equal      operator = iota // a string
	same                       // true, false, null
	number                     // a number
	between                    // a range of numbers
	prefix                     // texts, also those below
	suffix                     //
	equalFold                  //
	prefixFold                 //
	suffixFold                 //
	wildcard                   //
	within                     // a range of IP addresses
	anythingBut
)

// choice is one alternative.
type choice struct {
	operator  operator
	text      []byte        // what texts are compared with, folded for the operators that ignore case
	kind      document.Kind // of same
	low, high bound         // of number and between
	pieces    [][]byte      // of wildcard: what stands between the stars
	network   netip.Prefix  // of within
	but       []choice      // of anythingBut
}

// bound is one end of a range of numbers.
type bound struct {
	set   bool
	open  bool // the number itself is outside
	value decimal
}

// scalar passes the next value, which is neither object nor array, and reports whether it matches.
func (l *leaf) scalar(r *document.Reader) bool {
	kind := r.Kind()
	if kind != document.String {
		text := r.Scalar()
		return !r.Failed() && l.matches(value{kind: kind, text: text})
	}
	var room [roomBytes]byte
	return l.matches(value{kind: kind, text: r.Text().Bytes(room[:0])})
}

func (l *leaf) matches(v value) bool {
	if l.present {
		return true
	}
	for i := range l.choices {
		c := &l.choices[i]
		if c.operator != anythingBut && c.matches(v) || c.operator == anythingBut && c.excepts(v) {
			return true
		}
	}
	return false
}

// excepts reports whether v is none of what anything-but names.
func (c *choice) excepts(v value) bool {
	for i := range c.but {
		if c.but[i].matches(v) {
			return false
		}
	}
	return true
}

// matches reports whether v is what a choice names, which is not anything-but.
func (c *choice) matches(v value) bool {
	switch c.operator {
	case same:
		return v.kind == c.kind
	case number, between:
		d, ok := v.number()
		return ok && c.low.above(d) && c.high.below(d)
	}
	if v.kind != document.String {
		return false
	}
	switch c.operator {
	case equal:
		return bytes.Equal(v.text, c.text)
	case prefix:
		return bytes.HasPrefix(v.text, c.text)
	case suffix:
		return bytes.HasSuffix(v.text, c.text)
	case equalFold:
		rest, ok := cutPrefixFold(v.text, c.text)
		return ok && len(rest) == 0
	case prefixFold:
		_, ok := cutPrefixFold(v.text, c.text)
		return ok
	case suffixFold:
		return hasSuffixFold(v.text, c.text)
	case wildcard:
		return matchWildcard(v.text, c.pieces)
	}
	return c.contains(v.text)
}

// contains reports whether text is an IP address in the network.
func (c *choice) contains(text []byte) bool {
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")
	if len(text) > longest {
		return false
	}
	address, err := netip.ParseAddr(string(text))
	return err == nil && c.network.Contains(address.Unmap())
}

// number returns v as a number if it is one.
func (v value) number() (decimal, bool) {
	if v.kind == document.Number {
		return parseDecimal(v.text), true
	}
	if !v.field {
		return decimal{}, false
	}
	r := document.Read(v.text)
	if r.Kind() != document.Number {
		return decimal{}, false
	}
	text := r.Scalar()
	if !r.Done() {
		return decimal{}, false
	}
	return parseDecimal(text), true
}

// above reports whether d is above b, its lower bound.
func (b *bound) above(d decimal) bool {
	if !b.set {
		return true
	}
	order := d.compare(b.value)
	return order > 0 || order == 0 && !b.open
}

// below reports whether d is below b, its upper bound.
func (b *bound) below(d decimal) bool {
	if !b.set {
		return true
	}
	order := d.compare(b.value)
	return order < 0 || order == 0 && !b.open
}
