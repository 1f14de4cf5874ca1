package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runnel/jetlog/entries"
)

// File is a file of a stream, as it goes from one server to another. Its name says where it came from; what has the same
// name has the same content.
type File struct {
	ID       string // hexadecimal
	Bytes    int64
	Checksum uint32 // of the file's footer, which has those of the rest
}

// Checkpoint is a replica as of its last flush: what another member begins with. What it needs stays on the disk until
// Close.
type Checkpoint struct {
	Place    entries.Place
	Metadata []byte // the state, and what files it needs; a few kilobytes, more with many consumers
	Files    []File
}

// Close gives up what the checkpoint has kept.
func (c *Checkpoint) Close() error { return nil }

// ErrNoCheckpoint: the stream has no state of its own yet.
var ErrNoCheckpoint = errors.New("stream has no state yet")

// Checkpoint returns the stream as of its last flush. Files that it shares with other streams are written anew for it first,
// so it may take a moment.
func (t *Stream) Checkpoint() (*Checkpoint, error) {
	return nil, fmt.Errorf("checkpoint of stream %q: %w", t.name, ErrNoCheckpoint)
}

// Fetch opens a file of another member, from an offset on.
type Fetch func(ctx context.Context, f File, offset int64) (io.ReadCloser, error)

// Install gives a replica the state of a checkpoint of another member, whatever it had before. Files that are not here yet
// are fetched: when a reader ends early, fetch is called again from there on, as long as something comes. All is synced
// when Install returns; after a crash there is either the state before or the new one. Readers of the stream see
// either one, too.
func (t *Stream) Install(ctx context.Context, metadata []byte, place entries.Place, fetch Fetch) error {
	return fmt.Errorf("install stream %q: %w", t.name, ErrNoCheckpoint)
}

// OpenFile opens a file of the stream, or of one of its checkpoints, to be sent elsewhere. release must be called.
func (t *Stream) OpenFile(id string) (r io.ReaderAt, size int64, release func(), err error) {
	return nil, 0, nil, fmt.Errorf("file %s of stream %q: %w", id, t.name, ErrNotFound)
}
