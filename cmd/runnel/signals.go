package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// action is what a signal asks for. It stands between the signals, which
// differ from system to system, and the one loop that acts on them.
type action int

const (
	actionNone      action = iota
	actionTerminate        // end, unless clients are being sent away: then after that
	actionInterrupt        // end
	actionReload
	actionReopen
	actionLameDuck
)

// signalCommand is runnel --signal NAME[=TARGET]: it sends a signal to a
// running server and does not wait for the effect.
func signalCommand(text string, stderr io.Writer) int {
	name, target, named := strings.Cut(text, "=")
	if !knownSignal(name) {
		return fail(stderr, fmt.Errorf("unknown signal %q; known are reload, reopen, ldm, quit, term and stop", name))
	}
	pid, err := findServer(target, named)
	if err != nil {
		return fail(stderr, fmt.Errorf("signal %s: %w", name, err))
	}
	if err := sendSignal(name, pid); err != nil {
		return fail(stderr, fmt.Errorf("signal %s to process %d: %w", name, pid, err))
	}
	return 0
}

// knownSignal reports whether --signal has a word. The words are the same on
// every system, what they can do is not.
func knownSignal(name string) bool {
	switch name {
	case "reload", "reopen", "ldm", "quit", "term", "stop":
		return true
	}
	return false
}

// findServer returns the process id that a target means: a number, the path
// of a pid file or, without a target, the one other runnel on this machine.
func findServer(target string, named bool) (int, error) {
	if !named {
		return onlyServer()
	}
	if pid, err := strconv.Atoi(target); err == nil {
		return checkPID(pid)
	}
	text, err := os.ReadFile(target)
	if err != nil {
		return 0, fmt.Errorf("neither a process id nor a pid file: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("pid file %s does not hold a number", target)
	}
	return checkPID(pid)
}

// checkPID refuses numbers that mean groups of processes.
func checkPID(pid int) (int, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("%d is not a process id", pid)
	}
	return pid, nil
}

// onlyServer looks for other processes that run a file of our name. With more
// than one it chooses none: to end the wrong server would be worse.
func onlyServer() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	pids, err := processesNamed(filepath.Base(self))
	if err != nil {
		return 0, fmt.Errorf("look for a running server: %w", err)
	}
	switch len(pids) {
	case 0:
		return 0, errors.New("no other runnel is running")
	case 1:
		return pids[0], nil
	}
	texts := make([]string, len(pids))
	for i, pid := range pids {
		texts[i] = strconv.Itoa(pid)
	}
	return 0, fmt.Errorf("several are running, choose one of %s", strings.Join(texts, ", "))
}
