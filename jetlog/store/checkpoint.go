package store

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"runnel/jetlog/checkpoint"
	"runnel/jetlog/compaction"
	"runnel/jetlog/entries"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
)

// File is a file of a stream, as it goes from one server to another.
type File = checkpoint.File

// Fetch opens a file of another member, from an offset on.
type Fetch = checkpoint.Fetch

// ErrNoCheckpoint is the error for a replica that has no state of its own yet.
var ErrNoCheckpoint = errors.New("stream has no state yet")

// Checkpoint is a replica as of its last flush: what another member begins with. What it needs stays on the disk until
// Close.
type Checkpoint struct {
	Place    entries.Place
	Metadata []byte // the state, and what files it needs: a few kilobytes, more with many consumers
	Files    []File

	stream *Stream
	kept   []*layer.File
	once   sync.Once
}

// Close gives up what the checkpoint has kept. Calling it again does nothing.
func (c *Checkpoint) Close() {
	c.once.Do(func() {
		if r := c.stream.replica.Load(); r != nil {
			r.sent.Remove(c.kept)
		}
		for _, f := range c.kept {
			f.Leave()
		}
	})
}

// Checkpoint returns the stream as of its last flush. Files that it shares with other streams are written anew for it first,
// so it may take a moment; a flush waits meanwhile. The files are sealed as they are here: who gets them needs the same
// key.
func (t *Stream) Checkpoint() (*Checkpoint, error) {
	s, r := t.store, t.replica.Load()
	if r == nil {
		return nil, fmt.Errorf("checkpoint of stream %q: %w", t.name, errSolo)
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	err := t.usable()
	if err == nil {
		err = s.separate(t)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint of stream %q: %w", t.name, err)
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	row := s.catalog.Streams[t.id]
	if s.StreamByID(t.id) != t || row.Replica == nil || row.Replica.Index == 0 {
		return nil, fmt.Errorf("checkpoint of stream %q: %w", t.name, ErrNoCheckpoint)
	}
	return s.checkpoint(t, r, row)
}

// separate gives a stream files of its own.
func (s *Store) separate(t *Stream) error {
	for {
		p, err := s.planOwn(t)
		if p == nil || err != nil {
			return err
		}
		if err := s.compact(t, p); err != nil {
			return err
		}
	}
}

// planOwn is what separate does next, nil for nothing.
func (s *Store) planOwn(t *Stream) (*compaction.Plan, error) {
	s.edits.Lock()
	defer s.edits.Unlock()
	e := s.catalog.Streams[t.id]
	if e == nil || len(e.Parts) == 0 {
		return nil, nil
	}
	parts := t.files()
	if len(parts) != len(e.Parts) {
		return nil, fmt.Errorf("the last flush did not succeed: %w", ErrFull)
	}
	return compaction.Own(e, parts), nil
}

// checkpoint describes a stream whose files are its own. The caller holds edits.
func (s *Store) checkpoint(t *Stream, r *replica, row *manifest.Stream) (*Checkpoint, error) {
	out, replica := *row, *row.Replica
	replica.Key = t.key
	out.Replica = &replica
	p := row.Replica
	c := &Checkpoint{Place: entries.Place{Index: p.Index, Term: p.Term, Configuration: p.Configuration}, stream: t}
	var files []manifest.File
	for i := range row.Parts {
		f := s.files[row.Parts[i].File]
		if err := f.Enter(); err != nil {
			c.Close()
			return nil, err
		}
		c.kept = append(c.kept, f)
		files = append(files, f.File)
		c.Files = append(c.Files, checkpoint.FileOf(&f.File))
	}
	r.sent.Add(c.kept)
	c.Metadata = checkpoint.Encode(&out, files)
	return c, nil
}

// OpenFile opens a file of one of the stream's checkpoints that are open, to be sent elsewhere as it is. release must be
// called; the file can be read until then, also when the checkpoint is closed meanwhile.
func (t *Stream) OpenFile(id string) (file io.ReaderAt, bytes int64, release func(), err error) {
	r := t.replica.Load()
	if r == nil {
		return nil, 0, nil, fmt.Errorf("file %s of stream %q: %w", id, t.name, errSolo)
	}
	f := r.sent.Open(id)
	if f == nil {
		return nil, 0, nil, fmt.Errorf("file %s of stream %q: no checkpoint has it: %w", id, t.name, ErrNotFound)
	}
	opened, err := t.store.cfg.FS.Open(t.store.segmentPath(f.Number))
	if err != nil {
		f.Leave()
		return nil, 0, nil, fmt.Errorf("file %s of stream %q: %w", id, t.name, err)
	}
	return opened, f.Bytes, func() {
		_ = opened.Close() // it was only read
		f.Leave()
	}, nil
}
