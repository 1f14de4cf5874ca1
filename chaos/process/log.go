package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
)

// What a search in a log keeps.
const (
	faultLines = 60  // of a crash
	faultsMax  = 100 // places
)

// crashSigns begin lines that no log may ever have.
var crashSigns = []string{"panic: ", "WARNING: DATA RACE", "fatal error: "}

// errorLine is a line of a log that says that something has failed. Both kinds of programs write such lines.
var errorLine = regexp.MustCompile(`^\[\d+\] \S+ \S+ \[(ERR|FTL)\] `)

// Log is what the server has said so far, in all its lives.
func (s *Server) Log() (string, error) {
	text, err := os.ReadFile(s.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// LogEnd is the last lines that the server has said.
func (s *Server) LogEnd(lines int) string {
	text, err := s.Log()
	if err != nil {
		return err.Error()
	}
	return lastLines(text, lines)
}

// lastLines is the end of a text.
func lastLines(text string, lines int) string {
	all := slices.Collect(strings.Lines(text))
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// ExpectLog announces that the log may have errors that match, now or later.
func (s *Server) ExpectLog(pattern *regexp.Regexp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = append(s.expected, pattern)
}

// LogFaults are the places of the log, of all lives, where the server tells of an error that no announced pattern matches, and
// all where it has crashed. Of many faults it returns the first hundred, and how many there are.
func (s *Server) LogFaults() ([]string, error) {
	file, err := os.Open(s.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return faults(file, s.patterns())
}

// patterns are those of expected errors.
func (s *Server) patterns() []*regexp.Regexp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.expected)
}

// faults finds what a log may not have.
func faults(log io.Reader, expected []*regexp.Regexp) ([]string, error) {
	f := finder{expected: expected}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		f.see(line)
		switch {
		case err == io.EOF:
			return f.end(), nil
		case err != nil:
			return f.end(), err
		}
	}
}

// finder reads a log line by line.
type finder struct {
	expected []*regexp.Regexp
	found    []string
	count    int      // places, of which not all are kept
	crash    []string // the lines of the one that is being read
}

// see takes the next line.
func (f *finder) see(line string) {
	if f.crash != nil && len(f.crash) < faultLines {
		f.crash = append(f.crash, line)
		return
	}
	f.endCrash()
	crashed := slices.ContainsFunc(crashSigns, func(sign string) bool { return strings.HasPrefix(line, sign) })
	if !crashed && !f.failed(line) {
		return
	}
	f.count++
	switch {
	case f.count > faultsMax:
	case crashed:
		f.crash = []string{line}
	default:
		f.found = append(f.found, line)
	}
}

// failed reports whether a line tells of an error that is not expected.
func (f *finder) failed(line string) bool {
	return errorLine.MatchString(line) && !slices.ContainsFunc(f.expected, func(p *regexp.Regexp) bool { return p.MatchString(line) })
}

// endCrash keeps the crash that was being read.
func (f *finder) endCrash() {
	if f.crash != nil {
		f.found = append(f.found, strings.Join(f.crash, ""))
	}
	f.crash = nil
}

// end returns what was found.
func (f *finder) end() []string {
	f.endCrash()
	if f.count > faultsMax {
		f.found = append(f.found, fmt.Sprintf("%d more places", f.count-faultsMax))
	}
	return f.found
}
