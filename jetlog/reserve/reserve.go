// Package reserve is space on a device that is taken ahead, in a file that has no other purpose: when the device is
// full it is given up step by step for what has to be possible even then.
package reserve

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"runnel/jetlog/vfs"
)

// step is how much is given up at once, and written at once.
const step = 1 << 20

// ErrShort is returned where the device does not have the space.
var ErrShort = errors.New("no space for the reserve")

// Reserve is such a file. Its methods may be called concurrently.
type Reserve struct {
	fs   vfs.FS
	dir  string
	path string
	want int64

	mu    sync.Mutex // guards bytes; the disk is used under it
	bytes int64      // that the file has
}

// Open returns the reserve with this path, in a directory of the device, and takes nothing yet. It is to have so
// many bytes; 0 or less means that there is none.
func Open(fsys vfs.FS, dir, path string, bytes int64) (*Reserve, error) {
	info, err := fsys.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open reserve: %w", err)
	}
	return &Reserve{fs: fsys, dir: dir, path: path, want: max(0, bytes), bytes: info.Bytes}, nil
}

// Fill takes what is missing, if the device has that and as much again: so the reserve is not what fills it.
// ErrShort means that it has not.
func (r *Reserve) Fill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.want - r.bytes
	if missing <= 0 {
		return nil
	}
	free, err := r.fs.FreeBytes(r.dir)
	if err == nil && free < 2*missing {
		return fmt.Errorf("%d bytes are free: %w", free, ErrShort)
	}
	if err == nil {
		err = r.grow()
	}
	if err != nil && vfs.NoSpace(err) {
		return fmt.Errorf("fill reserve: %w: %w", ErrShort, err)
	}
	if err != nil {
		return fmt.Errorf("fill reserve: %w", err)
	}
	return nil
}

// grow writes what is missing. The caller holds mu.
func (r *Reserve) grow() error {
	f, err := r.fs.OpenReadWrite(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = r.fs.Create(r.path)
	}
	if err != nil {
		return err
	}
	zeros := make([]byte, step)
	for err == nil && r.bytes < r.want {
		n := min(step, r.want-r.bytes)
		if _, err = f.WriteAt(zeros[:n], r.bytes); err == nil {
			r.bytes += n
		}
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Spend gives up some of the reserve; it is false if there is none.
func (r *Reserve) Spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes == 0 {
		return false
	}
	f, err := r.fs.OpenReadWrite(r.path)
	if err != nil {
		return false
	}
	left := max(0, r.bytes-step)
	if errors.Join(f.Truncate(left), f.Close()) != nil {
		return false
	}
	r.bytes = left
	return true
}
