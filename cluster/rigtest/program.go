package rigtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"runnel/chaos/process"
)

// serverVariable names the server to run instead of runnel.
const serverVariable = "RIG_SERVER"

// built is the program of this run of the tests. It is made when the first test asks for it.
var built = sync.OnceValues(findProgram)

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
	code := m.Run()
	if os.Getenv(serverVariable) == "" {
		if p, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(p.Path))
		}
	}
	return code
}

// This is the program of this run of the tests: what the environment names, or runnel as it is built from this module.
func This(t testing.TB) process.Program {
	t.Helper()
	p, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// findProgram takes the program that the environment names, or builds runnel.
func findProgram() (process.Program, error) {
	path := os.Getenv(serverVariable)
	if path == "" {
		dir, err := os.MkdirTemp("", "rig")
		if err != nil {
			return process.Program{}, err
		}
		if path, err = build(dir); err != nil {
			_ = os.RemoveAll(dir)
			return process.Program{}, err
		}
	}
	return process.Find(context.Background(), path)
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
	path, err := build(dir, "-overlay", list)
	if err != nil {
		t.Fatal(err)
	}
	return process.Program{Path: path}
}

// build builds the server into a folder. With the race detector when the tests have it and may take long: such a server
// needs several times the processor.
func build(dir string, args ...string) (string, error) {
	path := filepath.Join(dir, "runnel")
	args = append([]string{"build", "-o", path}, args...)
	if race && long {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "runnel/cmd/runnel")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}
