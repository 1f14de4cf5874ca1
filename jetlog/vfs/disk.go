package vfs

import (
	"io"
	"os"
	"path/filepath"
)

// Disk is the file system of the operating system. The zero value is ready.
type Disk struct{}

// diskFile adds to os.File what the interface has and it has not.
type diskFile struct{ *os.File }

// SyncData implements File.
func (f diskFile) SyncData() error { return syncData(f.File) }

// Size implements File.
func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Files and directories are for the server's user alone: they hold other people's messages.
const (
	fileMode = 0o600
	dirMode  = 0o700
)

func openDisk(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err // names the operation and the path
	}
	return diskFile{f}, nil
}

// Create implements FS.
func (Disk) Create(name string) (File, error) {
	return openDisk(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements FS.
func (Disk) Open(name string) (File, error) { return openDisk(name, os.O_RDONLY) }

// OpenReadWrite implements FS.
func (Disk) OpenReadWrite(name string) (File, error) { return openDisk(name, os.O_RDWR) }

// Rename implements FS.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (Disk) Remove(name string) error { return os.Remove(name) }

// MkdirAll implements FS.
func (Disk) MkdirAll(dir string) error { return os.MkdirAll(dir, dirMode) }

// List implements FS.
func (Disk) List(dir string) ([]Entry, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(found))
	for i, e := range found {
		entries[i] = Entry{Name: e.Name(), Dir: e.IsDir()}
	}
	return entries, nil
}

// Stat implements FS.
func (Disk) Stat(name string) (Info, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return Info{}, err
	case info.IsDir():
		return Info{Dir: true}, nil
	}
	return Info{Bytes: info.Size()}, nil
}

// SyncDir implements FS.
func (Disk) SyncDir(dir string) error { return syncDir(dir) }

// Lock implements FS with a lock on a file called LOCK, which stays behind when the lock is gone.
func (Disk) Lock(dir string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // the error of the lock says more
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return f, nil
}

// FreeBytes implements FS.
func (Disk) FreeBytes(dir string) (int64, error) {
	n, err := freeBytes(dir)
	if err != nil {
		return 0, &os.PathError{Op: "free space of", Path: dir, Err: err}
	}
	return n, nil
}
