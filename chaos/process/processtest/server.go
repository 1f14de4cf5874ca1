// Package processtest has the server of this module for tests: it is built when the first test asks for it, and removed when all
// have ended.
package processtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"runnel/chaos/process"
)

// Variable is the environment variable that names a server to run instead of the one of this module.
const Variable = "RIG_SERVER"

// Server is the server of a package's tests, which keep it in a package variable. It is safe for concurrent use.
type Server struct {
	flags []string

	once    sync.Once // for what follows
	dir     string    // with what was built, empty for nothing
	program process.Program
	err     error
}

// New returns the server, which is not built yet. The flags are for go build.
func New(flags ...string) *Server { return &Server{flags: flags} }

// find takes the program that the environment names, or builds that of this module into a folder for it.
func (s *Server) find() {
	path := os.Getenv(Variable)
	if path == "" {
		if s.dir, s.err = os.MkdirTemp("", "server"); s.err != nil {
			return
		}
		if path, s.err = Build(s.dir, s.flags...); s.err != nil {
			return
		}
	}
	s.program, s.err = process.Find(context.Background(), path)
}

// Main runs the tests of a package, and removes what was built for them, if anything was: it is what TestMain calls.
func (s *Server) Main(m *testing.M) int {
	code := m.Run()
	s.once.Do(func() {}) // nothing is built any more
	_ = os.RemoveAll(s.dir)
	return code
}

// This is the program. It fails the test if there is none.
func (s *Server) This(t testing.TB) process.Program {
	t.Helper()
	if s.once.Do(s.find); s.err != nil {
		t.Fatal(s.err)
	}
	return s.program
}

// Build builds the server of this module into a folder, and returns its path.
func Build(dir string, flags ...string) (string, error) {
	path := filepath.Join(dir, "runnel")
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, "runnel/cmd/runnel")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}
