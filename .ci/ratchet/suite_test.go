package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// standIn is a program with the flags of the conformance suite: it passes TestA and fails TestB, and
// breaks when the server's name says so.
const standIn = `package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	server := flag.String("server", "", "")
	suite := flag.String("suite", "", "")
	run := flag.String("run", "", "")
	report := flag.String("json", "", "")
	retries := flag.Int("retries", 1, "")
	jobs := flag.Int("j", 1, "")
	limit := flag.Duration("max-time", 0, "")
	flag.Bool("v", false, "")
	flag.Parse()
	if strings.HasSuffix(*server, "broken") {
		fmt.Println("no client can connect")
		os.Exit(1)
	}
	fmt.Println("[1/2] pass core.TestA 0.1s")
	fmt.Println("[2/2] fail core.TestB 0.1s")
	asked := fmt.Sprint(*suite, " ", *run, " ", *retries, " ", *jobs, " ", *limit)
	text := fmt.Sprintf("{\"passed\": 1, \"failed\": 1, \"failures\": [{\"test\": \"core.TestB\", \"area\": \"x\", \"status\": \"fail\", \"output\": %q}]}", asked)
	if err := os.WriteFile(*report, []byte(text), 0o600); err != nil {
		panic(err)
	}
	os.Exit(1)
}
`

// writeModule makes a module with one main package.
func writeModule(t *testing.T, src string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module standin\n\ngo 1.26.0\n", "main.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSuiteRun(t *testing.T) {
	dir := writeModule(t, standIn)
	s, err := newSuite(dir, "server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	tests := []struct {
		name string
		sel  selection
		want string // how the program was asked
	}{
		{"listed tests", selection{tests: []string{"core.TestA", "core.TestB"}, jobs: 2, limit: time.Minute}, "all ^(TestA|TestB)$ 0 2 1m0s"},
		{"a suite whole", selection{suite: "core", jobs: 1, limit: time.Second}, "core  0 1 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.run(tt.sel)
			if err != nil {
				t.Fatal(err)
			}
			if !got["core.TestA"].passed() || got["core.TestB"].passed() || len(got) != 2 {
				t.Errorf("got %v, want TestA to pass and TestB to fail", got)
			}
			if asked := got["core.TestB"].output; asked != tt.want {
				t.Errorf("the suite was asked %q, want %q", asked, tt.want)
			}
		})
	}
}

func TestSuiteWithoutReport(t *testing.T) {
	s, err := newSuite(writeModule(t, standIn), "broken")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	_, err = s.run(selection{jobs: 1})
	if err == nil || !strings.Contains(err.Error(), "no client can connect") {
		t.Errorf("got error %v, want one with what the suite printed", err)
	}
}

func TestSuiteDoesNotBuild(t *testing.T) {
	_, err := newSuite(writeModule(t, "package main\nfunc main() { nothing }\n"), "server")
	if err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("got error %v, want the compiler's words", err)
	}
}
