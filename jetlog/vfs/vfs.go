// Package vfs is the disk as the log and the segments see it: few operations, each with a stated
// promise about what a power cut leaves of it.
//
// The promises are those of a POSIX file system and no more:
//
//   - What was written is seen by every reader at once, and is safe only after Sync or SyncData of the
//     file has returned without an error.
//   - Before that, any part of it may be on disk: each page for itself, in any order, and the last
//     write up to any byte. A page that was synced and is not written again is never lost.
//   - A name (create, rename, remove) is safe only after SyncDir of its directory. Until then each
//     such operation is either done or undone after a power cut, each for itself. Syncing a file does
//     not make its name safe.
//   - A sync that failed says nothing about later ones: the next may succeed although the data never
//     reached the disk. Whoever gets an error from a sync must not rely on anything written since the
//     last good one.
//
// Four file systems share the interface:
//
//	Disk      the real one
//	Memory    in memory; can show what a power cut or a killed process would leave behind
//	Fault     around another: makes chosen operations fail, flips bits, is full or read-only
//	Recorder  around another: notes every operation and lets a test step in before each
//
// Names are paths in the form of the operating system. All methods may be called concurrently; two
// writes to the same bytes at the same time leave either.
package vfs

import (
	"errors"
	"io"
	"syscall"
)

// FS is a file system. Errors of absent and existing names match fs.ErrNotExist and fs.ErrExist.
type FS interface {
	// Create makes a file, or empties the one that is there, and opens it for reading and writing.
	// The directory must exist. The name is safe after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// OpenReadWrite opens a file that exists for reading and writing, as it is.
	OpenReadWrite(name string) (File, error)
	// Rename gives a file another name; a file that has that name already is replaced. It is one
	// step: after a power cut it is done or not done. Files that are open should be closed first;
	// some systems refuse otherwise.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// MkdirAll makes a directory and its parents where they are missing. New directories are safe
	// once SyncDir has been called on each one's parent.
	MkdirAll(dir string) error
	// List returns what is in a directory, sorted by name.
	List(dir string) ([]Entry, error)
	// Stat describes a file or directory.
	Stat(name string) (Info, error)
	// SyncDir makes the names in a directory safe: what was created, renamed or removed there.
	SyncDir(dir string) error
	// Lock claims a directory for this process until the result is closed or the process ends.
	// It returns ErrLocked if somebody else, in this process or another, holds it.
	Lock(dir string) (io.Closer, error)
	// FreeBytes says how much can still be written to the device that holds dir.
	FreeBytes(dir string) (int64, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes what was written, and the file's size, safe (fsync).
	Sync() error
	// SyncData is Sync without the times and other attributes that reading does not need, where
	// the system has such a call (fdatasync); elsewhere it is Sync.
	SyncData() error
	// Truncate cuts the file, or extends it with zeros, to size bytes.
	Truncate(size int64) error
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Close closes the file; it syncs nothing.
	Close() error
}

// Entry is a name in a directory.
type Entry struct {
	Name string // without its directory
	Dir  bool   // it is a directory
}

// Info describes a file or directory.
type Info struct {
	Bytes int64 // length of the file; 0 for a directory
	Dir   bool  // it is a directory
}

// ErrLocked is returned by Lock when the directory is claimed already.
var ErrLocked = errors.New("directory is in use by another process")

// lockName is the file that Lock claims a directory with.
const lockName = "LOCK"

// NoSpace reports whether err means that the device or the user's quota is full.
func NoSpace(err error) bool { return noSpace(err) }

// TooManyFiles tells whether an error is that the process, or the system, may have no more files open.
func TooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
