// Package layout is where the files of a store are, how they are named, and what becomes of files that are not its own.
package layout

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"runnel/jetlog/manifest"
	"runnel/jetlog/vfs"
)

// The names in the directory of a store.
const (
	Segments = "segments"
	Log      = "wal"
	Reserve  = "reserve"
	aside    = "set-aside"
	// Temporary stands behind the name of a file that is not complete.
	Temporary        = ".tmp"
	segmentExtension = ".segment"
)

// Dir is the directory of a store. It is for one goroutine at a time, but for SegmentPath.
type Dir struct {
	FS     vfs.FS
	Path   string
	Logger *slog.Logger
	ID     [16]byte // of the store
	Aside  []string // files that are not the store's, and where they are now
}

// prefixBytes of the store's id stand in the names of its files, so that those of another store are
// not taken for its own.
const prefixBytes = 4

// prefix is what the names of the store's files begin with.
func (d *Dir) prefix() string { return hex.EncodeToString(d.ID[:prefixBytes]) }

// SegmentPath is where the segment file with a number is.
func (d *Dir) SegmentPath(number uint64) string {
	return filepath.Join(d.Path, Segments, fmt.Sprintf("%s-%08d%s", d.prefix(), number, segmentExtension))
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

// HasSegments reports whether there are segment files, of whichever store.
func (d *Dir) HasSegments() (bool, error) {
	entries, err := d.FS.List(filepath.Join(d.Path, Segments))
	for _, e := range entries {
		if _, _, ok := parseSegmentName(e.Name); ok {
			return true, nil
		}
	}
	return false, err
}

// Tidy removes what is left of segment files that were never used or are not needed any more, and moves
// those away that are not this store's, or that it does not know. Manifests that this one has replaced are removed, too.
// It returns a number for the next file, at least next.
func (d *Dir) Tidy(m *manifest.Manifest, next uint64, known func(number uint64) bool) (uint64, error) {
	if err := d.tidyManifests(m); err != nil {
		return next, err
	}
	entries, err := d.FS.List(filepath.Join(d.Path, Segments))
	if err != nil {
		return next, err
	}
	own, past := d.prefix(), next
	for _, e := range entries {
		path := filepath.Join(d.Path, Segments, e.Name)
		prefix, number, ok := parseSegmentName(e.Name)
		ours := ok && prefix == own
		switch {
		case e.Dir || ours && known(number):
		case filepath.Ext(e.Name) == Temporary, ours && number < past:
			if err := d.FS.Remove(path); err != nil {
				return next, err
			}
		default:
			if err := d.MoveAside(path); err != nil {
				return next, err
			}
		}
		if ours {
			next = max(next, number+1)
		}
	}
	return next, nil
}

// tidyManifests removes manifests that this one has replaced, and moves those of other stores away.
func (d *Dir) tidyManifests(m *manifest.Manifest) error {
	numbers, err := manifest.Numbers(d.FS, d.Path)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n >= m.Number() {
			continue
		}
		path, same, err := m.Owner(n)
		if err == nil && same {
			err = d.FS.Remove(path)
		} else if err == nil {
			err = d.MoveAside(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MoveAside moves a file to where nobody looks for it, under a name that is free.
func (d *Dir) MoveAside(path string) error {
	dir := filepath.Join(d.Path, aside)
	if err := d.FS.MkdirAll(dir); err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(path))
	for n := 1; ; n++ {
		if _, err := d.FS.Stat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		to = filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), n))
	}
	if err := d.FS.Rename(path, to); err != nil {
		return err
	}
	d.Logger.Warn("a file that is not this store's was set aside", "file", path, "now", to)
	d.Aside = append(d.Aside, to)
	return d.FS.SyncDir(dir)
}
