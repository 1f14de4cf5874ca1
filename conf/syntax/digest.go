package syntax

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
)

// Digest identifies a config by the JSON of its values, as `sha256:<hex>`. The
// incumbent does the same, so that equal files have equal digests on both.
func (v *Value) Digest() string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	v.encode(w)
	_ = w.WriteByte('\n')
	_ = w.Flush() // a hash takes everything
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// encode writes what encoding/json makes of Plain, without that or all of the
// text being there at once: a file may have a million values.
func (v *Value) encode(w *bufio.Writer) {
	switch v.Kind {
	case Map:
		fields := slices.Clone(v.Fields)
		slices.SortStableFunc(fields, func(a, b *Field) int { return cmp.Compare(a.Key, b.Key) })
		next := byte('{')
		for i, f := range fields {
			if i+1 < len(fields) && fields[i+1].Key == f.Key {
				continue // the last counts
			}
			_ = w.WriteByte(next)
			encodeScalar(w, f.Key)
			_ = w.WriteByte(':')
			f.Value.encode(w)
			next = ','
		}
		if len(fields) == 0 {
			_ = w.WriteByte(next)
		}
		_ = w.WriteByte('}')
	case Array:
		_ = w.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				_ = w.WriteByte(',')
			}
			item.encode(w)
		}
		_ = w.WriteByte(']')
	default:
		encodeScalar(w, v.Plain())
	}
}

func encodeScalar(w *bufio.Writer, v any) {
	text, _ := json.Marshal(v) // nothing in a config can fail to encode
	_, _ = w.Write(text)
}

// Plain returns v as encoding/json would read it: maps by string, slices,
// strings, booleans, int64 and float64. A date is its text, and so is a number
// beyond the range of its type. Of repeated keys the last counts.
func (v *Value) Plain() any {
	switch v.Kind {
	case Map:
		m := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			m[f.Key] = f.Value.Plain()
		}
		return m
	case Array:
		a := make([]any, len(v.Items))
		for i, item := range v.Items {
			a[i] = item.Plain()
		}
		return a
	case Boolean:
		return v.Boolean
	case Integer:
		if !v.OutOfRange {
			return v.Number
		}
	case Float:
		if !math.IsInf(v.Float, 0) {
			return v.Float
		}
	}
	return v.Text
}
