package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"runnel/jetlog/vfs"
)

// reserveName is the file that only takes space.
const reserveName = "reserve"

// reserveStep is how much of the reserve is given up at once, and written at once.
const reserveStep = 1 << 20

// reserve is space that is taken ahead, for what makes space, or has to be possible without: the manifest, and
// flushes, after which the log can go on. Publishes are refused as soon as some of it is given up, so that
// they do not use it.
type reserve struct {
	mu    sync.Mutex // guards bytes; the disk is used under it
	bytes int64      // that the file has
}

// loadReserve finds out what there is.
func (s *Store) loadReserve() error {
	info, err := s.cfg.FS.Stat(filepath.Join(s.cfg.Dir, reserveName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.reserve.bytes = info.Bytes
	return nil
}

// fillReserve takes what is missing, if the device has as much and once more. Publishes are let in when all of it is
// there.
func (s *Store) fillReserve() {
	r := &s.reserve
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := s.cfg.ReserveBytes - r.bytes
	if missing <= 0 {
		s.spent.Store(false)
		return
	}
	free, err := s.cfg.FS.FreeBytes(s.cfg.Dir)
	if err == nil && free >= 2*missing {
		err = s.growReserve()
	} else if err == nil {
		err = fmt.Errorf("%d bytes are free: %w", free, ErrFull)
	}
	short := err != nil && (errors.Is(err, ErrFull) || vfs.NoSpace(err))
	if short != s.spent.Swap(short) || err != nil && !short {
		s.logger.Warn("reserve for a full disk", "bytes", r.bytes, "wanted", s.cfg.ReserveBytes, "error", err)
	}
	if err == nil {
		s.move()
	}
}

// growReserve writes what is missing. The caller holds mu.
func (s *Store) growReserve() (err error) {
	path := filepath.Join(s.cfg.Dir, reserveName)
	f, err := s.cfg.FS.OpenReadWrite(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = s.cfg.FS.Create(path)
	}
	if err != nil {
		return err
	}
	zeros := make([]byte, reserveStep)
	r := &s.reserve
	for err == nil && r.bytes < s.cfg.ReserveBytes {
		n := min(reserveStep, s.cfg.ReserveBytes-r.bytes)
		if _, err = f.WriteAt(zeros[:n], r.bytes); err == nil {
			r.bytes += n
		}
	}
	// An error of the sync has no consequence: nobody relies on the content.
	return errors.Join(err, f.Sync(), f.Close())
}

// spend gives up some of the reserve, since the disk is full; it is false if there is none.
func (s *Store) spend() bool {
	r := &s.reserve
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes == 0 {
		return false
	}
	f, err := s.cfg.FS.OpenReadWrite(filepath.Join(s.cfg.Dir, reserveName))
	if err != nil {
		return false
	}
	left := max(0, r.bytes-reserveStep)
	if errors.Join(f.Truncate(left), f.Close()) != nil {
		return false
	}
	r.bytes = left
	if !s.spent.Swap(true) {
		s.logger.Error("the disk is full: publishes are refused, and the reserve is used")
	}
	return true
}
