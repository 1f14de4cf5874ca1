// Package shadow is a file system that shows another one and keeps every change in memory: so a store
// can be opened, recovered and looked at without touching it.
package shadow

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"runnel/jetlog/vfs"
)

// FS is such a file system. Make one with New.
type FS struct {
	base vfs.FS
	top  *vfs.Memory

	mu     sync.Mutex      // guards hidden
	hidden map[string]bool // names of the base that were removed
}

// New returns a file system over another.
func New(base vfs.FS) *FS {
	return &FS{base: base, top: vfs.NewMemory(), hidden: map[string]bool{}}
}

func (s *FS) hide(name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.hidden[name] = true
	} else {
		delete(s.hidden, name)
	}
}

func (s *FS) isHidden(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden[name]
}

// above reports whether the file is in memory.
func (s *FS) above(name string) bool {
	_, err := s.top.Stat(name)
	return err == nil
}

// lift copies a file into memory, unless it is there.
func (s *FS) lift(name string) error {
	if s.above(name) {
		return nil
	}
	if s.isHidden(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	b, err := s.read(name)
	if err != nil {
		return err
	}
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// read returns what the base has under a name.
func (s *FS) read(name string) ([]byte, error) {
	f, err := s.base.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// Create implements vfs.FS.
func (s *FS) Create(name string) (vfs.File, error) {
	if err := s.top.MkdirAll(filepath.Dir(name)); err != nil {
		return nil, err
	}
	return s.top.Create(name)
}

// Open implements vfs.FS.
func (s *FS) Open(name string) (vfs.File, error) {
	if s.above(name) || s.isHidden(name) {
		return s.top.Open(name)
	}
	return s.base.Open(name)
}

// OpenReadWrite implements vfs.FS.
func (s *FS) OpenReadWrite(name string) (vfs.File, error) {
	if err := s.lift(name); err != nil {
		return nil, err
	}
	return s.top.OpenReadWrite(name)
}

// Rename implements vfs.FS.
func (s *FS) Rename(from, to string) error {
	if err := s.lift(from); err != nil {
		return err
	}
	if err := s.top.MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	s.hide(from, true)
	s.hide(to, false)
	return s.top.Rename(from, to)
}

// Remove implements vfs.FS.
func (s *FS) Remove(name string) error {
	if _, err := s.Stat(name); err != nil {
		return err
	}
	s.hide(name, true)
	if s.above(name) {
		return s.top.Remove(name)
	}
	return nil
}

// MkdirAll implements vfs.FS.
func (s *FS) MkdirAll(dir string) error { return s.top.MkdirAll(dir) }

// List implements vfs.FS.
func (s *FS) List(dir string) ([]vfs.Entry, error) {
	entries, errTop := s.top.List(dir)
	old, err := s.base.List(dir)
	if err != nil {
		return entries, errTop
	}
	for _, e := range old {
		name := filepath.Join(dir, e.Name)
		if !s.isHidden(name) && !s.above(name) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b vfs.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Stat implements vfs.FS.
func (s *FS) Stat(name string) (vfs.Info, error) {
	if info, err := s.top.Stat(name); err == nil || s.isHidden(name) {
		return info, err
	}
	return s.base.Stat(name)
}

// SyncDir implements vfs.FS: nothing is to last.
func (s *FS) SyncDir(string) error { return nil }

// Lock implements vfs.FS: whoever has the directory open keeps it.
func (s *FS) Lock(dir string) (io.Closer, error) {
	if _, err := s.base.Stat(dir); err != nil {
		return s.top.Lock(dir)
	}
	return s.base.Lock(dir)
}

// FreeBytes implements vfs.FS.
func (s *FS) FreeBytes(dir string) (int64, error) { return s.top.FreeBytes(dir) }
