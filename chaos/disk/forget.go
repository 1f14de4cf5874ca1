package disk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"runnel/chaos/process"
)

// syncing are the system calls after which something is on the disk: those that say so, and the opening of files of which every
// write is synced.
var syncing = regexp.MustCompile(`\b(fsync|fdatasync|sync|syncfs|sync_file_range|msync)(\(| resumed)|\bO_D?SYNC\b`)

// traced are the system calls that [syncing] is looked for in.
const traced = "fsync,fdatasync,sync,syncfs,sync_file_range,msync,open,openat"

// ErrSynced means that a server must not forget, since it has synced something that it would lose.
var ErrSynced = errors.New("it has synced meanwhile, and what is synced is not lost")

// A Forgetting is a server that is about to lose all that it writes from now on, as if the power went out and the disk had kept nothing
// of it. That may happen to a server that syncs nothing; what it has synced it must never lose. So all of its system calls are traced.
type Forgetting struct {
	dir    string
	kept   string // a copy of the folder
	trace  string // the file with the system calls since the copy
	tracer *tracer
}

// BeginForgetting keeps a copy of the streams of a running server at a place that does not exist yet, while the server stands still, and
// begins to watch it. Then the server goes on. The error is [ErrSynced] if it has files open that are synced with each write.
func BeginForgetting(ctx context.Context, s *process.Server, kept string) (*Forgetting, error) {
	pid, up := s.PID()
	if !up {
		return nil, fmt.Errorf("have server %s forget: it is down", s.Name())
	}
	if err := s.Pause(); err != nil {
		return nil, err
	}
	f := &Forgetting{dir: s.StoreDir(), kept: kept, trace: kept + ".trace"}
	err := f.begin(ctx, pid)
	err = errors.Join(err, s.Resume())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("have server %s forget: %w", s.Name(), err), f.Close())
	}
	return f, nil
}

// begin copies and traces a process that is about to stand still.
func (f *Forgetting) begin(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, attachTime)
	defer cancel()
	// A call that is under way ends before the thread stands still, so none is missed.
	err := until(ctx, func() (bool, error) {
		return eachThread(pid, func(status string) bool { return strings.Contains(status, "\nState:\tT") })
	})
	if err != nil {
		return fmt.Errorf("wait until process %d stands still: %w", pid, err)
	}
	if err := openSynced(pid, f.dir); err != nil {
		return err
	}
	if f.tracer, err = attach(ctx, pid, "-o", f.trace, "-e", "trace="+traced); err != nil {
		return err
	}
	return Copy(f.dir, f.kept)
}

// openSynced is an error if a process has a file below a folder open of which every write is synced.
func openSynced(pid int, dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	for _, e := range files {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name()))
		if err != nil || !strings.HasPrefix(path, dir+string(filepath.Separator)) {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, e.Name()))
		if err != nil {
			return err
		}
		if syncFlag(string(info)) {
			return fmt.Errorf("%s is open for writes that are synced: %w", path, ErrSynced)
		}
	}
	return nil
}

// flagDataSync is the bit of O_DSYNC, which O_SYNC has too, among the flags that Linux shows.
const flagDataSync = 0o10000

// syncFlag reports whether what Linux says of an open file has that flag.
func syncFlag(info string) bool {
	for line := range strings.Lines(info) {
		if octal, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(octal), 8, 64)
			return err != nil || flags&flagDataSync != 0
		}
	}
	return true // nobody can tell
}

// Forget puts the copy in the place of what the server has, which must be down. It does nothing and returns [ErrSynced] when the server has
// synced anything since the copy was made.
func (f *Forgetting) Forget() error {
	if f.tracer == nil {
		return errors.New("forget: there is no copy")
	}
	f.tracer.stop()
	trace, err := os.Open(f.trace)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	defer trace.Close()
	call, err := firstSync(trace)
	switch {
	case err != nil:
		return fmt.Errorf("forget: read the trace: %w", err)
	case call != "":
		return fmt.Errorf("forget: %w: %s", ErrSynced, call)
	}
	return Restore(f.kept, f.dir)
}

// firstSync is the first line of a trace that syncs something; empty if there is none.
func firstSync(trace io.Reader) (string, error) {
	lines := bufio.NewReader(trace)
	for {
		line, err := lines.ReadString('\n')
		if syncing.MatchString(line) {
			return strings.TrimSpace(line), nil
		}
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}

// Close ends the watching and removes what was kept.
func (f *Forgetting) Close() error {
	if f.tracer != nil {
		f.tracer.stop()
	}
	err := os.Remove(f.trace)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(f.kept))
}
