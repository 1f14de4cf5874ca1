package rigtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// serverVariable names the server to run instead of runnel.
const serverVariable = "RIG_SERVER"

// A Dialect is what kind of server a program is, where that makes a difference to a scenario.
type Dialect int

const (
	// Runnel is the server of this module.
	Runnel Dialect = iota
	// Incumbent is nats-server.
	Incumbent
)

// A Program is a server to run.
type Program struct {
	Path    string // of the file
	Dialect Dialect
}

// built is the program of this run of the tests. It is made when the first test asks for it.
var built = sync.OnceValues(findProgram)

// Main runs the tests of a package that uses [Start], and removes afterwards what was built for them. It is what
// TestMain calls.
func Main(m *testing.M) int {
	code := m.Run()
	if os.Getenv(serverVariable) == "" {
		if p, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(p.Path))
		}
	}
	return code
}

// findProgram takes the program that the environment names, or builds runnel.
func findProgram() (Program, error) {
	path := os.Getenv(serverVariable)
	if path == "" {
		var err error
		if path, err = buildRunnel(); err != nil {
			return Program{}, err
		}
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	p := Program{Path: path}
	if strings.HasPrefix(string(version), "nats-server") {
		p.Dialect = Incumbent
	}
	return p, nil
}

// buildRunnel builds the server into a folder of its own. With the race detector when the tests have it and may take
// long: such a server needs several times the processor.
func buildRunnel() (string, error) {
	dir, err := os.MkdirTemp("", "rig")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "runnel")
	args := []string{"build", "-o", path}
	if race && long {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "runnel/cmd/runnel")...).CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}
