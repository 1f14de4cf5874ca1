package process

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Dialect is what kind of server a program is, where that makes a difference.
type Dialect int

const (
	// Runnel is the server of this module.
	Runnel Dialect = iota
	// Incumbent is nats-server.
	Incumbent
)

// String is the name that programs of this kind give themselves.
func (d Dialect) String() string {
	if d == Incumbent {
		return "nats-server"
	}
	return "runnel"
}

// A Program is a server to run.
type Program struct {
	Path    string // of the file
	Dialect Dialect
	Version string // as it says itself, without the "v"
}

// String is the name and the version.
func (p Program) String() string { return p.Dialect.String() + " " + p.Version }

// Find asks a file what server it is. A path without a folder is looked for where the shell would look.
func Find(ctx context.Context, path string) (Program, error) {
	file, err := exec.LookPath(path)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return Program{}, fmt.Errorf("find a server: %w", err)
	}
	said, err := exec.CommandContext(ctx, file, "--version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("ask %s for its version: %w", file, err)
	}
	name, version, _ := strings.Cut(string(said), ": v")
	words := strings.Fields(version)
	for _, d := range []Dialect{Runnel, Incumbent} {
		if name == d.String() && len(words) > 0 {
			return Program{Path: file, Dialect: d, Version: words[0]}, nil
		}
	}
	return Program{}, fmt.Errorf("%s --version says %q: this is neither %s nor %s", file, said, Runnel, Incumbent)
}
