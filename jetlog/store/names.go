package store

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
)

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
func (s *Store) openFile(e *manifest.File) *layer.File {
	_, keys := s.seal.SegmentKeys()
	return layer.OpenFile(layer.FileConfig{
		FS: s.cfg.FS, Path: s.segmentPath(e.Number), Segment: segment.Config{Keys: keys, Cache: s.cache}, Logger: s.cfg.Logger,
	}, e)
}
