package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// selection is what one run of the suite is asked to do.
type selection struct {
	suite string   // a suite by name; empty means all, filtered by tests
	tests []string // package.TestName; empty means every test of the suite
	jobs  int      // test processes side by side
	limit time.Duration
}

// pattern is the selection as the suite's filter. It goes by bare names, so a test of the same name
// in another package is run too.
func (s selection) pattern() string {
	var names []string
	for _, id := range s.tests {
		_, name, _ := strings.Cut(id, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// results maps package.TestName to how the test ended; the zero result is a test that was not run.
type results map[string]result

// result is how one test ended.
type result struct {
	status       string // pass, or the suite's word for how it failed
	area, output string
}

func (r result) passed() bool { return r.status == "pass" }

// suite is the built conformance program.
type suite struct {
	dir, server string // the source, which holds the baseline too, and the binary under test
	work        string // holds the program and the reports
}

// newSuite builds the program from its source in dir. The caller closes the suite.
func newSuite(dir, server string) (*suite, error) {
	server, err := filepath.Abs(server)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "ratchet-")
	if err != nil {
		return nil, err
	}
	s := &suite{dir: dir, server: server, work: work}
	cmd := exec.Command("go", "build", "-o", filepath.Join(work, "conformance"), ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.close()
		return nil, fmt.Errorf("build the suite: %w\n%s", err, out)
	}
	return s, nil
}

// close removes the program and its reports.
func (s *suite) close() { os.RemoveAll(s.work) }

// run runs the selected tests once, without the suite's own retries.
func (s *suite) run(sel selection) (results, error) {
	report := filepath.Join(s.work, "report.json")
	os.Remove(report)
	suiteName := sel.suite
	if suiteName == "" {
		suiteName = "all"
	}
	args := []string{
		"-server", s.server, "-suite", suiteName, "-json", report, "-v",
		"-retries", "0", "-j", strconv.Itoa(sel.jobs), "-max-time", sel.limit.String(),
	}
	if p := sel.pattern(); p != "" {
		args = append(args, "-run", p)
	}
	cmd := exec.Command(filepath.Join(s.work, "conformance"), args...)
	cmd.Dir = s.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The exit code also says that tests failed; what counts is whether there is a report.
	runErr := cmd.Run()
	b, err := os.ReadFile(report)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the suite ended without a report (%w):\n%s", runErr, indent(out.String()))
	}
	if err != nil {
		return nil, err
	}
	return readResults(out.Bytes(), b)
}

// passLine is how the suite prints a passed test under -v; its report names only the failed ones.
var passLine = regexp.MustCompile(`(?m)^\[\d+/\d+\] pass (\S+) `)

// readResults joins what the suite printed with its report, and checks one against the other.
func readResults(printed, report []byte) (results, error) {
	var rep struct {
		Passed   int
		Failed   int
		Failures []struct{ Test, Area, Status, Output string }
	}
	if err := json.Unmarshal(report, &rep); err != nil {
		return nil, fmt.Errorf("the suite's report: %w", err)
	}
	r := results{}
	for _, m := range passLine.FindAllSubmatch(printed, -1) {
		r[string(m[1])] = result{status: "pass"}
	}
	passed := len(r)
	for _, f := range rep.Failures {
		r[f.Test] = result{status: f.Status, area: f.Area, output: f.Output}
	}
	if passed != rep.Passed || len(r) != rep.Passed+rep.Failed {
		return nil, fmt.Errorf("the suite reports %d passed and %d failed tests, its output names %d and %d",
			rep.Passed, rep.Failed, passed, len(r)-passed)
	}
	return r, nil
}
