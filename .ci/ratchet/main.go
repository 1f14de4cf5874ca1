// Command ratchet holds a server to the client conformance tests that it once passed.
//
//	ratchet -suite DIR -server BIN -list FILE           run the listed tests
//	ratchet -suite DIR -server BIN -list FILE -update   run whole suites, add the tests that pass twice
//
// DIR holds the source of the conformance suite, writable. A listed test that fails is run once more,
// alone, and, when few fail again, a last time after a pause; when it fails each time the exit code is
// 1. Entries never leave the list: see list.go.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"time"
)

// limits of the runs, so that CI ends in time whatever the server does.
const (
	firstRunMax  = 20 * time.Minute
	secondRunMax = 10 * time.Minute
	lastRunMax   = 3 * time.Minute
)

// Some tests listen on fixed ports of the ephemeral range. The end of any other connection can hold
// such a port for the 60 s of TIME_WAIT, and both first runs of the test can fall into that minute:
// the last run comes after it. A real loss shows in many tests or in all three runs.
const (
	lastRunTests = 3
	lastRunPause = 65 * time.Second
)

func main() {
	var (
		dir    = flag.String("suite", "", "folder with the source of the conformance suite")
		server = flag.String("server", "", "the server binary under test")
		file   = flag.String("list", ".ci/conformance.txt", "the list of tests that must pass")
		suites = flag.String("suites", "core,micro,legacyjs,jetstream,kv", "the suites that -update runs")
		update = flag.Bool("update", false, "run the suites and add new passing tests to the list")
	)
	flag.Parse()
	s, err := newSuite(*dir, *server)
	if err == nil {
		defer s.close()
		var names []string
		if *update {
			names = strings.Split(*suites, ",")
		}
		err = ratchet(os.Stdout, *file, names, history(*file), s.run, time.Sleep)
	}
	if err != nil {
		fmt.Println("conformance FAILED:", err)
		os.Exit(1)
	}
}

// history is every version of the list that git knows, as a patch; empty outside a clone.
func history(file string) string {
	out, err := exec.Command("git", "log", "--format=", "-p", "--", file).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// runner runs the tests of a selection and says how each ended.
type runner func(selection) (results, error)

// ratchet runs what the list in file names, or the given suites whole, tells out what came of it and
// adds to the list when suites were given. The error says that a listed test is lost, or that nothing
// could be found out.
func ratchet(out io.Writer, file string, suites []string, patches string, run runner, pause func(time.Duration)) error {
	l, err := readList(file)
	if err != nil {
		return err
	}
	if gone := l.removed(patches); len(gone) > 0 {
		return fmt.Errorf("the list may only grow, but these were taken out of it (say why with a line \"# gone NAME: reason\"):\n  %s", strings.Join(gone, "\n  "))
	}
	first, err := runAll(l, suites, run)
	if err != nil {
		return err
	}
	again := l.failed(first)
	if suites != nil {
		again = append(again, l.gained(first)...)
	}
	second := results{}
	if len(again) > 0 {
		fmt.Fprintf(out, "run again, alone: %s\n", strings.Join(again, " "))
		if second, err = run(selection{tests: again, jobs: 1, limit: secondRunMax}); err != nil {
			return err
		}
	}
	if left := l.failed(merged(first, second)); len(left) > 0 && len(left) <= lastRunTests {
		fmt.Fprintf(out, "run a last time after a pause: %s\n", strings.Join(left, " "))
		pause(lastRunPause)
		last, err := run(selection{tests: left, jobs: 1, limit: lastRunMax})
		if err != nil {
			return err
		}
		second = merged(second, last)
	}
	lost := report(out, l, first, second)
	if err := grow(out, l, suites != nil, first, second); err != nil {
		return err
	}
	if lost > 0 {
		return fmt.Errorf("%d listed tests do not pass any more", lost)
	}
	return nil
}

// merged is both results; what passed in either has passed.
func merged(a, b results) results {
	all := maps.Clone(a)
	for id, res := range b {
		if !all[id].passed() {
			all[id] = res
		}
	}
	return all
}

// runAll is the first run: the given suites, or the tests of the list when there are none.
func runAll(l *list, suites []string, run runner) (results, error) {
	all := results{}
	if suites == nil {
		if len(l.tests) == 0 {
			return all, nil
		}
		return run(selection{tests: l.tests, jobs: 2, limit: firstRunMax})
	}
	for _, name := range suites {
		got, err := run(selection{suite: name, jobs: 2, limit: firstRunMax})
		if err != nil {
			return nil, err
		}
		maps.Copy(all, got)
	}
	return all, nil
}

// report tells how the listed tests ended and returns how many are lost.
func report(out io.Writer, l *list, first, second results) (lost int) {
	flaky := 0
	for _, id := range l.tests {
		a, b := first[id], second[id]
		switch {
		case a.passed():
		case b.passed():
			flaky++
			fmt.Fprintf(out, "note: %s passed only when run again\n", id)
		case a.status == "" && b.status == "":
			lost++
			fmt.Fprintf(out, "FAIL %s: the suite has no such test\n", id)
		default:
			lost++
			fmt.Fprintf(out, "FAIL %s (%s): %s\n%s", id, b.area, b.status, indent(b.output))
		}
	}
	fmt.Fprintf(out, "conformance: %d listed, %d passed, %d of them only when run again, %d failed\n",
		len(l.tests), len(l.tests)-lost, flaky, lost)
	return lost
}

// grow adds what passed in both runs to the list or, without update, names what could be added.
func grow(out io.Writer, l *list, update bool, first, second results) error {
	gained := l.gained(first)
	if !update {
		for _, id := range gained {
			fmt.Fprintf(out, "may be added: %s\n", id)
		}
		return nil
	}
	var twice []string
	for _, id := range gained {
		if second[id].passed() {
			twice = append(twice, id)
			fmt.Fprintf(out, "added: %s\n", id)
		} else {
			fmt.Fprintf(out, "not added, it passed only once: %s\n", id)
		}
	}
	return l.add(twice)
}

// indent shows the end of a failed test's output, set off from the report.
func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	const most = 25
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return "    " + strings.Join(lines, "\n    ") + "\n"
}
