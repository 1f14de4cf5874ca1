package syntax

import (
	"strconv"
	"strings"
	"time"
)

// Kind is what a value looks like. Its text is kept beside it, so that a
// password 0123 or 1.50 is still the string that was written.
type Kind int

// The kinds of values. What is in quotes or a block is always a string.
const (
	String  Kind = iota
	Integer      // 42, or with a suffix like 64MB
	Float        // 1.5
	Boolean      // true, yes, on and their contraries
	Time         // 2006-01-02T15:04:05Z
	Map          // { key: value }
	Array        // [ value, value ]
)

// String returns the kind with its article, for error texts.
func (k Kind) String() string {
	return [...]string{"a string", "a number", "a number with a fraction", "a boolean", "a date", "a block", "a list"}[k]
}

// Value is a node of the parsed config.
type Value struct {
	Kind Kind
	Pos  Position
	// Text is a scalar as written, a string without quotes and escapes.
	Text string
	// Number is an integer with its suffix applied; OutOfRange says that it
	// does not fit. Float and Boolean are the other scalars.
	Number     int64
	OutOfRange bool
	Float      float64
	Boolean    bool
	// Variable is the name of the variable that the value came from, if any.
	Variable string
	// Items of an array, Fields of a map in the order of the file.
	Items  []*Value
	Fields []*Field
	// index finds the last field of each key; it is nil until a variable asks.
	index map[string]*Field
	// weight is the number of values at and below this one. A variable makes
	// a value occur many times; the weight counts each.
	weight int
}

// Field is one key of a map. A key may occur twice; the last one counts.
type Field struct {
	Key   string
	Pos   Position
	Value *Value
	// Used says that a variable refers to the key, so it need not be known.
	Used bool
}

// add appends a field to a map.
func (v *Value) add(f *Field) {
	v.Fields = append(v.Fields, f)
	if v.index != nil {
		v.index[f.Key] = f
	}
}

// lookup returns the last field of that key, nil when there is none.
func (v *Value) lookup(key string) *Field {
	if v.index == nil {
		v.index = make(map[string]*Field, len(v.Fields))
		for _, f := range v.Fields {
			v.index[f.Key] = f
		}
	}
	return v.index[key]
}

// IsScalar reports whether v is neither a map nor an array.
func (v *Value) IsScalar() bool { return v.Kind != Map && v.Kind != Array }

// String returns v as errors name it: `number 12`, `string "abc"`, `a block`.
func (v *Value) String() string {
	var s string
	switch v.Kind {
	case Map, Array:
		s = v.Kind.String()
	case String:
		s = "string " + strconv.Quote(Shorten(v.Text))
	default:
		s = strings.TrimSuffix(strings.TrimPrefix(v.Kind.String(), "a "), " with a fraction") + " " + Shorten(v.Text)
	}
	if v.Variable != "" {
		s += " (the value of $" + v.Variable + ")"
	}
	return s
}

// Shorten cuts s for an error text.
func Shorten(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return s
}

// Scalar returns the value that an unquoted word of that text would be.
func Scalar(text string, p Position) *Value { return scalar(word{text: text, pos: p}) }

// scalar decides what an unquoted word is.
func scalar(w word) *Value {
	v := &Value{Kind: String, Pos: w.pos, Text: w.text, weight: 1}
	if w.quoted || w.text == "" {
		return v
	}
	switch strings.ToLower(w.text) {
	case "true", "yes", "on":
		v.Kind, v.Boolean = Boolean, true
	case "false", "no", "off":
		v.Kind = Boolean
	default:
		v.parseNumber()
	}
	return v
}

// parseNumber makes v an integer, a float or a date if it looks like one.
func (v *Value) parseNumber() {
	digits := strings.TrimPrefix(v.Text, "-")
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
		v.Float, _ = strconv.ParseFloat(v.Text, 64)
		v.Kind = Float
		return
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", v.Text); err == nil {
		v.Kind = Time
	}
}

// setInteger makes v an integer of its digits times factor.
func (v *Value) setInteger(factor int64) {
	v.Kind = Integer
	number := strings.TrimRight(v.Text, "kmgtpeibKMGTPEIB")
	n, err := strconv.ParseInt(number, 10, 64)
	v.Number = n * factor
	v.OutOfRange = err != nil || v.Number/factor != n
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
