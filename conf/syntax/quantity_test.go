package syntax_test

import (
	"testing"
	"time"

	"runnel/conf/syntax"
)

// TestDuration reads durations and shows them again.
func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		text     string
		want     time.Duration
		unitless bool
		ok       bool
		shown    string
	}{
		{"2m", 2 * time.Minute, false, true, "2m"},
		{"1h", time.Hour, false, true, "1h"},
		{"90s", 90 * time.Second, false, true, "1m30s"},
		{"1h0m5s", time.Hour + 5*time.Second, false, true, "1h0m5s"},
		{"30", 30 * time.Second, true, true, "30s"},
		{"0.5", 500 * time.Millisecond, true, true, "500ms"},
		{"-3", -3 * time.Second, true, true, "-3s"},
		{"99999999999", 0, true, false, ""},
		{"64MB", 0, false, false, ""},
		{"soon", 0, false, false, ""},
	} {
		v := syntax.Scalar(tt.text, syntax.Position{})
		got, unitless, ok := v.Duration()
		if ok != tt.ok || ok && (got != tt.want || unitless != tt.unitless) {
			t.Errorf("%s: %v, unitless %v, ok %v; want %v, %v, %v", tt.text, got, unitless, ok, tt.want, tt.unitless, tt.ok)
		}
		if ok && syntax.ShowDuration(got) != tt.shown {
			t.Errorf("%s: shown as %s, want %s", tt.text, syntax.ShowDuration(got), tt.shown)
		}
	}
	if _, _, ok := (&syntax.Value{Kind: syntax.Map}).Duration(); ok {
		t.Error("a block is a duration")
	}
}

// TestBinary has suffixes of quoted sizes be powers of 1024.
func TestBinary(t *testing.T) {
	for text, want := range map[string]int64{"1k": 1 << 10, " 2M ": 2 << 20, "3GB": 3 << 30, "4ib": 0, "17": 17} {
		v := (&syntax.Value{Text: text}).Binary()
		if v.Number != want || v.Kind == syntax.Integer != (want != 0) {
			t.Errorf("%q: %v of %d, want %d", text, v.Kind, v.Number, want)
		}
	}
}
