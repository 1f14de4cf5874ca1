package store

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

// shadow is a file system that shows another one and keeps every change in memory: so a store can be
// opened, recovered and looked at without touching it.
type shadow struct {
	base vfs.FS
	top  *vfs.Memory

	mu     sync.Mutex      // guards hidden
	hidden map[string]bool // names of the base that were removed
}

func newShadow(base vfs.FS) *shadow {
	return &shadow{base: base, top: vfs.NewMemory(), hidden: map[string]bool{}}
}

func (s *shadow) hide(name string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.hidden[name] = true
	} else {
		delete(s.hidden, name)
	}
}

func (s *shadow) isHidden(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden[name]
}

// above reports whether the file is in memory.
func (s *shadow) above(name string) bool {
	_, err := s.top.Stat(name)
	return err == nil
}

// lift copies a file into memory, unless it is there.
func (s *shadow) lift(name string) error {
	if s.above(name) {
		return nil
	}
	if s.isHidden(name) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	b, err := readAll(s.base, name)
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

// Create implements vfs.FS.
func (s *shadow) Create(name string) (vfs.File, error) {
	if err := s.top.MkdirAll(filepath.Dir(name)); err != nil {
		return nil, err
	}
	return s.top.Create(name)
}

// Open implements vfs.FS.
func (s *shadow) Open(name string) (vfs.File, error) {
	if s.above(name) || s.isHidden(name) {
		return s.top.Open(name)
	}
	return s.base.Open(name)
}

// OpenReadWrite implements vfs.FS.
func (s *shadow) OpenReadWrite(name string) (vfs.File, error) {
	if err := s.lift(name); err != nil {
		return nil, err
	}
	return s.top.OpenReadWrite(name)
}

// Rename implements vfs.FS.
func (s *shadow) Rename(from, to string) error {
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
func (s *shadow) Remove(name string) error {
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
func (s *shadow) MkdirAll(dir string) error { return s.top.MkdirAll(dir) }

// List implements vfs.FS.
func (s *shadow) List(dir string) ([]vfs.Entry, error) {
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
func (s *shadow) Stat(name string) (vfs.Info, error) {
	if info, err := s.top.Stat(name); err == nil || s.isHidden(name) {
		return info, err
	}
	return s.base.Stat(name)
}

// SyncDir implements vfs.FS: nothing is to last.
func (s *shadow) SyncDir(string) error { return nil }

// Lock implements vfs.FS: whoever has the directory open keeps it.
func (s *shadow) Lock(dir string) (io.Closer, error) {
	if _, err := s.base.Stat(dir); err != nil {
		return s.top.Lock(dir)
	}
	return s.base.Lock(dir)
}

// FreeBytes implements vfs.FS.
func (s *shadow) FreeBytes(dir string) (int64, error) { return s.top.FreeBytes(dir) }
