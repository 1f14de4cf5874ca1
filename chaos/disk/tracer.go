package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// again is the pause between two looks at a process.
	again = 10 * time.Millisecond
	// attachTime is how long it may take until a process is traced.
	attachTime = 20 * time.Second
)

// tracer is a strace that traces a process.
type tracer struct {
	cmd   *exec.Cmd
	said  strings.Builder // read when ended is closed
	ended chan struct{}
}

// attach has strace trace a process, and returns when it does so with every thread.
func attach(ctx context.Context, pid int, args ...string) (*tracer, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("trace a process: %w", err)
	}
	t := &tracer{cmd: exec.Command(path, append([]string{"-f", "-q", "-p", strconv.Itoa(pid)}, args...)...), ended: make(chan struct{})}
	t.cmd.Stderr = &t.said
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("trace a process: %w", err)
	}
	go func() {
		defer close(t.ended)
		_ = t.cmd.Wait() // it is ended by a signal, or with what it traces
	}()
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	err = until(ctx, func() (bool, error) {
		select {
		case <-t.ended:
			return false, fmt.Errorf("strace has ended: %s", strings.TrimSpace(t.said.String()))
		default:
			return eachThread(pid, func(status string) bool { return !strings.Contains(status, "\nTracerPid:\t0\n") })
		}
	})
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("trace process %d: %w", pid, err)
	}
	return t, nil
}

// stop ends the tracing. It returns when what was traced is left alone.
func (t *tracer) stop() {
	_ = t.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-t.ended
}

// until looks at something until it is so, or cannot become so.
func until(ctx context.Context, look func() (bool, error)) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// eachThread reports whether something holds for the status of every thread of a process.
func eachThread(pid int, holds func(status string) bool) (bool, error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(paths) == 0 {
		return false, errors.Join(err, fmt.Errorf("there is no process %d to look at", pid))
	}
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // this thread has ended
		}
		if !holds(string(status)) {
			return false, nil
		}
	}
	return true, nil
}

// Tracing is why processes cannot be traced here; nil if they can. It tries.
func Tracing() error {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("try to trace a process: %w", err)
	}
	defer func() {
		_ = cmd.Process.Kill() // nobody else has ended it
		_ = cmd.Wait()
	}()
	t, err := attach(context.Background(), cmd.Process.Pid, "-o", os.DevNull, "-e", "trace="+syncCalls, "-e", "inject="+syncCalls+":error=EIO:when=1")
	if err != nil {
		return err
	}
	t.stop()
	return nil
}

// syncCalls are the system calls with which servers have files written to the disk.
const syncCalls = "fsync,fdatasync"

// FailSyncs has the n-th call with which a thread of a running process syncs a file, counted from 1 and from now on, fail with an error
// of the device, and all after it if onward; until the process ends or the function is called that is returned.
func FailSyncs(ctx context.Context, pid, n int, onward bool) (stop func(), err error) {
	when := strconv.Itoa(n)
	if onward {
		when += "+"
	}
	t, err := attach(ctx, pid, "-o", os.DevNull, "-e", "trace="+syncCalls, "-e", "inject="+syncCalls+":error=EIO:when="+when)
	if err != nil {
		return nil, err
	}
	return t.stop, nil
}
