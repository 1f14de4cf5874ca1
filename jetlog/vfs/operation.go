package vfs

import (
	"fmt"
	"io"
)

// Kind is a kind of operation, or several of them as a set.
type Kind uint32

// The kinds of operations, named as the methods.
const (
	OpCreate Kind = 1 << iota
	OpOpen
	OpOpenReadWrite
	OpRename
	OpRemove
	OpMkdirAll
	OpList
	OpStat
	OpSyncDir
	OpLock
	OpFreeBytes
	OpReadAt
	OpWriteAt
	OpSync
	OpSyncData
	OpTruncate
	OpSize
	OpClose

	// OpsSync are those that make something safe.
	OpsSync = OpSyncDir | OpSync | OpSyncData
	// OpsWrite are those that change something.
	OpsWrite = OpCreate | OpRename | OpRemove | OpMkdirAll | OpWriteAt | OpTruncate
	// OpsAll are all of them.
	OpsAll = OpClose<<1 - 1
)

// String names the kind of one operation.
func (k Kind) String() string {
	names := [...]string{
		"create", "open", "open rw", "rename", "remove", "mkdir", "list", "stat", "sync dir", "lock", "free bytes",
		"read", "write", "sync", "sync data", "truncate", "size", "close",
	}
	for i, name := range names {
		if k == 1<<i {
			return name
		}
	}
	return fmt.Sprintf("operations %#x", uint32(k))
}

// Op is one operation.
type Op struct {
	Kind   Kind
	Name   string // of the file or directory
	To     string // the new name, of a rename
	Offset int64  // of a read or write; the new size, of a truncate
	Bytes  int    // length of a read or write
}

// String shows an operation on one line.
func (o Op) String() string {
	switch o.Kind {
	case OpRename:
		return fmt.Sprintf("%s %s %s", o.Kind, o.Name, o.To)
	case OpReadAt, OpWriteAt:
		return fmt.Sprintf("%s %s %d+%d", o.Kind, o.Name, o.Offset, o.Bytes)
	case OpTruncate:
		return fmt.Sprintf("%s %s %d", o.Kind, o.Name, o.Offset)
	}
	return fmt.Sprintf("%s %s", o.Kind, o.Name)
}

// wrapper is a file system around another that shows somebody every operation before it happens.
type wrapper struct {
	fs FS
	// before may refuse an operation with an error; a write then still writes the first part bytes.
	// f is the file below, of operations on a file.
	before func(op Op, f File) (part int, err error)
	// read, if set, may change what was read.
	read func(op Op, b []byte)
}

// wrappedFile is a file of a wrapper.
type wrappedFile struct {
	w    *wrapper
	f    File
	name string
}

// forgetter is a file that can look as after a failed sync: clean, but not safe.
type forgetter interface{ forget() }

func (w *wrapper) open(kind Kind, name string, open func(string) (File, error)) (File, error) {
	if _, err := w.before(Op{Kind: kind, Name: name}, nil); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &wrappedFile{w: w, f: f, name: name}, nil
}

// Create implements FS.
func (w *wrapper) Create(name string) (File, error) { return w.open(OpCreate, name, w.fs.Create) }

// Open implements FS.
func (w *wrapper) Open(name string) (File, error) { return w.open(OpOpen, name, w.fs.Open) }

// OpenReadWrite implements FS.
func (w *wrapper) OpenReadWrite(name string) (File, error) {
	return w.open(OpOpenReadWrite, name, w.fs.OpenReadWrite)
}

// Rename implements FS.
func (w *wrapper) Rename(from, to string) error {
	if _, err := w.before(Op{Kind: OpRename, Name: from, To: to}, nil); err != nil {
		return err
	}
	return w.fs.Rename(from, to)
}

// Remove implements FS.
func (w *wrapper) Remove(name string) error {
	if _, err := w.before(Op{Kind: OpRemove, Name: name}, nil); err != nil {
		return err
	}
	return w.fs.Remove(name)
}

// MkdirAll implements FS.
func (w *wrapper) MkdirAll(dir string) error {
	if _, err := w.before(Op{Kind: OpMkdirAll, Name: dir}, nil); err != nil {
		return err
	}
	return w.fs.MkdirAll(dir)
}

// List implements FS.
func (w *wrapper) List(dir string) ([]Entry, error) {
	if _, err := w.before(Op{Kind: OpList, Name: dir}, nil); err != nil {
		return nil, err
	}
	return w.fs.List(dir)
}

// Stat implements FS.
func (w *wrapper) Stat(name string) (Info, error) {
	if _, err := w.before(Op{Kind: OpStat, Name: name}, nil); err != nil {
		return Info{}, err
	}
	return w.fs.Stat(name)
}

// SyncDir implements FS.
func (w *wrapper) SyncDir(dir string) error {
	if _, err := w.before(Op{Kind: OpSyncDir, Name: dir}, nil); err != nil {
		return err
	}
	return w.fs.SyncDir(dir)
}

// Lock implements FS.
func (w *wrapper) Lock(dir string) (io.Closer, error) {
	if _, err := w.before(Op{Kind: OpLock, Name: dir}, nil); err != nil {
		return nil, err
	}
	return w.fs.Lock(dir)
}

// FreeBytes implements FS.
func (w *wrapper) FreeBytes(dir string) (int64, error) {
	if _, err := w.before(Op{Kind: OpFreeBytes, Name: dir}, nil); err != nil {
		return 0, err
	}
	return w.fs.FreeBytes(dir)
}

// ReadAt implements File.
func (f *wrappedFile) ReadAt(b []byte, offset int64) (int, error) {
	op := Op{Kind: OpReadAt, Name: f.name, Offset: offset, Bytes: len(b)}
	if _, err := f.w.before(op, f.f); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(b, offset)
	if f.w.read != nil {
		f.w.read(op, b[:n])
	}
	return n, err
}

// WriteAt implements File.
func (f *wrappedFile) WriteAt(b []byte, offset int64) (int, error) {
	part, err := f.w.before(Op{Kind: OpWriteAt, Name: f.name, Offset: offset, Bytes: len(b)}, f.f)
	if err == nil {
		return f.f.WriteAt(b, offset)
	}
	if part > 0 {
		if n, failed := f.f.WriteAt(b[:part], offset); failed != nil {
			return n, failed
		}
	}
	return part, err
}

// Sync implements File.
func (f *wrappedFile) Sync() error { return f.sync(OpSync, f.f.Sync) }

// SyncData implements File.
func (f *wrappedFile) SyncData() error { return f.sync(OpSyncData, f.f.SyncData) }

func (f *wrappedFile) sync(kind Kind, do func() error) error {
	if _, err := f.w.before(Op{Kind: kind, Name: f.name}, f.f); err != nil {
		f.forget()
		return err
	}
	return do()
}

func (f *wrappedFile) forget() {
	if below, ok := f.f.(forgetter); ok {
		below.forget()
	}
}

// Truncate implements File.
func (f *wrappedFile) Truncate(size int64) error {
	if _, err := f.w.before(Op{Kind: OpTruncate, Name: f.name, Offset: size}, f.f); err != nil {
		return err
	}
	return f.f.Truncate(size)
}

// Size implements File.
func (f *wrappedFile) Size() (int64, error) {
	if _, err := f.w.before(Op{Kind: OpSize, Name: f.name}, f.f); err != nil {
		return 0, err
	}
	return f.f.Size()
}

// Close implements File. The file below is closed in any case.
func (f *wrappedFile) Close() error {
	_, err := f.w.before(Op{Kind: OpClose, Name: f.name}, f.f)
	if closed := f.f.Close(); err == nil {
		err = closed
	}
	return err
}
