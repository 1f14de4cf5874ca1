package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// list is the file of tests that must pass: one per line as package.TestName, sorted; lines that
// start with # are comments. A test that the suite no longer has leaves the list with a comment
// "# gone NAME: reason"; there is no other way out.
type list struct {
	file     string
	comments []string // kept as they are, at the top of the file
	tests    []string // no name twice
	gone     map[string]bool
}

var (
	entry = regexp.MustCompile(`^\w+\.Test\w*$`)
	// added is a line that some commit put into the list.
	added     = regexp.MustCompile(`(?m)^\+(\w+\.Test\w*)$`)
	goneEntry = regexp.MustCompile(`^# gone (\w+\.Test\w*): \S`)
)

// readList reads and checks the file. An error names the line.
func readList(file string) (*list, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	l := &list{file: file, gone: map[string]bool{}}
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			l.comments = append(l.comments, line)
			if m := goneEntry.FindStringSubmatch(line); m != nil {
				l.gone[m[1]] = true
			}
		case !entry.MatchString(line):
			return nil, fmt.Errorf("%s:%d: %q is not of the form package.TestName", file, i+1, line)
		case slices.Contains(l.tests, line):
			return nil, fmt.Errorf("%s:%d: %s stands there twice", file, i+1, line)
		default:
			l.tests = append(l.tests, line)
		}
	}
	return l, nil
}

// removed is the tests that an earlier version of the list (patches, as git log -p prints them) had
// and this one has not.
func (l *list) removed(patches string) []string {
	var out []string
	for _, m := range added.FindAllStringSubmatch(patches, -1) {
		if id := m[1]; !slices.Contains(l.tests, id) && !l.gone[id] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// failed is the listed tests that did not pass.
func (l *list) failed(r results) []string {
	var out []string
	for _, id := range l.tests {
		if !r[id].passed() {
			out = append(out, id)
		}
	}
	return out
}

// gained is the tests that passed and are not listed.
func (l *list) gained(r results) []string {
	var out []string
	for id, res := range r {
		if res.passed() && !slices.Contains(l.tests, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// add puts tests into the list and writes the file: comments first, then the tests, sorted.
func (l *list) add(tests []string) error {
	if len(tests) == 0 {
		return nil
	}
	l.tests = append(l.tests, tests...)
	slices.Sort(l.tests)
	text := strings.Join(append(slices.Clone(l.comments), l.tests...), "\n") + "\n"
	if err := os.WriteFile(l.file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}
