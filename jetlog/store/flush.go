package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// ownBytes is how much a stream must have in memory to get a file of its own; the others share one.
const ownBytes = 1 << 20

// flushEvery is how often the flusher looks whether something has to be done.
const flushEvery = time.Second

// flushing is held by who flushes or compacts, and guards what it has.
type flushing struct {
	sync.Mutex
	compacted uint64 // stream whose files were compacted last
	skipped   int    // calls of compactUntil that have done nothing, since the last that has
}

// flusher is the goroutine that flushes and compacts. After a flush that has failed nobody can hurry it: whoever waits for room in
// memory would have it write all of that again and again.
func (s *Store) flusher() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	last := s.cfg.Clock()
	hurry := s.kick.flusher
	for {
		s.space.Fill()
		s.space.Measure()
		select {
		case <-s.stop:
			return
		case <-hurry:
		case <-ticker.C:
		}
		if now := s.cfg.Clock(); s.due() || now.Sub(last) >= s.cfg.FlushAge {
			if err := s.Flush(); err != nil {
				s.cfg.Logger.Error("flush", "error", err)
				hurry = nil
				continue
			}
			last, hurry = now, s.kick.flusher
			if err := s.compactUntil(s.pressed); err != nil {
				s.cfg.Logger.Error("compact", "error", err)
			}
		}
	}
}

// due reports whether something has to be flushed: too much is in memory, or the log is half full.
func (s *Store) due() bool {
	if s.space.Pressed() || s.memory.Load() >= s.cfg.FlushBytes {
		return true
	}
	stats := s.log.Stats()
	return stats.UsedBytes >= stats.MaxBytes/2 || s.entries.Due()
}

// task is a stream that is being flushed.
type task struct {
	stream *Stream
	frozen *frozen
	file   *layer.File   // that its messages and facts have gone into; nil if there were none
	kept   []*layer.Part // of those that it had
}

// Flush writes what is in memory into files, as of now, and lets the log forget it. One flush runs at a
// time. With ErrFull everything is as before, and a later flush may succeed.
func (s *Store) Flush() error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	var tasks []*task
	for _, stream := range s.Streams() {
		stream.uncounted()
		if f := stream.freeze(); f != nil {
			tasks = append(tasks, &task{stream: stream, frozen: f})
		}
	}
	err := s.flush(tasks)
	s.space.Flushed(errors.Is(err, ErrFull))
	if err == nil {
		for _, stream := range s.Streams() {
			stream.release()
		}
		if err = s.refloat(); err == nil {
			err = s.relieve()
		}
	}
	s.move()
	return err
}

// flush writes tasks. Up to the record in the manifest nothing has happened, as far as anybody can see;
// from then on nothing can fail.
func (s *Store) flush(tasks []*task) error {
	tasks = slices.DeleteFunc(tasks, func(t *task) bool {
		err := t.frozen.Gather()
		if err != nil { // what is on disk about this stream cannot be read: the others go on
			_ = t.stream.halt(findings.Of(t.stream.id, t.stream.name, err))
		}
		return err != nil
	})
	if len(tasks) == 0 {
		return nil
	}
	files, err := s.writeFiles(tasks)
	if err == nil {
		e := &manifest.Edit{}
		for _, f := range files {
			e.Files = append(e.Files, f.File)
		}
		for _, t := range tasks {
			e.Streams = append(e.Streams, t.edit())
		}
		err = s.note(files, e)
	}
	if err != nil {
		for _, f := range files {
			s.discard(f)
		}
		return err
	}
	for _, t := range tasks {
		t.stream.thaw(t)
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	s.sweep()
	return nil
}

// release lets the log forget the last batch too, once it is known that nothing else is in it.
func (t *Stream) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil || t.Err() != nil || t.replica.Load() != nil || t.position == 0 || t.released > t.position || t.state.Applied() != t.flushed {
		return
	}
	if t.appended.Load() == t.flushed {
		t.released = t.position + 1
		t.store.log.Release(t.id, t.released)
	}
}

