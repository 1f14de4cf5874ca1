// Package setting reads policies that are written as names with values, as in min=1s,max=5m.
package setting

import (
	"fmt"
	"strings"
	"time"
)

// MaxBytes bounds a text.
const MaxBytes = 256

// Fits returns an error for a text that is too long.
func Fits(text string) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxBytes)
	}
	return nil
}

// Each calls set with each name and value of a text, which has at least one, in their order. An error says what is wrong, and
// which names there are, which is what names says.
func Each(text, names string, set func(name, value string) error) error {
	seen := map[string]bool{}
	for rest, more := text, true; more; {
		var one string
		one, rest, more = strings.Cut(rest, ",")
		name, value, ok := strings.Cut(one, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok:
			return fmt.Errorf("%q has no value; write name=value, where the names are %s", one, names)
		case seen[name]:
			return fmt.Errorf("%s is there twice", name)
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Duration reads a duration between two limits.
func Duration(value string, shortest, longest time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < shortest || d > longest {
		return 0, fmt.Errorf("needs a duration from %s to %s, such as 500ms, 30s, 5m or 1h; got %q", Short(shortest), Short(longest), value)
	}
	return d, nil
}

// Short writes a duration without zeros at its end: 5m instead of 5m0s.
func Short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
