package findings

import (
	"errors"
	"fmt"
	"io/fs"

	"runnel/jetlog/segment"
	"runnel/jetlog/wal"
)

// Stream says that a stream cannot start, or cannot go on, because what is on disk is not what
// was written. Others are not concerned.
type Stream struct {
	Stream uint64
	Name   string
	File   string // "" if it is not known
	Offset int64
	// First and Last are the sequences that are concerned, 0 if that is not known. Of the log they are
	// indexes of commands.
	First, Last uint64
	Log         bool // the damage is in the log
	Err         error
}

// Error implements error.
func (d *Stream) Error() string {
	what := "sequences"
	if d.Log {
		what = "commands"
	}
	return fmt.Sprintf("stream %q (%d) is damaged: %s at %d, %s %d to %d: %v", d.Name, d.Stream, d.File, d.Offset, what, d.First, d.Last, d.Err)
}

// Unwrap returns the cause.
func (d *Stream) Unwrap() error { return d.Err }

// Of describes why a stream cannot be read.
func Of(id uint64, name string, err error) *Stream {
	d := &Stream{Stream: id, Name: name, Err: err}
	var c *segment.Corruption
	var path *fs.PathError
	if errors.As(err, &c) {
		d.File, d.Offset, d.First, d.Last = c.File, c.Offset, c.First, c.Last
	} else if errors.As(err, &path) {
		d.File = path.Path
	}
	return d
}

// OfLog describes what is missing in the log.
func OfLog(id uint64, name string, d wal.Damage, first, last uint64) *Stream {
	return &Stream{
		Stream: id, Name: name, File: d.File, Offset: d.Offset, First: first, Last: last, Log: true,
		Err: errors.New(d.String()),
	}
}
