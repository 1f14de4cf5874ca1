package process_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"runnel/chaos/process"
)

// parent starts a fake server in a folder, says which process that is, and waits until it is killed.
func parent(dir string) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	var kept process.Ports
	ports, err := kept.Take(2)
	if err != nil {
		return
	}
	at := func(i int) string { return process.Loopback(ports[i]) }
	s, err := process.New(dir, process.Config{Name: "n1", Client: at(0), Monitor: at(1)}, process.Program{Path: self}, nil)
	if err != nil || s.Launch() != nil {
		return
	}
	pid, _ := s.PID()
	fmt.Println(pid)
	select {}
}

// A server ends with the process that has started it, even if that is killed.
func TestServerOrphan(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "--parent", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := state(pid); !ok {
		t.Fatalf("there is no process %d", pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	wanted(t, "the server to end", func() bool {
		s, ok := state(pid)
		return !ok || s == "Z"
	})
}

// state is what a process does, in a letter; false when there is none.
func state(pid int) (string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter, true
}

// wanted waits until a condition holds.
func wanted(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for ctx := soon(t); !condition(); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A server whose system calls are traced is still the process that signals go to.
func TestServerTraced(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("not runnable here: %v: %s", err, out)
	}
	r := newRig(t)
	calls := filepath.Join(t.TempDir(), "calls")
	r.Wrap(strace, "-D", "-f", "-q", "-o", calls, "-e", "trace=rt_sigaction,exit_group")
	r.start(t)
	pid, _ := r.PID()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if program := r.Program().Path; err != nil || !strings.HasPrefix(string(name), program) {
		t.Errorf("got command %q, %v, want %s", name, err, program)
	}
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	wanted(t, "the server to stop in its tracks", func() bool {
		s, _ := state(pid)
		return strings.EqualFold(s, "T")
	})
	if err := errors.Join(r.Resume(), r.Stop(soon(t))); err != nil {
		t.Fatal(err)
	}
	wanted(t, "the trace of the end", func() bool {
		text, err := os.ReadFile(calls)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "exit_group(0)")
	})
	r.start(t)
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}
