// Package documenttest runs the programs that documents show, as they stand there. So a document cannot say what is not so: its program
// is built, run against a server, and has to print what the document says that it prints.
package documenttest

import (
	"context"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/server/servertest"
)

// patience is how long a program may take to be built and to run. It is long, since only a failure uses it up.
const patience = 5 * time.Minute

// Run runs the program of a document: the first block of Go code is all of it, and the block after that is its output. It is built with the
// libraries of the module whose folder the test runs in.
func Run(t *testing.T, document string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	code, rest, ok := block(string(text), "go")
	if !ok {
		t.Fatalf("%s has no program", document)
	}
	want, _, ok := block(rest, "")
	if !ok {
		t.Fatalf("%s does not say what its program prints", document)
	}
	if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
		t.Errorf("%s: the program is not as gofmt would have it: %v", document, err)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := output(t, file); got != want {
		t.Errorf("%s: the program prints\n%s\nand not, as the document says,\n%s", document, got, want)
	}
}

// block returns the first block of a language in a document, and what follows it.
func block(text, language string) (content, rest string, ok bool) {
	_, text, ok = strings.Cut(text, "\n```"+language+"\n")
	if !ok {
		return "", "", false
	}
	content, rest, ok = strings.Cut(text, "```\n")
	return content, "\n" + rest, ok
}

// output builds a program, runs it against a server of its own, and returns what it prints.
func output(t *testing.T, file string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := strings.TrimSuffix(file, ".go") + ".exe" // the name that it needs on Windows does no harm elsewhere
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir()))
	run := exec.CommandContext(ctx, program)
	run.Env = append(os.Environ(), "NATS_URL=nats://"+s.Addr().String())
	var complaints strings.Builder
	run.Stderr = &complaints
	out, err := run.Output()
	if err != nil {
		t.Errorf("run: %v\n%s", err, complaints.String())
	}
	return string(out)
}
