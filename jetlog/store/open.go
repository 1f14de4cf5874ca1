package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/layer"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/progress"
	"runnel/jetlog/reserve"
	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// Report is what Open found.
type Report struct {
	New      bool           // there was no store
	Manifest *manifest.Torn // the end of the manifest that was cut off, nil for none
	Torn     *wal.Torn      // the end of the log that was cut off, nil for none
	Damage   []wal.Damage   // of the log
	Notes    []string       // about segments of the log that are missing or spoiled and held nothing
	Halted   []*Stream      // streams that did not start: see Stream.Err
	Replayed int            // commands that were in the log only
	Aside    []string       // files that are not the store's, and where they are now
}

// Open opens the store in a directory, or begins one. The directory is claimed until Close. Streams that
// are damaged do not start; the others do.
func Open(cfg Config) (*Store, *Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	s := &Store{
		cfg: cfg, cache: segment.NewCache(cfg.CacheBytes),
		kick: signals{make(chan struct{}, 1), make(chan struct{}, 1)}, stop: make(chan struct{}), ended: make(chan struct{}),
		files: map[uint64]*layer.File{}, streams: map[uint64]*Stream{}, names: map[streamName]*Stream{},
	}
	s.entries = entries.NewSet(entries.Config{Log: func() *wal.Log { return s.log }, Flush: s.nudge})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.never = ctx
	for kind := range s.allowed {
		level := command.Kind(kind).Level()
		s.allowed[kind] = level > 0 && level <= cfg.Level
	}
	for range cfg.Shards {
		s.shards = append(s.shards, newShard(func() *wal.Log { return s.log }, false))
		s.relaxed = append(s.relaxed, newShard(func() *wal.Log { return s.log }, true))
	}
	err = s.claim()
	if err == nil {
		if err = s.openSpace(); err != nil {
			_ = s.lock.Close()
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open store %s: %w", cfg.Dir, err)
	}
	report := &Report{}
	if err := s.load(report); err != nil {
		if s.log != nil {
			_ = s.log.Close() // the first error says what happened
		}
		if s.manifest != nil {
			s.closeFiles()
		}
		_ = s.lock.Close()
		return nil, nil, fmt.Errorf("open store %s: %w", cfg.Dir, err)
	}
	s.start()
	return s, report, nil
}

const (
	// preparedSegments is how many segments the log prepares ahead.
	preparedSegments = 3
	spareBytesMax    = 32 << 20
)

// openSpace opens the reserve. Besides what is in memory there has to be room for the segments that the log prepares ahead
// meanwhile, and for what files have more in them than messages.
func (s *Store) openSpace() error {
	cfg := &s.cfg
	r, err := reserve.Open(cfg.FS, cfg.Dir, filepath.Join(cfg.Dir, layout.Reserve), cfg.ReserveBytes)
	s.space = reserve.NewSpace(reserve.SpaceConfig{
		FS: cfg.FS, Dir: cfg.Dir, Logger: s.cfg.Logger, Memory: &s.memory, Flush: s.nudge, Moved: s.move,
		SpareBytes:   preparedSegments*cfg.LogSegmentBytes + min(cfg.FlushBytes/4, spareBytesMax),
		MeasureBytes: cfg.FlushBytes / 16,
	}, r)
	return err
}

// start starts the goroutines.
func (s *Store) start() {
	for sh := range s.allShards() {
		s.appliers.Go(sh.run)
	}
	s.others.Go(s.flusher)
	s.others.Go(s.noter)
	s.others.Go(func() { s.space.Run(s.stop) })
	s.others.Go(s.watch)
	if s.cfg.ScrubBytes > 0 {
		s.others.Go(s.scrubber)
	}
}

// watch waits for the failure of the log.
func (s *Store) watch() {
	select {
	case <-s.stop:
	case <-s.log.Failed():
		_ = s.fail(s.log.Err()) // Err tells
	}
}

// claim makes the directories and locks them.
func (s *Store) claim() error {
	fsys, dir := s.cfg.FS, s.cfg.Dir
	parents := []string{filepath.Dir(dir), dir}
	for d := filepath.Dir(dir); d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := fsys.Stat(d); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		parents = append(parents, filepath.Dir(d)) // d is about to be made in it
	}
	if err := fsys.MkdirAll(filepath.Join(dir, layout.Segments)); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := fsys.SyncDir(parent); err != nil {
			return err
		}
	}
	lock, err := fsys.Lock(dir)
	s.lock = lock
	return err
}

