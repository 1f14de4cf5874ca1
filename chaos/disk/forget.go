package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"runnel/chaos/process"
)

// ErrSynced means that a server must not forget, since it has synced nobody knows what.
var ErrSynced = errors.New("it has synced everything meanwhile, and what is synced is not lost")

// A Forgetting is a server that is about to lose what it writes from now on and does not sync, as if the power went out and the disk had kept
// nothing of it. What it has synced it must never lose. So all of its system calls are traced: a file of which something was synced meanwhile
// stays as it is, all of it, and so do new names once their folder was synced.
type Forgetting struct {
	dir    string
	kept   string // a copy of the folder
	trace  string // the file with the system calls since the copy
	synced *synced
	tracer *tracer
}

// Forgotten is what a server has lost.
type Forgotten struct {
	Back    int // files that are as they were
	Gone    int // files that were not there before
	Staying int // files that were synced
}

// String is what it has lost, in words.
func (f Forgotten) String() string {
	return fmt.Sprintf("%d files are as they were before, %d are gone, %d were synced and stay", f.Back, f.Gone, f.Staying)
}

// BeginForgetting keeps a copy of the streams of a running server at a place that does not exist yet, while the server stands still, and
// begins to watch it. Then the server goes on.
func BeginForgetting(ctx context.Context, s *process.Server, kept string) (*Forgetting, error) {
	pid, up := s.PID()
	if !up {
		return nil, fmt.Errorf("have server %s forget: it is down", s.Name())
	}
	dir, err := filepath.Abs(s.StoreDir())
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as the system shows paths
	}
	if err != nil {
		return nil, fmt.Errorf("have server %s forget: %w", s.Name(), err)
	}
	if err := s.Pause(); err != nil {
		return nil, err
	}
	f := &Forgetting{dir: dir, kept: kept, trace: kept + ".trace", synced: newSynced()}
	err = errors.Join(f.begin(ctx, pid), s.Resume())
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
	if err := f.openSynced(pid); err != nil {
		return err
	}
	if f.tracer, err = attach(ctx, pid, "-y", "-o", f.trace, "-e", "trace="+traced); err != nil {
		return err
	}
	return Copy(f.dir, f.kept)
}

// openSynced notes the files that a process has open of which every write is synced.
func (f *Forgetting) openSynced(pid int) error {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	for _, e := range files {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name()))
		if err != nil || !strings.HasPrefix(path, f.dir+string(filepath.Separator)) {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, e.Name()))
		if err != nil {
			return err
		}
		if syncFlag(string(info)) {
			f.synced.sync(path)
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

// Forget puts the copy in the place of what the server has, which must be down, but for what it has synced since. It does nothing and returns
// [ErrSynced] when that cannot be told.
func (f *Forgetting) Forget() (lost Forgotten, err error) {
	if f.tracer == nil {
		return lost, errors.New("forget: there is no copy")
	}
	f.tracer.stop()
	trace, err := os.Open(f.trace)
	if err != nil {
		return lost, fmt.Errorf("forget: %w", err)
	}
	defer trace.Close()
	if err = f.synced.read(trace); err == nil {
		lost, err = f.merge()
	}
	if err == nil {
		err = Restore(f.kept, f.dir)
	}
	if err != nil {
		err = fmt.Errorf("forget: %w", err)
	}
	return lost, err
}

// merge brings what stays into the copy.
func (f *Forgetting) merge() (lost Forgotten, err error) {
	now, err := regularFiles(f.dir)
	if err != nil {
		return lost, err
	}
	before, err := regularFiles(f.kept)
	if err != nil {
		return lost, err
	}
	for name := range now {
		path, target := filepath.Join(f.dir, name), filepath.Join(f.kept, name)
		switch {
		case f.synced.stays(path, before[name]):
			lost.Staying++
			if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.Rename(path, target)); err != nil {
				return lost, err
			}
		case before[name]:
			lost.Back++
		default:
			lost.Gone++
		}
	}
	for name := range before {
		if now[name] {
			continue
		}
		if f.synced.returns(filepath.Join(f.dir, name)) {
			lost.Back++
		} else if err := os.Remove(filepath.Join(f.kept, name)); err != nil {
			return lost, err
		}
	}
	return lost, nil
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
