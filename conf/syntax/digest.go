package syntax

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
)

// Digest identifies a config by the JSON of its values, as `sha256:<hex>`. The
// incumbent does the same, so that equal files have equal digests on both.
func (v *Value) Digest() string {
	h := sha256.New()
	// Nothing in a config can fail to encode, and a hash takes everything.
	_ = json.NewEncoder(h).Encode(v.Plain())
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
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
