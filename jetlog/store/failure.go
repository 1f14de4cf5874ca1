package store

import (
	"errors"
	"fmt"
	"io/fs"

	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/wal"
)

// Errors of a Store. They are wrapped; compare with errors.Is.
var (
	// ErrNewer: something was written by a newer version of the program.
	ErrNewer = manifest.ErrNewer
	// ErrClosed: the store or the stream is closed.
	ErrClosed = layer.ErrClosed
	// ErrFailed: the disk did not keep what it was given. The process should end, and open the store again.
	ErrFailed = errors.New("store has failed")
	// ErrFull: the disk or the memory budget is full. Nothing was logged; the same command may succeed later.
	ErrFull = errors.New("no space: try again later")
	// ErrNotFound: there is no such stream.
	ErrNotFound = errors.New("stream not found")
	// ErrExists: the account has a stream of that name.
	ErrExists = errors.New("stream exists")
	// ErrHalted: the stream could not be read and stands still; it is not known what became of the command.
	ErrHalted = errors.New("stream is halted")
	// ErrNotLeader: another server leads the stream, or none does. Nothing was done.
	ErrNotLeader = errors.New("stream is not led here")
	// ErrLeadershipLost: the stream ceased to be led here before the outcome was known; the command may still be carried out.
	ErrLeadershipLost = errors.New("leadership of the stream was lost before the outcome was known")
	// ErrForeign: the directory holds files of several stores.
	ErrForeign = errors.New("directory belongs to another store")
)

// StreamDamage says that a stream cannot start, or cannot go on, because what is on disk is not what
// was written. Others are not concerned.
type StreamDamage struct {
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
func (d *StreamDamage) Error() string {
	what := "sequences"
	if d.Log {
		what = "commands"
	}
	return fmt.Sprintf("stream %q (%d) is damaged: %s at %d, %s %d to %d: %v", d.Name, d.Stream, d.File, d.Offset, what, d.First, d.Last, d.Err)
}

// Unwrap returns the cause.
func (d *StreamDamage) Unwrap() error { return d.Err }

// damageOf describes why a stream cannot be read.
func damageOf(id uint64, name string, err error) *StreamDamage {
	d := &StreamDamage{Stream: id, Name: name, Err: err}
	var c *segment.Corruption
	var path *fs.PathError
	if errors.As(err, &c) {
		d.File, d.Offset, d.First, d.Last = c.File, c.Offset, c.First, c.Last
	} else if errors.As(err, &path) {
		d.File = path.Path
	}
	return d
}

// logDamage describes what is missing in the log.
func logDamage(id uint64, name string, d wal.Damage, first, last uint64) *StreamDamage {
	return &StreamDamage{
		Stream: id, Name: name, File: d.File, Offset: d.Offset, First: first, Last: last, Log: true,
		Err: errors.New(d.String()),
	}
}
