package process_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"runnel/chaos/process"
)

// entry is a line of a log.
func entry(level, text string) string {
	return fmt.Sprintf("[7] 2026/01/02 03:04:05.678901 [%s] %s\n", level, text)
}

func TestFaults(t *testing.T) {
	panics := "panic: oops\ngoroutine 1\n"
	tests := []struct {
		name     string
		log      string
		expected string
		want     []string
	}{
		{"nothing", "", "", nil},
		{"all is well", entry("INF", "do not panic: all is well") + entry("WRN", "fatal error: no"), "", nil},
		{"errors", entry("ERR", "a") + entry("INF", "b") + entry("FTL", "c"), "", []string{entry("ERR", "a"), entry("FTL", "c")}},
		{"expected", entry("ERR", "route 1") + entry("ERR", "disk"), `route \d`, []string{entry("ERR", "disk")}},
		{"a crash is never expected", entry("INF", "a") + panics, `.`, []string{panics}},
		{"a crash with all its lines", panics + strings.Repeat("main\n", 100) + "WARNING: DATA RACE\nx", "", []string{
			panics + strings.Repeat("main\n", 58), "WARNING: DATA RACE\nx",
		}},
		{"no line of a log", "[ERR] a\nx [7] a b [ERR] c\n", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var expected []*regexp.Regexp
			if tt.expected != "" {
				expected = append(expected, regexp.MustCompile(tt.expected))
			}
			got, err := process.Faults(tt.log, expected...)
			if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}

// Many faults are counted, and not all kept.
func TestFaultsMany(t *testing.T) {
	got, err := process.Faults(strings.Repeat(entry("ERR", "a"), 150))
	if err != nil || len(got) != 101 || got[100] != "50 more places" {
		t.Errorf("got %d places, the last %q, %v, want 100 and how many more", len(got), got[len(got)-1], err)
	}
}

func TestLastLines(t *testing.T) {
	const text = "a\nb\nc\n"
	for lines, want := range map[int]string{0: "", 1: "c\n", 2: "b\nc\n", 5: text} {
		if got := process.LastLines(text, lines); got != want {
			t.Errorf("%d lines: got %q, want %q", lines, got, want)
		}
	}
}
