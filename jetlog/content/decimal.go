package content

import "bytes"

// exponentMax is where exponents end: larger ones count as this. Nobody has such numbers, and so the
// arithmetic on exponents cannot overflow.
const exponentMax = 1_000_000_000_000

// decimal is a number as it is written in JSON, exactly. Its digits are parts of the text.
//
// The number is 0.d1d2d3... × 10^point, where the digits are those of whole and then those of fraction. The first
// of them is not 0, and zero has none. So of two numbers that have a digit, the one with the larger point is larger.
type decimal struct {
	negative        bool
	whole, fraction []byte
	point           int64
}

// parseDecimal returns the number that a text is, which must be a number by the grammar of JSON.
func parseDecimal(text []byte) decimal {
	var d decimal
	if text[0] == '-' {
		d.negative = true
		text = text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		d.point = exponent(text[i+1:])
		text = text[:i]
	}
	d.whole, d.fraction, _ = bytes.Cut(text, []byte("."))
	d.point += int64(len(d.whole))
	return d.trim()
}

// trim returns the number without zeros at its beginning.
func (d decimal) trim() decimal {
	for len(d.whole) > 0 && d.whole[0] == '0' {
		d.whole = d.whole[1:]
		d.point--
	}
	for len(d.whole) == 0 && len(d.fraction) > 0 && d.fraction[0] == '0' {
		d.fraction = d.fraction[1:]
		d.point--
	}
	if d.digits() == 0 {
		return decimal{}
	}
	return d
}

// exponent returns the number after the e.
func exponent(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	var n int64
	for _, c := range text {
		n = min(n*10+int64(c-'0'), exponentMax)
	}
	if negative {
		return -n
	}
	return n
}

// compare returns a number below, at or above 0, as d is below, equal to or above other.
func (d decimal) compare(other decimal) int {
	if a, b := d.sign(), other.sign(); a != b {
		return a - b
	}
	order := d.compareSize(other)
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) sign() int {
	switch {
	case d.digits() == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// compareSize compares without regard to the signs.
func (d decimal) compareSize(other decimal) int {
	switch {
	case d.point < other.point:
		return -1
	case d.point > other.point:
		return 1
	}
	for i := range max(d.digits(), other.digits()) {
		if a, b := d.digit(i), other.digit(i); a != b {
			return int(a) - int(b)
		}
	}
	return 0
}

func (d decimal) digits() int { return len(d.whole) + len(d.fraction) }

// digit returns digit i, which is a zero after the last one.
func (d decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	if i -= len(d.whole); i < len(d.fraction) {
		return d.fraction[i]
	}
	return '0'
}
