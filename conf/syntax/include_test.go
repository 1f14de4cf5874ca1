package syntax_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInclude(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
		files            map[string]string
	}{
		{"unquoted", "include x.conf\na: 1", `{"a":1,"x":2}`, map[string]string{"x.conf": "x: 2"}},
		{"quoted", `include "x.conf"; a: 1`, `{"a":1,"x":2}`, map[string]string{"x.conf": "x: 2"}},
		{"single quotes", `include './x.conf'`, `{"x":2}`, map[string]string{"x.conf": "x: 2"}},
		{
			"in a map",
			"a { include x.conf\n b: 1 }",
			`{"a":{"b":1,"x":2}}`,
			map[string]string{"x.conf": "x: 2"},
		},
		{
			"in a map on one line",
			"a { include x.conf }",
			`{"a":{"x":2}}`,
			map[string]string{"x.conf": "x: 2"},
		},
		{"JSON", "include x.conf", `{"x":{"y":2}}`, map[string]string{"x.conf": `{"x": {"y": 2}}`}},
		{"empty", "include x.conf\na: 1", `{"a":1}`, map[string]string{"x.conf": ""}},
		{"twice", "include x.conf\ninclude x.conf", `{"x":2}`, map[string]string{"x.conf": "x: 2"}},
		{
			"relative to the including file", "include d/x.conf", `{"x":2,"y":3}`,
			map[string]string{"d/x.conf": "x: 2\ninclude y.conf", "d/y.conf": "y: 3"},
		},
		{
			"variables from outside",
			"a: 1\ninclude x.conf",
			`{"a":1,"x":1}`,
			map[string]string{"x.conf": "x: $a"},
		},
		{
			"variables for outside",
			"include x.conf\na: $x",
			`{"a":2,"x":2}`,
			map[string]string{"x.conf": "x: 2"},
		},
		{"a key called include", "include: x\n", `{"include":"x"}`, nil},
		{"a block called include", "include { x: 1 }\n", `{"include":{"x":1}}`, nil},
		{"a quoted key called include", `"include" x`, `{"include":"x"}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.files {
				write(t, dir, name, text)
			}
			got, errs := values(filepath.Join(dir, "c.conf"), test.text)
			if errs != nil || got != test.want {
				t.Errorf("got %s, %v\nwant %s", got, errs, test.want)
			}
		})
	}
}

func TestIncludeErrors(t *testing.T) {
	for _, test := range []struct {
		name, text, want string // want has DIR for the folder
		files            map[string]string
	}{
		{
			"missing",
			"a: 1\ninclude x.conf",
			"DIR/c.conf:2:9: include: open DIR/x.conf: no such file or directory",
			nil,
		},
		{"folder", "include d", "DIR/c.conf:1:9: include: DIR/d is a folder, not a file", nil},
		{
			"itself",
			"include c.conf",
			"DIR/c.conf:1:9: include cycle: DIR/c.conf includes DIR/c.conf",
			nil,
		},
		{
			"ring", "include x.conf",
			"DIR/y.conf:2:9: include cycle: DIR/c.conf includes DIR/x.conf includes DIR/y.conf includes DIR/c.conf",
			map[string]string{"x.conf": "include y.conf", "y.conf": "\ninclude c.conf"},
		},
		{
			"ring that the file is not part of", "include x.conf",
			"DIR/y.conf:1:9: include cycle: DIR/x.conf includes DIR/y.conf includes DIR/x.conf",
			map[string]string{"x.conf": "include y.conf", "y.conf": "include d/../x.conf"},
		},
		{
			"errors of both files", "include x.conf\nb: $NOPE",
			"DIR/c.conf:2:4: the variable $NOPE is set neither above nor in the environment; quote the value if it is meant as text\n" +
				"DIR/x.conf:2:4: this \"[\" is never closed",
			map[string]string{"x.conf": "a: 1\nx: [1"},
		},
		{
			"map of the outer file",
			"a {\ninclude x.conf",
			"DIR/c.conf:1:3: this \"{\" is never closed\nDIR/x.conf:1:1: \"}\" closes nothing",
			map[string]string{"x.conf": "}"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.files {
				write(t, dir, name, text)
			}
			main := write(t, dir, "c.conf", test.text)
			got, errs := values(main, test.text)
			if want := strings.ReplaceAll(test.want, "DIR", dir); errs.Error() != want {
				t.Errorf("got  %s, %v\nwant %s", got, errs, want)
			}
		})
	}
}

// TestIncludeBombs has files that include others many times over.
func TestIncludeBombs(t *testing.T) {
	dir := t.TempDir()
	const files = 40
	for i := range files {
		write(t, dir, fmt.Sprintf("deep%d", i), fmt.Sprintf("include deep%d", i+1))
	}
	write(t, dir, fmt.Sprintf("deep%d", files), "")
	_, errs := values(filepath.Join(dir, "c.conf"), "include deep0")
	if len(errs) != 1 || !strings.Contains(errs.Error(), "nested deeper than 16 files") {
		t.Errorf("deep: got %v, want an error about the depth", errs)
	}
	for i := range 10 {
		next := fmt.Sprintf("include wide%d\n", i+1)
		write(t, dir, fmt.Sprintf("wide%d", i), strings.Repeat(next, 20))
	}
	write(t, dir, "wide10", "")
	_, errs = values(filepath.Join(dir, "c.conf"), "include wide0")
	if len(errs) == 0 || !strings.Contains(errs.Error(), "larger than 64 MiB") {
		t.Errorf("wide: got %d errors, want one about the size", len(errs))
	}
}
