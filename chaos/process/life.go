package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A life is one process of a server, from its start to its end.
type life struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended, and who wants to know has been told
	end  *End          // set before done is closed, when nobody has asked for the end

	mu     sync.Mutex // guards what follows
	leave  bool       // it is meant to end
	paused bool
}

// begin starts a command, whose output goes to a file; doomed is whether it is meant to end. ended is called when the process has ended
// and is not meant to.
func begin(cmd *exec.Cmd, logPath string, doomed bool, ended func(l *life)) (*life, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	cmd.Stdout, cmd.Stderr = log, log
	adopt(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &life{cmd: cmd, done: make(chan struct{}), leave: doomed}
	go func() {
		defer close(l.done)
		_ = cmd.Wait() // how it went stands in the state of the process
		if !l.expected() {
			ended(l)
		}
	}()
	return l, nil
}

// pid is the number of the process.
func (l *life) pid() int { return l.cmd.Process.Pid }

// ended reports whether the process has.
func (l *life) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// expect notes that the process is meant to end.
func (l *life) expect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave = true
}

// expected reports whether the process is meant to end.
func (l *life) expected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leave
}

// pause stops the process in its tracks, or lets it go on.
func (l *life) pause(stop bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := signalResume
	if stop {
		s = signalPause
	}
	if err := l.signal(s); err != nil {
		return err
	}
	l.paused = stop
	return nil
}

// isPaused reports whether the process is stopped in its tracks.
func (l *life) isPaused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// signal sends a signal. A process that has ended gets none, which is no error.
func (l *life) signal(s os.Signal) error {
	if s == nil {
		return fmt.Errorf("signal a process on this system: %w", errors.ErrUnsupported)
	}
	if err := l.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to process %d: %w", s, l.pid(), err)
	}
	return nil
}

// An End is an end of a server that nobody had asked for.
type End struct {
	Server string // its name
	PID    int
	Time   time.Time
	Code   int    // the exit code; -1 when a signal has ended it
	How    string // in words
	Log    string // the last lines of the log
}

// Error says which server has ended, and how.
func (e *End) Error() string {
	return fmt.Sprintf("server %s (process %d) has ended by itself: %s; its last words:\n%s", e.Server, e.PID, e.How, e.Log)
}
