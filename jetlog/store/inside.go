package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"runnel/jetlog/layer"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/segment"
	"runnel/jetlog/shadow"
	"runnel/jetlog/siphash"
)

// What is here is for package rescue, which works on a store that nobody else uses.

// Inspect opens the store in a directory that nobody has open so that nothing of it changes: whatever is done
// to it is forgotten when it is closed.
func Inspect(cfg Config) (*Store, *Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if err := mustExist(cfg); err != nil {
		return nil, nil, err
	}
	cfg.FS, cfg.ScrubBytes, cfg.ReserveBytes = shadow.New(cfg.FS), -1, -1
	cfg.FlushBytes, cfg.FlushAge, cfg.LogBytes = 1<<50, 1<<62, 1<<40
	return Open(cfg)
}

// mustExist refuses a directory without a store, where Open would begin one.
func mustExist(cfg Config) error {
	numbers, err := manifest.Numbers(cfg.FS, cfg.Dir)
	if err == nil && len(numbers) == 0 {
		err = fmt.Errorf("%s has no manifest, so it is no store: %w", cfg.Dir, fs.ErrNotExist)
	}
	return err
}

// OpenForRepair opens the store in a directory that nobody has open, to change what it has in files. Nothing is flushed
// until done is called, which must be before Close.
func OpenForRepair(cfg Config) (s *Store, done func(), err error) {
	if cfg, err = cfg.withDefaults(); err == nil {
		err = mustExist(cfg)
	}
	if err != nil {
		return nil, nil, err
	}
	cfg.ScrubBytes, cfg.ReserveBytes, cfg.FlushBytes, cfg.FlushAge = -1, -1, 1<<50, 1<<62
	if s, _, err = Open(cfg); err != nil {
		return nil, nil, err
	}
	s.flushing.Lock()
	return s, s.flushing.Unlock, nil
}

// Inside is what a stream is made of.
type Inside struct {
	Row  *manifest.Stream // as of its last flush
	Body *messages.Body   // nil for a stream that has no files, or did not start
	Key  siphash.Key      // of the hashes in its files
}

// Inside returns what the stream is made of. Nothing of it may be used while something is done with the store.
func (t *Stream) Inside() Inside {
	t.store.edits.Lock()
	defer t.store.edits.Unlock()
	t.mu.RLock()
	defer t.mu.RUnlock()
	return Inside{Row: t.store.catalog.Streams[t.id], Body: t.body, Key: t.key}
}

// File returns a file of the store, nil if there is none of that number.
func (s *Store) File(number uint64) *layer.File {
	s.edits.Lock()
	defer s.edits.Unlock()
	return s.files[number]
}

// Files lists the files that can be opened.
func (s *Store) Files() (files []manifest.File) {
	s.edits.Lock()
	defer s.edits.Unlock()
	for _, f := range s.files {
		if f.Failure == nil {
			files = append(files, f.File)
		}
	}
	slices.SortFunc(files, func(a, b manifest.File) int { return cmp.Compare(a.Number, b.Number) })
	return files
}

// SalvageFile reads what is whole of a file that cannot be opened.
func (s *Store) SalvageFile(number uint64) iter.Seq2[segment.Salvaged, error] {
	_, keys := s.seal.SegmentKeys()
	return segment.Salvage(s.cfg.FS, s.segmentPath(number), keys)
}

// WriteFile writes a file, which belongs to nobody yet.
func (s *Store) WriteFile(compress bool, write func(*segment.Writer) error) (*layer.File, error) {
	return s.newFile(compress, write)
}

// DropFile removes a file that was written and is not needed.
func (s *Store) DropFile(f *layer.File) { s.discard(f) }

// Replace lets the manifest have what is new of a stream, with new files, and sets those aside that no stream has any more.
// The stream itself is to be opened again.
func (s *Store) Replace(e manifest.StreamEdit, files []*layer.File) error {
	if err := s.cfg.FS.SyncDir(filepath.Join(s.cfg.Dir, layout.Segments)); err != nil {
		return s.fail(err)
	}
	edit := &manifest.Edit{Streams: []manifest.StreamEdit{e}}
	for _, f := range files {
		edit.Files = append(edit.Files, f.File)
	}
	if err := s.note(files, edit); err != nil {
		return err
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	dir := s.dir()
	for number, f := range s.files {
		if s.catalog.Files[number] != nil {
			continue
		}
		delete(s.files, number)
		f.Leave()
		if err := dir.MoveAside(s.segmentPath(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