// writeFiles writes the files for tasks, which are in the order of stream ids.
func (s *Store) writeFiles(tasks []*task) (files []*layer.File, err error) {
	var shared []*task
	for _, t := range tasks {
		switch {
		case t.frozen.Empty():
		case t.frozen.Table.Spanned.Bytes < ownBytes:
			shared = append(shared, t)
		default:
			f, err := s.writeFile([]*task{t})
			if err != nil {
				return files, err
			}
			files = append(files, f)
		}
	}
	if len(shared) > 0 {
		f, err := s.writeFile(shared)
		if err != nil {
			return files, err
		}
		if f != nil {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	if err := s.cfg.FS.SyncDir(filepath.Join(s.cfg.Dir, layout.Segments)); err != nil {
		return files, s.fail(fmt.Errorf("flush: %w", err))
	}
	return files, nil
}

// writeFile writes one file for some tasks.
func (s *Store) writeFile(tasks []*task) (*layer.File, error) {
	write := func(w *segment.Writer) error {
		for _, t := range tasks {
			if err := t.frozen.WriteMessages(w, t.stream.id); err != nil {
				return err
			}
		}
		for _, t := range tasks {
			if err := t.frozen.WriteFacts(w, t.stream.id); err != nil {
				return err
			}
		}
		return nil
	}
	compress := slices.ContainsFunc(tasks, (*task).compressed)
	f, err := s.newFile(compress, write)
	for errors.Is(err, ErrFull) && s.space.Spend() {
		f, err = s.newFile(compress, write)
	}
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		t.file = f
	}
	return f, nil
}

// compressed reports whether the configuration asks for it. A file that several share is compressed if
// one of them wants that.
func (t *task) compressed() bool {
	return t.stream.Config().Compression == config.S2Compression
}

// newFile writes a file under the next number and opens it. Its name is not safe yet.
func (s *Store) newFile(compress bool, write func(*segment.Writer) error) (*layer.File, error) {
	number := s.nextFile()
	name := s.segmentPath(number)
	key, _ := s.seal.SegmentKeys()
	w, err := segment.Create(s.cfg.FS, name+layout.Temporary, segment.WriterConfig{
		Compress: compress, Key: key, Cipher: s.cfg.Encryption.Cipher,
	})
	if err != nil {
		return nil, s.unwritten(err)
	}
	if err := write(w); err != nil {
		return nil, errors.Join(s.unwritten(err), w.Abort())
	}
	summary, err := w.Finish()
	if err != nil {
		return nil, errors.Join(s.unwritten(err), w.Abort())
	}
	if err := s.cfg.FS.Rename(name+layout.Temporary, name); err != nil {
		return nil, s.unwritten(err)
	}
	f := s.openFile(&manifest.File{Number: number, ID: summary.ID, Bytes: summary.Bytes, Checksum: summary.Checksum})
	if f.Failure != nil {
		return nil, s.unwritten(f.Failure)
	}
	return f, nil
}

// unwritten is the error for a file that could not be written. What was to be in it is still in memory
// and in the log, so another attempt may succeed.
func (s *Store) unwritten(err error) error {
	if vfs.NoSpace(err) {
		return fmt.Errorf("write segment: %w: %w", ErrFull, err)
	}
	return fmt.Errorf("write segment: %w", err)
}

// nextFile returns a number that no file has.
func (s *Store) nextFile() uint64 {
	s.edits.Lock()
	defer s.edits.Unlock()
	s.catalog.NextFile++
	return s.catalog.NextFile - 1
}

// discard removes a file that was written and is not used, unless the manifest has failed: then the
// record that names the file may be there, or not.
func (s *Store) discard(f *layer.File) {
	if s.Err() == nil {
		f.Discard() // what stays otherwise is set aside at the next start
	}
	f.Leave()
}

// note writes an edit that has new files.
func (s *Store) note(files []*layer.File, e *manifest.Edit) error {
	s.edits.Lock()
	defer s.edits.Unlock()
	for _, f := range files {
		s.files[f.Number] = f
	}
	err := s.commitLocked(e)
	if err != nil {
		for _, f := range files {
			delete(s.files, f.Number)
		}
	}
	return err
}

// edit is what is new about the stream.
func (t *task) edit() manifest.StreamEdit {
	e, kept := t.frozen.Edit(t.file)
	e.ID, e.Snapshot, e.Applied = t.stream.id, t.frozen.snapshot, t.frozen.applied
	if r := t.stream.replica.Load(); r != nil {
		e.Replica = r.edit(t.stream, t.frozen.place)
	}
	t.kept = kept
	return e
}
