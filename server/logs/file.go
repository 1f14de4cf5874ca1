package logs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// backupFormat is what a file that is put aside gets behind its name. Such
// names sort by age.
const backupFormat = "2006.01.02.15.04.05.000000000"

// file is a sink that rotates.
type file struct {
	path string
	max  int64 // bytes; 0 for no rotation
	keep int   // files, the current one included; 0 for all

	mu     sync.Mutex // guards what follows and the order of writes
	f      *os.File   // nil if it could not be opened again after a rotation
	size   int64
	closed bool
}

func openFile(path string, maxBytes int64, keep int) (*file, error) {
	s := &file{path: path, max: maxBytes, keep: keep}
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	return s, nil
}

func openAppend(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (s *file) bare() bool { return false }

// write appends a line. A line that would not fit goes into a new file, so
// that a file exceeds the limit only by a single line that does. If putting
// the old one aside fails, logging goes on in it.
func (s *file) write(_ slog.Level, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	var failed error
	if s.max > 0 && s.size > 0 && s.size+int64(len(line)) > s.max {
		failed = s.rotateLocked()
	}
	if s.f == nil {
		if err := s.openLocked(); err != nil {
			return errors.Join(failed, err)
		}
	}
	n, err := s.f.Write(line)
	s.size += int64(n)
	return errors.Join(failed, err)
}

// rotateLocked puts the current file aside, for write to begin a new one. The
// file is closed before, since not every system renames an open one.
func (s *file) rotateLocked() error {
	if err := s.closeLocked(); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	backup := s.path + "." + time.Now().Format(backupFormat)
	if err := os.Rename(s.path, backup); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	return s.pruneLocked()
}

func (s *file) openLocked() error {
	f, size, err := openAppend(s.path)
	if err == nil {
		s.f, s.size = f, size
	}
	return err
}

func (s *file) closeLocked() error {
	f := s.f
	s.f, s.size = nil, 0
	if f == nil {
		return nil
	}
	return f.Close()
}

// pruneLocked removes the oldest files that were put aside.
func (s *file) pruneLocked() error {
	if s.keep == 0 {
		return nil
	}
	backups, err := s.backups()
	if err != nil {
		return fmt.Errorf("remove old logs: %w", err)
	}
	var failed error
	for len(backups) > s.keep-1 {
		failed = errors.Join(failed, os.Remove(backups[0]))
		backups = backups[1:]
	}
	return failed
}

// backups lists the files that were put aside, the oldest first.
func (s *file) backups() ([]string, error) {
	dir, base := filepath.Split(s.path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), base+".")
		if _, err := time.Parse(backupFormat, stamp); ok && err == nil {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *file) reopen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	old := s.f
	if err := s.openLocked(); err != nil {
		return err
	}
	if old == nil {
		return nil
	}
	return old.Close()
}

// Close closes the file; later writes fail.
func (s *file) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.closeLocked()
}
