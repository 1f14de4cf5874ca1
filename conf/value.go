package conf

import (
	"strconv"
	"strings"
	"time"
)

// kind is what a value looks like. Its text is kept beside it, so that a
// password 0123 or 1.50 is still the string that was written.
type kind int

const (
	kindString kind = iota
	kindInteger
	kindFloat
	kindBoolean
	kindTime
	kindMap
	kindArray
)

// String returns the kind with its article, for error texts.
func (k kind) String() string {
	return [...]string{"a string", "a number", "a number with a fraction", "a boolean", "a date", "a block", "a list"}[k]
}

// value is a node of the parsed config.
type value struct {
	kind kind
	pos  Position
	// text is a scalar as written, a string without quotes and escapes.
	text string
	// number is an integer with its suffix applied; outOfRange says that it
	// does not fit. float, boolean and time are the other scalars.
	number     int64
	outOfRange bool
	float      float64
	boolean    bool
	time       time.Time
	quoted     bool
	// variable is the name of the variable that the value came from, if any.
	variable string
	// items of an array, fields of a map in the order of the file.
	items  []*value
	fields []*field
	// index finds the last field of each key; it is nil until a variable asks.
	index map[string]*field
	// weight is the number of values at and below this one. A variable makes
	// a value occur many times; the weight counts each.
	weight int
}

// field is one key of a map. A key may occur twice; the last one counts.
type field struct {
	key   string
	pos   Position
	value *value
	// used says that a variable refers to the key, so it need not be known.
	used bool
}

// add appends a field to a map.
func (v *value) add(f *field) {
	v.fields = append(v.fields, f)
	if v.index != nil {
		v.index[f.key] = f
	}
}

// lookup returns the last field of that key, nil when there is none.
func (v *value) lookup(key string) *field {
	if v.index == nil {
		v.index = make(map[string]*field, len(v.fields))
		for _, f := range v.fields {
			v.index[f.key] = f
		}
	}
	return v.index[key]
}

// show returns v as errors name it: `number 12`, `string "abc"`, `a block`.
func (v *value) show() string {
	var s string
	switch v.kind {
	case kindMap, kindArray:
		s = v.kind.String()
	case kindString:
		s = "string " + strconv.Quote(shorten(v.text))
	default:
		s = strings.TrimSuffix(strings.TrimPrefix(v.kind.String(), "a "), " with a fraction") + " " + shorten(v.text)
	}
	if v.variable != "" {
		s += " (the value of $" + v.variable + ")"
	}
	return s
}

// shorten cuts s for an error text.
func shorten(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return s
}

// scalar decides what an unquoted word is.
func scalar(w word) *value {
	v := &value{kind: kindString, pos: w.pos, text: w.text, quoted: w.quoted, weight: 1}
	if w.quoted || w.text == "" {
		return v
	}
	switch strings.ToLower(w.text) {
	case "true", "yes", "on":
		v.kind, v.boolean = kindBoolean, true
	case "false", "no", "off":
		v.kind = kindBoolean
	default:
		v.parseNumber()
	}
	return v
}

// parseNumber makes v an integer, a float or a date if it looks like one.
func (v *value) parseNumber() {
	digits := strings.TrimPrefix(v.text, "-")
	end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case end == 0 || digits == "":
		return
	case end < 0:
		v.setInteger(1)
		return
	}
	if factor, ok := unitFactor(digits[end:]); ok {
		v.setInteger(factor)
		return
	}
	fraction, dotted := strings.CutPrefix(digits[end:], ".")
	if dotted && fraction != "" && strings.Trim(fraction, "0123456789") == "" {
		// The error is a value beyond the range, then infinite: still a float.
		v.float, _ = strconv.ParseFloat(v.text, 64)
		v.kind = kindFloat
		return
	}
	if t, err := time.Parse("2006-01-02T15:04:05Z", v.text); err == nil {
		v.kind, v.time = kindTime, t
	}
}

// setInteger makes v an integer of its digits times factor.
func (v *value) setInteger(factor int64) {
	v.kind = kindInteger
	number := strings.TrimRight(v.text, "kmgtpeibKMGTPEIB")
	n, err := strconv.ParseInt(number, 10, 64)
	v.number = n * factor
	v.outOfRange = err != nil || v.number/factor != n
}

// unitFactor returns what a suffix multiplies by: k is 1000, kb, ki and kib
// are 1024, and so on up to e.
func unitFactor(suffix string) (int64, bool) {
	s := strings.ToLower(suffix)
	power := strings.IndexByte("kmgtpe", s[0])
	if power < 0 {
		return 0, false
	}
	base := int64(1000)
	switch s[1:] {
	case "":
	case "b", "i", "ib":
		base = 1024
	default:
		return 0, false
	}
	factor := base
	for range power {
		factor *= base
	}
	return factor, true
}
