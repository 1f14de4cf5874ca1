package syntax

import (
	"strconv"
	"strings"
	"time"
)

// Binary returns a quoted size as what it would be unquoted, but that all suffixes are powers of 1024.
func (v *Value) Binary() *Value {
	s := strings.ToLower(strings.TrimSpace(v.Text))
	if s != "" && strings.IndexByte("kmgtpe", s[len(s)-1]) >= 0 {
		s += "b"
	}
	return Scalar(s, v.Pos)
}

// Duration returns v as a duration; ok is false if it is none, and unitless true if it is a number, which counts seconds. The
// words come first: a bare 2m is two minutes, although the language alone would call it two million.
func (v *Value) Duration() (t time.Duration, unitless, ok bool) {
	if !v.IsScalar() {
		return 0, false, false
	}
	if t, err := time.ParseDuration(v.Text); err == nil {
		return t, false, true
	}
	const most = float64(1<<63-1) / float64(time.Second)
	number, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != Integer && v.Kind != Float || err != nil || number > most || number < -most {
		return 0, false, false
	}
	return time.Duration(number * float64(time.Second)), true, true
}

// ShowDuration is d without the zero units that Go prints: 2m, not 2m0s.
func ShowDuration(d time.Duration) string {
	t := d.String()
	if strings.HasSuffix(t, "m0s") {
		t = strings.TrimSuffix(t, "0s")
	}
	if strings.HasSuffix(t, "h0m") {
		t = strings.TrimSuffix(t, "0m")
	}
	return t
}