// load recovers what there is: the manifest, files, streams, and what the log has besides.
func (s *Store) load(report *Report) error {
	logSeal, err := seal.New(s.cfg.Encryption, "log")
	if err != nil {
		return err
	}
	if s.seal, err = seal.New(s.cfg.Encryption, "manifest"); err != nil {
		return err
	}
	if err := s.loadManifest(report); err != nil {
		return err
	}
	told := progress.New(s.cfg.Logger, s.cfg.Clock)
	for _, e := range s.catalog.Files {
		s.files[e.Number] = s.openFile(e)
		told.Step("files", uint64(len(s.files)), uint64(len(s.catalog.Files)))
	}
	for _, e := range s.catalog.Streams {
		if err := s.restore(e); err != nil {
			return err
		}
		told.Step("streams", uint64(len(s.streams)), uint64(len(s.catalog.Streams)))
	}
	if err := s.openLog(logSeal, report); err != nil {
		return err
	}
	for _, t := range s.Streams() {
		if t.Err() != nil {
			report.Halted = append(report.Halted, t)
		}
	}
	return s.putAside(report)
}

// loadManifest reads the manifest, or begins one, and writes it anew.
func (s *Store) loadManifest(report *Report) error {
	id, key := manifest.NewID()
	m := manifest.New(s.cfg.FS, s.cfg.Dir, id, s.seal)
	c := manifest.NewCatalog(key)
	torn, found, err := m.Load(c)
	if err != nil {
		return err
	}
	if !found {
		if err := s.mustBeEmpty(); err != nil {
			return err
		}
	}
	report.New, report.Manifest = !found, torn
	s.manifest, s.catalog = m, c
	// What was read may never have been synced: it is written again before anything relies on it.
	err = m.Create(c)
	if err != nil && found && m.Failed() == nil && vfs.NoSpace(err) {
		return m.Resume()
	}
	return err
}

// mustBeEmpty refuses a directory that has lost its manifest: a new store in it would not know what
// belongs to it.
func (s *Store) mustBeEmpty() error {
	found, err := (&layout.Dir{FS: s.cfg.FS, Path: s.cfg.Dir}).HasSegments()
	if err == nil && found {
		err = fmt.Errorf("there are segments but no manifest: restore it from a backup, or move the directory away: %w", fs.ErrNotExist)
	}
	return err
}

// dir is the directory of the store.
func (s *Store) dir() *layout.Dir {
	return &layout.Dir{FS: s.cfg.FS, Path: s.cfg.Dir, Logger: s.cfg.Logger, ID: s.manifest.ID()}
}

func (s *Store) segmentPath(number uint64) string { return s.dir().SegmentPath(number) }

// openLog recovers the log and applies what is only there.
func (s *Store) openLog(sealer *seal.Sealer, report *Report) error {
	cfg := wal.Config{
		FS: s.cfg.FS, Dir: filepath.Join(s.cfg.Dir, layout.Log), ID: s.manifest.ID(),
		SegmentBytes: s.cfg.LogSegmentBytes, MaxBytes: s.cfg.LogBytes,
		Policy: s.cfg.Policy, Interval: s.cfg.Interval, OnDurable: s.through, OnWritten: s.through,
	}
	if sealer != nil {
		cfg.Cipher = sealer
	}
	lost, err := s.logIsMissing(cfg.Dir)
	if err != nil {
		return err
	}
	log, recovered, err := wal.Open(cfg)
	if errors.Is(err, wal.ErrForeign) {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if err != nil {
		return err
	}
	s.log = log
	report.Torn, report.Damage, report.Notes = recovered.Torn, recovered.Damage, recovered.Notes
	if lost {
		report.Notes = append(report.Notes, fmt.Sprintf("log %s: there are no segments; what streams were told since their last flush is lost", cfg.Dir))
	}
	if err := s.replay(recovered, report); err != nil {
		return err
	}
	return s.noteSafe()
}

// logIsMissing reports whether there are streams in files and no segment of a log: some are prepared from the
// first start on.
func (s *Store) logIsMissing(dir string) (bool, error) {
	if !slices.ContainsFunc(s.Streams(), func(t *Stream) bool { return t.file.Load() }) {
		return false, nil
	}
	entries, err := s.cfg.FS.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("list log: %w", err)
	}
	return !slices.ContainsFunc(entries, func(e vfs.Entry) bool { return filepath.Ext(e.Name) == ".wal" }), nil
}

// putAside removes what is not needed any more, and moves away what is not this store's.
func (s *Store) putAside(report *Report) (err error) {
	d := s.dir()
	s.catalog.NextFile, err = d.Tidy(s.manifest, s.catalog.NextFile, func(n uint64) bool { return s.files[n] != nil })
	report.Aside = d.Aside
	return err
}

// openFile opens a file of the catalog. A file that cannot be read, or is another one, is not an error
// of the store.
func (s *Store) openFile(e *manifest.File) *layer.File {
	_, keys := s.seal.SegmentKeys()
	return layer.OpenFile(layer.FileConfig{
		FS: s.cfg.FS, Path: s.segmentPath(e.Number), Segment: segment.Config{Keys: keys, Cache: s.cache}, Logger: s.cfg.Logger,
	}, e)
}
