package rigtest

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runnel/chaos/process"
	"runnel/chaos/process/processtest"
)

// server is the program of this run of the tests. It has the race detector when the tests have it and may take long: such a server
// needs several times the processor.
var server = processtest.New(raceFlags()...)

func raceFlags() []string {
	if race && long {
		return []string{"-race"}
	}
	return nil
}

// sideBySide is how many scenarios run at the same time where nobody says otherwise. Mostly they wait.
const sideBySide = "4"

// Main runs the tests of a package that uses [Start], and removes afterwards what was built for them. It is what
// TestMain calls.
func Main(m *testing.M) int {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said && !long {
		_ = flag.Set("test.parallel", sideBySide) // there is such a flag
	}
	return server.Main(m)
}

// This is the program of this run of the tests: what the environment names, or runnel as it is built from this module.
func This(t testing.TB) process.Program {
	t.Helper()
	return server.This(t)
}

// BuildChanged builds runnel with another text at one place of one of its files, which is given from the top of the module:
// a server that is like a later one in something. It is removed when the test ends.
func BuildChanged(t testing.TB, file, old, text string) process.Program {
	t.Helper()
	dir := t.TempDir()
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(strings.TrimSpace(string(where)), filepath.FromSlash(file))
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), old); n != 1 {
		t.Fatalf("%s has %q %d times, want it once", file, old, n)
	}
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), old, text, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := processtest.Build(dir, append(raceFlags(), "-overlay", list)...)
	if err != nil {
		t.Fatal(err)
	}
	return process.Program{Path: path}
}
