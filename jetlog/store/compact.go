package store

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"runnel/jetlog/compaction"
	"runnel/jetlog/config"
	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
)

// skippedMost is for how many flushes there is one file of compaction at least.
const skippedMost = 3

// Compact rewrites files so that streams have few of them, without what has gone. Only what had gone
// by the last flush is left out: what the log has behind it may still ask for the rest.
func (s *Store) Compact() error { return s.compactUntil(func() bool { return false }) }

// pressed reports whether compaction must let a flush go first: before publishes have to wait for memory.
func (s *Store) pressed() bool { return s.memory.Load() >= (s.cfg.FlushBytes+s.cfg.MemoryBytes)/2 }

// compactUntil compacts until there is nothing to do any more, or enough. It begins where the call before has ended. Where it
// would be enough all the time, it makes one file for every three flushes, so that files do not become ever more.
func (s *Store) compactUntil(enough func() bool) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if s.flushing.skipped++; enough() && s.flushing.skipped < skippedMost {
		return nil
	}
	s.flushing.skipped = 0
	streams := s.Streams()
	next, _ := slices.BinarySearchFunc(streams, s.flushing.compacted, func(t *Stream, id uint64) int { return cmp.Compare(t.id, id) })
	for _, stream := range slices.Concat(streams[next:], streams[:next]) {
		s.flushing.compacted = stream.id
		done, err := s.compactStream(stream, enough)
		if done || err != nil {
			return err
		}
	}
	return nil
}

// compactStream compacts the files of a stream; done is set if that was enough.
func (s *Store) compactStream(t *Stream, enough func() bool) (done bool, err error) {
	for {
		if s.closing.Load() || s.usable() != nil {
			return true, nil
		}
		p := s.plan(t)
		if p == nil {
			return false, nil
		}
		err := s.compact(t, p)
		var c *segment.Corruption
		if errors.As(err, &c) {
			// The stream keeps its files as they are; the others go on.
			t.harmed(findings.Of(t.id, t.name, err))
			return false, nil
		}
		if err != nil || enough() {
			return true, err
		}
	}
}

// plan chooses what to compact; nil if there is nothing. It looks at what the manifest has.
func (s *Store) plan(t *Stream) *compaction.Plan {
	s.edits.Lock()
	defer s.edits.Unlock()
	e := s.catalog.Streams[t.id]
	parts := t.files()
	if e == nil || len(parts) == 0 || len(parts) != len(e.Parts) || t.Err() != nil {
		return nil
	}
	return compaction.New(e, parts, s.cfg.SegmentBytes)
}

// files returns the files of a stream, oldest first; nil while something is frozen.
func (t *Stream) files() []*layer.Part {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.body == nil || t.body.Frozen != nil {
		return nil
	}
	return t.body.Parts
}

// compact carries a plan out.
func (s *Store) compact(t *Stream, p *compaction.Plan) error {
	compress := t.Config().Compression == config.S2Compression
	f, err := s.newFile(compress, p.Write)
	if err != nil {
		return err
	}
	if err := s.cfg.FS.SyncDir(filepath.Join(s.cfg.Dir, layout.Segments)); err != nil {
		s.discard(f)
		return s.fail(err)
	}
	e := &manifest.Edit{Files: []manifest.File{f.File}, Streams: []manifest.StreamEdit{p.Edit(f)}}
	if err := s.note([]*layer.File{f}, e); err != nil {
		s.discard(f)
		return err
	}
	t.replace(p, f)
	s.edits.Lock()
	defer s.edits.Unlock()
	s.sweep()
	return nil
}

// replace lets the stream use the file of a plan.
func (t *Stream) replace(p *compaction.Plan, f *layer.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := t.body; b != nil {
		b.SetParts(p.Replace(b.Parts, b.Gone, f))
	}
}
