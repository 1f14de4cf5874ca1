package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
)

// file is an open segment file. It is shared by the streams that have messages or facts in it.
type file struct {
	manifest.File
	store   *Store
	segment *segment.Segment
	cached  *segment.Segment // the same, from memory alone
	// failure is why the file could not be opened: its streams do not start.
	failure error
	// users are the store, as long as the catalog has the file, and whoever reads it without holding a
	// lock of its stream. The last one to leave closes it.
	users    atomic.Int64
	unneeded atomic.Bool // the catalog has it no more: it is removed once it is closed
}

// enter keeps the file open until leave. It fails when the store was closed.
func (f *file) enter() error {
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

// leave ends a use of the file. What cannot be removed is found at the next start.
func (f *file) leave() {
	if f.users.Add(-1) > 0 {
		return
	}
	if f.segment != nil {
		_ = f.segment.Close() // it was only read
	}
	if !f.unneeded.Load() {
		return
	}
	path := f.store.segmentPath(f.Number)
	if err := f.store.cfg.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.store.logger.Warn("a file that nobody needs stays", "file", path, "error", err)
	}
}

const (
	segmentDir       = "segments"
	logDir           = "wal"
	asideDir         = "set-aside"
	reserveName      = "reserve"
	segmentExtension = ".segment"
	temporary        = ".tmp" // behind the name of a file that is not complete
)

// prefixBytes of the store's id stand in the names of its files, so that those of another store are
// not taken for its own.
const prefixBytes = 4

// segmentName is the name of a file: whose it is, and its number.
func (s *Store) segmentName(number uint64) string {
	return fmt.Sprintf("%s-%08d%s", s.prefix(), number, segmentExtension)
}

// prefix is what the names of the store's files begin with.
func (s *Store) prefix() string {
	id := s.manifest.ID()
	return hex.EncodeToString(id[:prefixBytes])
}

func (s *Store) segmentPath(number uint64) string {
	return filepath.Join(s.cfg.Dir, segmentDir, s.segmentName(number))
}

// parseSegmentName returns the prefix and the number of a file; ok is false if the name is no such.
func parseSegmentName(name string) (prefix string, number uint64, ok bool) {
	rest, ok := strings.CutSuffix(name, segmentExtension)
	if !ok {
		return "", 0, false
	}
	prefix, digits, ok := strings.Cut(rest, "-")
	if !ok {
		return "", 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return prefix, number, err == nil
}

// openFile opens a file of the catalog. A file that cannot be read, or is another one, is not an error
// of the store.
func (s *Store) openFile(e *manifest.File) *file {
	f := &file{File: *e, store: s}
	f.users.Store(1)
	_, keys := s.seal.SegmentKeys()
	f.segment, f.failure = segment.Open(s.cfg.FS, s.segmentPath(e.Number), segment.Config{Keys: keys, Cache: s.cache})
	if f.failure != nil {
		return f
	}
	f.cached = f.segment.Cached()
	sum := f.segment.Summary()
	if sum.ID != e.ID || sum.Bytes != e.Bytes || sum.Checksum != e.Checksum {
		f.failure = &segment.Corruption{
			File: s.segmentPath(e.Number),
			Err:  fmt.Errorf("file %s of %d bytes, want %s of %d", sum.ID, sum.Bytes, e.ID, e.Bytes),
		}
	}
	return f
}

// newPart returns what a file has of a stream.
func newPart(f *file, stream uint64, e *manifest.Part) *part {
	p := &part{stream: stream, file: f, purged: e.Purged, idTime: e.IDTime}
	if x, ok := f.segment.Extent(stream); ok {
		p.spanned = span{first: x.First, last: x.Last, lastTime: x.LastTime, count: x.Count, bytes: x.Bytes}
		p.spanned.removed, p.spanned.removedBytes = e.Removed, e.Bytes
	}
	return p
}
