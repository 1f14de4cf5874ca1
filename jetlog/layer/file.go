package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// ErrClosed is the error for a file that nobody has open any more, since the store was closed.
var ErrClosed = errors.New("store is closed")

// File is an open segment file. It is shared by the streams that have messages or facts in it.
type File struct {
	manifest.File
	cfg     FileConfig
	Segment *segment.Segment
	cached  *segment.Segment // the same, from memory alone
	// Failure is why the file could not be opened: its streams do not start.
	Failure error
	// users are the store, as long as the catalog has the file, and whoever reads it without holding a
	// lock of its stream. The last one to leave closes it.
	users    atomic.Int64
	unneeded atomic.Bool // the catalog has it no more: it is removed once it is closed
}

// Enter keeps the file open until Leave. It fails when the store was closed.
func (f *File) Enter() error {
	for {
		n := f.users.Load()
		if n == 0 {
			return ErrClosed
		}
		if f.users.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// EnterAll keeps the files of some parts open until leave is called.
func EnterAll(parts []*Part) (leave func(), err error) {
	n := 0
	leave = func() {
		for _, p := range parts[:n] {
			p.File.Leave()
		}
	}
	for ; n < len(parts); n++ {
		if err := parts[n].File.Enter(); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// Leave ends a use of the file. What cannot be removed is found at the next start.
func (f *File) Leave() {
	if f.users.Add(-1) > 0 {
		return
	}
	if f.Segment != nil {
		_ = f.Segment.Close() // it was only read
	}
	if !f.unneeded.Load() {
		return
	}
	if err := f.cfg.FS.Remove(f.cfg.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.cfg.Logger.Warn("a file that nobody needs stays", "file", f.cfg.Path, "error", err)
	}
}

// FileConfig says where a file is and how it is read.
type FileConfig struct {
	FS      vfs.FS
	Path    string
	Segment segment.Config
	Logger  *slog.Logger
}

// OpenFile opens a file as the catalog describes it, with one user. A file that cannot be read, or is another one, has
// its Failure set.
func OpenFile(cfg FileConfig, e *manifest.File) *File {
	f := &File{File: *e, cfg: cfg}
	f.users.Store(1)
	f.Segment, f.Failure = segment.Open(cfg.FS, cfg.Path, cfg.Segment)
	if f.Failure != nil {
		return f
	}
	f.cached = f.Segment.Cached()
	sum := f.Segment.Summary()
	if sum.ID != e.ID || sum.Bytes != e.Bytes || sum.Checksum != e.Checksum {
		f.Failure = &segment.Corruption{
			File: cfg.Path,
			Err:  fmt.Errorf("file %s of %d bytes, want %s of %d", sum.ID, sum.Bytes, e.ID, e.Bytes),
		}
	}
	return f
}

// Discard says that the catalog has the file no more: it is removed once nobody reads it.
func (f *File) Discard() { f.unneeded.Store(true) }

// NewPart returns what a file has of a stream.
func NewPart(f *File, stream uint64, e *manifest.Part) *Part {
	p := &Part{Stream: stream, File: f, Purged: e.Purged, IDTime: e.IDTime, Covered: e.Covered}
	if x, ok := f.Segment.Extent(stream); ok {
		p.Spanned = Span{First: x.First, Last: x.Last, LastTime: x.LastTime, Count: x.Count, Bytes: x.Bytes}
		p.Spanned.Removed, p.Spanned.RemovedBytes = e.Removed, e.Bytes
	}
	return p
}
